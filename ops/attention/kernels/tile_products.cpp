#define HEED_COMPILES_TILE_PRODUCTS
// Highway needs this order of headers.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/ops/attention/kernels/tile_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <heed/ops/attention/kernels/tile_logits-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {

HEED_TILE_PRODUCTS(, float)
HEED_TILE_PRODUCTS(, double)

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();
