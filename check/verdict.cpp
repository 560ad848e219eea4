#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <heed/check/verdict.h>

namespace heed::check {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void judge_kink(GradcheckElement& e, const numeric::Derivative& d, double bound) {
  e.kink = true;
  e.left = d.left.value;
  e.right = d.right.value;
  e.bar = d.left.bar + d.right.bar;
  const double outside =
      std::max({std::min(e.left, e.right) - e.analytic, e.analytic - std::max(e.left, e.right), 0.0});
  e.error = outside / (e.bar + bound);
  e.verdict = e.error > 1 ? Verdict::differs : Verdict::kink;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agrees:
      return "agrees";
    case Verdict::kink:
      return "kink";
    case Verdict::unresolved:
      return "unresolved";
    case Verdict::differs:
      return "differs";
    case Verdict::nonfinite:
      return "not finite";
    case Verdict::nondeterministic:
      break;
  }
  return "non-deterministic";
}

std::string GradcheckElement::text() const {
  if (!kink) return std::string(name_of(verdict));
  return fmt::format("{}: {} [{:.6g}, {:.6g}]", name_of(verdict),
                     verdict == Verdict::kink ? "within" : "outside", std::min(left, right),
                     std::max(left, right));
}

void judge(GradcheckElement& e, const numeric::Derivative& d, const Tolerance& tolerance) {
  e.numeric = d.central.value;
  e.bar = d.central.bar;
  e.error = infinity;
  if (!std::isfinite(e.analytic)) {
    e.verdict = Verdict::nonfinite;
    return;
  }
  const double size =
      std::isfinite(e.numeric) ? std::max(std::abs(e.analytic), std::abs(e.numeric)) : std::abs(e.analytic);
  const double bound = tolerance.atol + tolerance.rtol * size + tolerance.rounding;
  if (d.kink()) return judge_kink(e, d, bound);
  if (!std::isfinite(e.bar)) {
    e.verdict = Verdict::nonfinite;
    return;
  }
  const double apart = std::abs(e.analytic - e.numeric);
  e.error = apart == 0 ? 0 : apart / (e.bar + bound);
  const double widest =
      tolerance.floor + tolerance.atol + tolerance.resolution * std::max(size, tolerance.largest);
  if (e.error > 1) {
    e.verdict = Verdict::differs;
  } else if (e.bar > widest) {
    e.verdict = Verdict::unresolved;
    e.error = e.bar / widest;
  } else {
    e.verdict = Verdict::agrees;
  }
}

}  // namespace heed::check
