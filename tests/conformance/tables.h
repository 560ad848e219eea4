#pragma once

#include "call.h"

// Each adds the operations of one family.
namespace heed::conformance {

void add_torch_elementwise(Table& table);
void add_torch_reductions(Table& table);
void add_torch_indexing(Table& table);
void add_torch_shapes(Table& table);
void add_torch_products(Table& table);
void add_torch_losses(Table& table);
void add_torch_attention(Table& table);
void add_torch_modules(Table& table);
void add_torch_training(Table& table);
void add_torch_runs(Table& table);

void add_onnx_elementwise(Table& table);
void add_onnx_logic(Table& table);
void add_onnx_activations(Table& table);
void add_onnx_reductions(Table& table);
void add_onnx_scans(Table& table);
void add_onnx_shapes(Table& table);
void add_onnx_sources(Table& table);
void add_onnx_padding(Table& table);
void add_onnx_indexing(Table& table);
void add_onnx_scatter(Table& table);
void add_onnx_products(Table& table);
void add_onnx_attention(Table& table);
void add_onnx_rope(Table& table);
void add_onnx_training(Table& table);

}  // namespace heed::conformance
