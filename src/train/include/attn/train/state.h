// The position of a training, and its text in an archive: attn_state.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/train/compile_changes.h"
#include "attn/train/fit.h"

namespace attn::train {

/// The largest count of steps, epochs or rows: it is exact in double, and one more does not overflow.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;

/// The counts of a callback.
struct CallbackState {
  std::int64_t wait = 0, cooldown = 0, best_epoch = 0;
  std::optional<double> best;
};

/// The position of a training, as an archive stores it.
struct State {
  Position position;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 0;
  bool shuffle = true;
  std::int64_t shuffled_block = 0, steps_per_epoch = 0;  ///< 0: none
  std::optional<LossScaling> loss_scale;                 ///< only if an option set the loss scale
  std::vector<std::int64_t> kept;                        ///< steps whose checkpoints are stored beside the archive
  std::map<std::string, std::string> data;               ///< the fingerprints of the data
  std::map<std::string, std::int64_t> draws;
  std::vector<std::string> frozen;  ///< layers that options froze
  CallbackState early_stopping, reduce_lr, save_best;
  /// The weights that early stopping will restore, in the order of the model's weights; empty if there are none.
  std::vector<Tensor> best_weights;
  std::map<int, Tensor> unmerged;  ///< StoredWeights::unmerged
  std::vector<Tensor> unsaved;     ///< the optimizer's Optimizer::unsaved(); only read
};

/// Returns the state as JSON, without the arrays.
[[nodiscard]] std::string text_of(const State& state);
/// Parses the output of text_of. Throws Error (bad_input), which begins with `place`, for anything else: other types,
/// numbers out of range, repeated keys.
[[nodiscard]] State parse_state(std::string_view text, const std::string& place);

}  // namespace attn::train
