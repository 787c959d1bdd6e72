// A training in a .keras archive: the model, its weights, the optimizer and where it stands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/open/model.h"
#include "attn/train/state.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// By array, what tells one set of data from another: dtype, shape, and a checksum of the numbers, of large arrays that
/// of samples.
[[nodiscard]] std::map<std::string, std::string> fingerprints(const std::map<std::string, Tensor>& arrays);

/// The state that an archive keeps, or nothing where attn did not train what is in it. Throws Error (bad_input), which
/// names the file.
[[nodiscard]] std::optional<State> read_state(const std::string& path);

/// The optimizer's variables in an archive or .weights.h5, in their order; none where it holds none.
[[nodiscard]] std::vector<Tensor> read_optimizer_state(const std::string& path);

/// Writes model, weights, optimizer and state, whole or not at all. `compile_config` is JSON, `variables` are those of
/// Trainer::optimizer_state().
void write_archive(const std::string& path, const open::LoadedModel& loaded, const std::string& compile_config,
                   Trainer& trainer, const std::vector<NamedTensor>& variables, const State& state);

/// Throws Error (bad_input) where the disk under `path` has no room for what write_archive writes.
/// `copies`: so many of them.
void require_disk(const std::string& path, Trainer& trainer, bool keeps_best_weights, std::int64_t copies);

}  // namespace attn::train
