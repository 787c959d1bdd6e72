// A training in a .keras archive: the model, its weights, the optimizer and where it stands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/train/fit.h"
#include "attn/train/trainer.h"
#include "model_source.h"
#include "training_model.h"

namespace attn::cli {

/// By array, what tells one set of data from another: dtype, shape, and a checksum of the numbers, of large arrays that
/// of samples.
[[nodiscard]] std::map<std::string, std::string> fingerprints(const std::map<std::string, Tensor>& arrays);

/// What a callback has counted.
struct Watched {
  std::int64_t wait = 0, cooldown = 0, best_epoch = 0;
  std::optional<double> best;
};

/// Where a training stands, as an archive keeps it.
struct TrainingState {
  train::Position position;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 0;
  bool shuffle = true;
  std::int64_t shuffled_block = 0, steps_per_epoch = 0;  ///< 0: none
  std::optional<LossScaling> loss_scale;                 ///< where options said one
  std::vector<std::int64_t> kept;                        ///< steps whose checkpoints are beside the archive
  std::map<std::string, std::string> data;               ///< its fingerprints
  std::map<std::string, std::int64_t> draws;
  std::vector<std::string> frozen;  ///< layers that options left as they are
  Watched early_stopping, reduce_lr, save_best;
  /// Those that early stopping is to restore, in the order of the model's; empty where there are none.
  std::vector<Tensor> best_weights;
  std::map<int, Tensor> unmerged;  ///< StoredWeights::unmerged
  std::vector<Tensor> unsaved;     ///< of the optimizer; read alone
};

/// That of an archive, or nothing where attn did not train what is in it. Throws Error (bad_input).
[[nodiscard]] std::optional<TrainingState> read_training_state(const std::string& path);

/// The optimizer's variables in an archive or .weights.h5, in their order; none where it holds none.
[[nodiscard]] std::vector<Tensor> read_optimizer_state(const std::string& path);

/// Writes model, weights, optimizer and state, whole or not at all. `compile_config` is JSON, `variables` are those of
/// Trainer::optimizer_state().
void write_training(const std::string& path, const LoadedModel& loaded, const std::string& compile_config,
                    train::Trainer& trainer, const std::vector<NamedTensor>& variables, const TrainingState& state);

/// Throws Error (bad_input) where the disk under `path` has no room for what write_training writes.
/// `copies`: so many of them.
void require_disk(const std::string& path, train::Trainer& trainer, bool keeps_best_weights, std::int64_t copies);

}  // namespace attn::cli
