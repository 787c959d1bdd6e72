// A training in a .keras archive: the model, its weights, the optimizer and the position.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/keras/options.h"
#include "attn/open/model.h"
#include "attn/train/state.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// Returns for each array a text that identifies its data: dtype, shape, and a checksum of the numbers, or of samples
/// for large arrays.
[[nodiscard]] std::map<std::string, std::string> fingerprints(const std::map<std::string, Tensor>& arrays);

/// Returns the state in an archive, or nothing if attn did not train it. Throws Error (bad_input), which names the
/// file.
[[nodiscard]] std::optional<State> read_state(const std::string& path);

/// Returns the optimizer's variables in an archive or .weights.h5, in their order; empty if there are none.
[[nodiscard]] std::vector<Tensor> read_optimizer_state(const std::string& path);

/// Returns the optimizer's variables that the model has in memory, or else those in its file.
[[nodiscard]] std::vector<Tensor> optimizer_state_of(const open::LoadedModel& loaded);

/// Returns the model's config with this compile_config. Both are JSON.
[[nodiscard]] std::string trained_config(const open::LoadedModel& loaded, const std::string& compile_config,
                                         const keras::ConfigOptions& how);

/// Returns the variables of Trainer::optimizer_state() under their names in an archive: "optimizer/vars/0", …
[[nodiscard]] std::vector<NamedTensor> stored_variables(const std::vector<NamedTensor>& variables);
/// Does the same for the variables of optimizer_state_of().
[[nodiscard]] std::vector<NamedTensor> stored_variables(const std::vector<Tensor>& variables);

/// Writes model, weights, optimizer and state atomically. `compile_config` is JSON, `variables` are those of
/// Trainer::optimizer_state().
void write_archive(const std::string& path, const open::LoadedModel& loaded, const std::string& compile_config,
                   Trainer& trainer, const std::vector<NamedTensor>& variables, const State& state);

/// Throws Error (bad_input) if the disk of `path` is too small for the file of write_archive. `copies`: the number of
/// such files.
void require_disk(const std::string& path, Trainer& trainer, bool keeps_best_weights, std::int64_t copies);

}  // namespace attn::train
