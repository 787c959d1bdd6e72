// A training in a .keras archive: the model, its weights, the optimizer and where it stands.
#pragma once

#include <optional>
#include <string>

#include "attn/train/fit.h"
#include "attn/train/trainer.h"
#include "model_source.h"

namespace attn::cli {

/// What tells one set of data from another: names, dtypes and shapes.
[[nodiscard]] std::string fingerprint(const std::map<std::string, Tensor>& arrays);

/// Where a training stands, as an archive keeps it.
struct TrainingState {
  train::Position position;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 0;
  bool shuffle = true;
  std::string data;  ///< its fingerprint
  std::map<std::string, std::int64_t> draws;
};

/// That of an archive, or nothing where attn did not train what is in it. Throws Error (bad_input).
[[nodiscard]] std::optional<TrainingState> read_training_state(const std::string& path);

/// The optimizer's variables in an archive or .weights.h5, in their order; none where it holds none.
[[nodiscard]] std::vector<Tensor> read_optimizer_state(const std::string& path);

/// Writes model, weights, optimizer and state, whole or not at all. `compile_config` is JSON.
void write_training(const std::string& path, const LoadedModel& loaded, const std::string& compile_config,
                    train::Trainer& trainer, const TrainingState& state);

}  // namespace attn::cli
