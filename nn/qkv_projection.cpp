#include <cmath>
#include <vector>

#include <heed/core/arguments.h>
#include <heed/core/checked_arithmetic.h>
#include <heed/nn/init.h>
#include <heed/nn/qkv_projection.h>
#include <heed/ops/concat.h>
#include <heed/ops/linear.h>
#include <heed/ops/slice.h>

namespace heed::nn {
namespace {

double bound_of(std::int64_t width) { return 1.0 / std::sqrt(static_cast<double>(width)); }

bool same(const Tensor& a, const Tensor& b) { return a.impl() == b.impl(); }

}  // namespace

QkvProjection::QkvProjection(const QkvProjectionOptions& options, Generator& generator)
    : Module("QkvProjection"), options_(options) {
  const auto check_size = [](std::string_view argument, std::int64_t size) {
    check_value(size >= 1, "QkvProjection", argument, size, "at least 1");
  };
  check_size("embed_dim", options.embed_dim);
  check_size("kdim", options.kdim);
  check_size("vdim", options.vdim);
  check_size("query_width", options.query_width);
  check_size("key_width", options.key_width);
  const std::int64_t rows = checked_add("QkvProjection", "query_width + 2 key_width", options.query_width,
                                        checked_mul("QkvProjection", "2 key_width", 2, options.key_width));
  if (packed()) {
    weight = uniform_parameter({rows, options.embed_dim}, generator, bound_of(options.embed_dim));
  } else {
    q_weight =
        uniform_parameter({options.query_width, options.embed_dim}, generator, bound_of(options.embed_dim));
    k_weight = uniform_parameter({options.key_width, options.kdim}, generator, bound_of(options.kdim));
    v_weight = uniform_parameter({options.key_width, options.vdim}, generator, bound_of(options.vdim));
  }
  if (options.bias) bias = uniform_parameter({rows}, generator, bound_of(options.embed_dim));
}

bool QkvProjection::packed() const {
  return options_.kdim == options_.embed_dim && options_.vdim == options_.embed_dim;
}

QkvProjection::Result QkvProjection::operator()(const Tensor& query, const Tensor& key,
                                                const Tensor& value) const {
  const Scope scope = enter();
  const std::int64_t keys = options_.query_width;
  const std::int64_t values = keys + options_.key_width;
  const std::int64_t end = values + options_.key_width;
  if (!packed()) {
    return {own_rows(query, q_weight, {0, keys}), own_rows(key, k_weight, {keys, values}),
            own_rows(value, v_weight, {values, end})};
  }
  if (!same(key, value)) {
    return {packed_rows(query, {0, keys}), packed_rows(key, {keys, values}),
            packed_rows(value, {values, end})};
  }
  if (!same(query, key)) {
    const std::vector<Tensor> parts = split(packed_rows(key, {keys, end}), options_.key_width, -1);
    return {packed_rows(query, {0, keys}), parts[0], parts[1]};
  }
  const std::vector<Tensor> parts =
      split(linear(query, weight, bias), {options_.query_width, options_.key_width, options_.key_width}, -1);
  return {parts[0], parts[1], parts[2]};
}

Tensor QkvProjection::packed_rows(const Tensor& x, Rows rows) const {
  return own_rows(x, narrow(weight, 0, rows.begin, rows.end - rows.begin), rows);
}

Tensor QkvProjection::own_rows(const Tensor& x, const Tensor& part_weight, Rows rows) const {
  return linear(x, part_weight,
                bias.defined() ? narrow(bias, 0, rows.begin, rows.end - rows.begin) : Tensor());
}

void QkvProjection::visit(MemberVisitor& visitor) {
  visitor.members("weight, q_weight, k_weight, v_weight, bias", weight, q_weight, k_weight, v_weight, bias);
  visit_blocks(visitor);
}

void QkvProjection::visit_blocks(MemberVisitor& visitor) const {
  if (!visitor.asks_for_blocks()) return;
  const std::int64_t query = options_.query_width;
  const std::int64_t key = options_.key_width;
  visitor.blocks(weight, 0, {{"q", query}, {"k", key}, {"v", key}});
  visitor.blocks(bias, 0, {{"q", query}, {"", key}, {"v", key}});
}

}  // namespace heed::nn
