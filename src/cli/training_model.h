// A model as `attn train` is told to train it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/keras/loss_graph.h"
#include "attn/keras/model.h"
#include "attn/train/trainer.h"

namespace attn::cli {

/// What options change of a compile_config.
struct CompileChanges {
  std::optional<std::string> loss, optimizer;
  std::optional<double> learning_rate;
};

/// The model's own compile_config with the changes, as JSON. Throws Error (bad_input) where it has none and no loss is
/// given.
[[nodiscard]] std::string compile_config(const keras::Model& model, const CompileChanges& changes);

/// How a model becomes a graph with its loss.
struct TrainedModel {
  std::optional<std::string> loss;
  std::optional<std::int64_t> sequence_length;
  bool drops = true;
  std::uint64_t seed = 0;

  /// Throws Error (bad_input) where the batch lacks inputs or targets.
  [[nodiscard]] keras::LossGraph lower(const keras::Model& model, const train::Batch& batch, bool training) const;
};

/// Gradients vanish below float16's range where the loss is not scaled.
[[nodiscard]] bool uses_float16(const graph::Graph& graph);

/// The layers that options leave as they are: those that `frozen` matches, and with `trained` all but those that match
/// it. Throws Error (usage) for a pattern that matches nothing, and where nothing is left to train.
[[nodiscard]] std::vector<std::string> frozen_layers(const keras::Model& model, const std::vector<std::string>& frozen,
                                                     const std::vector<std::string>& trained);

}  // namespace attn::cli
