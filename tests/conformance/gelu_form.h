#pragma once

#include <heed/ops/activation.h>

#include "call.h"

namespace heed::conformance {

/// The attribute `approximate`: none or tanh.
inline Gelu gelu_form(const Call& call) {
  const std::string form = call.attributes.text("approximate", "none");
  if (form != "none" && form != "tanh") throw Skip("gelu: approximate '" + form + "' is not known");
  return form == "tanh" ? Gelu::tanh : Gelu::none;
}

}  // namespace heed::conformance
