#pragma once

#include <cmath>
#include <functional>
#include <limits>

#include "op_case.h"

namespace heed::test {

struct AttentionReference {
  double scale = 0;  // 0: 1/√D
  double softcap = 0;
  std::function<bool(std::int64_t i, std::int64_t j)> open = [](auto, auto) { return true; };
  std::function<double(std::int64_t h, std::int64_t i, std::int64_t j)> bias = [](auto, auto, auto) {
    return 0.0;
  };
  const std::vector<double>* sink = nullptr;
  bool weights = false;
};

/// q [B, Hq, Tq, D], k [B, Hkv, Tk, D], v [B, Hkv, Tk, Dv]: pair by pair, from the definition.
inline Array attention_reference(const Array& q, const Array& k, const Array& v,
                                 const AttentionReference& r) {
  const std::int64_t B = q.shape[0], H = q.shape[1], Tq = q.shape[2], D = q.shape[3];
  const std::int64_t Hkv = k.shape[1], Tk = k.shape[2], Dv = v.shape[3];
  const double scale = r.scale != 0 ? r.scale : 1 / std::sqrt(static_cast<double>(D));
  const auto at = [](const Array& x, std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) {
    return x.values[static_cast<std::size_t>(((b * x.shape[1] + h) * x.shape[2] + t) * x.shape[3] + c)];
  };
  Array output{{B, H, Tq, Dv}, {}};
  Array weights{{B, H, Tq, Tk}, {}};
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t i = 0; i < Tq; ++i) {
        std::vector<double> e(static_cast<std::size_t>(Tk), 0.0);
        double z = r.sink == nullptr ? 0.0 : std::exp((*r.sink)[static_cast<std::size_t>(h)]);
        for (std::int64_t j = 0; j < Tk; ++j) {
          if (!r.open(i, j)) continue;
          double s = 0;
          for (std::int64_t c = 0; c < D; ++c) s += at(q, b, h, i, c) * at(k, b, h / (H / Hkv), j, c);
          s *= scale;
          if (r.softcap > 0) s = r.softcap * std::tanh(s / r.softcap);
          e[static_cast<std::size_t>(j)] = std::exp(s + r.bias(h, i, j));
          z += e[static_cast<std::size_t>(j)];
        }
        for (double& w : e) {
          w = z == 0 ? 0 : w / z;
          weights.values.push_back(w);
        }
        for (std::int64_t c = 0; c < Dv; ++c) {
          double o = 0;
          for (std::int64_t j = 0; j < Tk; ++j) {
            if (e[static_cast<std::size_t>(j)] != 0)
              o += e[static_cast<std::size_t>(j)] * at(v, b, h / (H / Hkv), j, c);
          }
          output.values.push_back(o);
        }
      }
    }
  }
  return r.weights ? weights : output;
}

}  // namespace heed::test
