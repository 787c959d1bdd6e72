// Converts a graph to ONNX and writes the file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/onnx/model.h"
#include "attn/onnx/samples.h"

namespace attn::onnx {

/// The supported operator sets. The newest has an attention operator.
inline constexpr int kOldestOpset = 18, kNewestOpset = 23;

/// Lowers a model for input shapes, in order.
using Lower = std::function<graph::Graph(const std::vector<Shape>&)>;

/// Lowers a model at several sizes. Its inputs have these names and shapes; kUnknown marks an open size. All first axes
/// share one length, "batch". Every other open axis has its own length if the model allows that, otherwise it shares
/// one with the axes that must be equal. Throws Error if `lower` throws for all sizes that are tried, or if the model
/// differs between sizes.
[[nodiscard]] Samples sample(const std::vector<std::string>& names, const std::vector<Shape>& shapes,
                             const Lower& lower);

/// Converts the graph to ONNX, with `weights` (in the order of graph.weights) as initializers that share their memory.
/// Throws Error (bad_input) with the layer and the operation if ONNX has no equivalent.
[[nodiscard]] Model export_model(const Samples& samples, std::span<const Tensor> weights, int opset = kNewestOpset);

/// Writes `path`, and the weights to `path`.data if they have more than `most_inside` bytes: a protocol buffer file is
/// limited to 2 GB. `version` is attn's version. Throws Error (bad_input).
void write_model(const std::string& path, const Model& model, const std::string& version,
                 std::int64_t most_inside = std::int64_t{2'000'000'000});

}  // namespace attn::onnx
