// A model for training: its policy, its frozen layers, and the graph with its loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/keras/loss_graph.h"
#include "attn/keras/model.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// Returns a model's config in which every layer has the policy, "float32", "mixed_bfloat16" or "mixed_float16", as
/// Keras's set_dtype_policy gives it to new layers. Throws Error (bad_input) for quantized layers.
[[nodiscard]] std::string with_policy(const std::string& config, const std::string& policy);
/// Returns whether every layer has the policy already.
[[nodiscard]] bool has_policy(const std::string& config, const std::string& policy);

/// Lowers a model to a graph with its loss.
struct TrainedModel {
  std::string compile_config;
  std::optional<std::int64_t> sequence_length;
  bool drops = true;
  std::uint64_t seed = 0;

  /// Throws Error (bad_input) if the batch lacks inputs or targets.
  [[nodiscard]] keras::LossGraph lower(const keras::Model& model, const Batch& batch, bool training) const;
};

/// Returns whether the graph computes in float16 with trained weights of another dtype. Then compile() scales the loss,
/// because gradients vanish below float16's range. It does not do so under the pure policy float16.
[[nodiscard]] bool is_mixed_float16(const graph::Graph& graph);

/// Returns the layers that options freeze: those that match `frozen`, and with `trained` all except those that match
/// it. Throws Error (usage) for a pattern that matches nothing, and if no layer is left to train.
[[nodiscard]] std::vector<std::string> frozen_layers(const keras::Model& model, const std::vector<std::string>& frozen,
                                                     const std::vector<std::string>& trained);

}  // namespace attn::train
