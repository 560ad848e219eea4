#pragma once

namespace heed::test {

/// The operations whose results over the whole range tests/range holds. tests/ops finds the elementwise
/// ones among all cases and fails where one is not listed.
constexpr const char* elementwise_operations[] = {
    "sigmoid",     "tanh",
    "erf",         "relu",
    "silu",        "gelu",
    "glu",         "elu",
    "leaky_relu",  "relu6",
    "hardswish",   "softplus",
    "log_sigmoid", "mish",
    "softsign",    "add",
    "sub",         "mul",
    "div",         "neg",
    "clamp",       "maximum",
    "minimum",     "eq",
    "ne",          "lt",
    "le",          "gt",
    "ge",          "contiguous",
    "clone",       "cast",
    "dropout",     "dropout_with_keep",
    "exp",         "expm1",
    "log",         "log1p",
    "sqrt",        "rsqrt",
    "square",      "reciprocal",
    "pow",         "abs",
    "sign",        "floor",
    "ceil",        "round",
    "sin",         "cos",
    "tan",         "asin",
    "atan",        "atan2",
    "where",       "masked_fill",
    "swiglu",      "isnan",
    "isinf",       "isfinite",
    "isclose",
};

}  // namespace heed::test
