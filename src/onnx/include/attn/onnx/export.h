// From a graph to ONNX, and into a file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/onnx/model.h"
#include "attn/onnx/samples.h"

namespace attn::onnx {

/// The operator sets that a model can be written in. The newest has an operator for attention.
inline constexpr int kOldestOpset = 18, kNewestOpset = 23;

/// Lowers a model for the shapes of its inputs, in their order.
using Lower = std::function<graph::Graph(const std::vector<Shape>&)>;

/// Samples of a model whose inputs have these names and shapes, with kUnknown where a size is open. First axes share
/// one length, "batch"; every other has its own where the model lets them differ, or one with those that it must equal.
/// Throws Error where `lower` does for all sizes that are tried, or where the model is another one at another size.
[[nodiscard]] Samples sample(const std::vector<std::string>& names, const std::vector<Shape>& shapes,
                             const Lower& lower);

/// The graph's ONNX, with `weights` (in the order of graph.weights) as initializers that share their bytes. Throws
/// Error (bad_input), naming layer and operation, for what ONNX has no counterpart for.
[[nodiscard]] Model export_model(const Samples& samples, std::span<const Tensor> weights, int opset = kNewestOpset);

/// Writes `path`, and beside it `path`.data with the weights where they take more than `most_inside` bytes: a file of
/// protocol buffers holds 2 GB. `version` is attn's own. Throws Error (bad_input).
void write_model(const std::string& path, const Model& model, const std::string& version,
                 std::int64_t most_inside = std::int64_t{2'000'000'000});

}  // namespace attn::onnx
