#include "tables.h"

namespace heed::conformance {

const Table& torch_table() {
  static const Table table = [] {
    Table result;
    add_torch_elementwise(result);
    add_torch_reductions(result);
    add_torch_indexing(result);
    add_torch_shapes(result);
    add_torch_products(result);
    add_torch_losses(result);
    add_torch_attention(result);
    add_torch_modules(result);
    add_torch_training(result);
    add_torch_runs(result);
    return result;
  }();
  return table;
}

const Table& onnx_table() {
  static const Table table = [] {
    Table result;
    add_onnx_elementwise(result);
    add_onnx_logic(result);
    add_onnx_activations(result);
    add_onnx_reductions(result);
    add_onnx_scans(result);
    add_onnx_shapes(result);
    add_onnx_sources(result);
    add_onnx_padding(result);
    add_onnx_indexing(result);
    add_onnx_scatter(result);
    add_onnx_products(result);
    add_onnx_attention(result);
    add_onnx_rope(result);
    add_onnx_training(result);
    return result;
  }();
  return table;
}

}  // namespace heed::conformance
