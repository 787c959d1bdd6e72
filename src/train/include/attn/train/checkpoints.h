// Where a training is written while it runs, and what of it stays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn::train {

/// Writes the training to a file, whole or not at all.
using WriteArchive = std::function<void(const std::string& path)>;

/// "trained.keras" becomes "trained.step12.keras".
[[nodiscard]] std::string beside(const std::string& file, std::int64_t step);

/// To `file`, else to the system's folder for temporary files, which the error then tells: a full disk must not cost
/// what was trained.
void write_at_end(const std::string& file, const WriteArchive& write);

/// Writes the checkpoint of a step to `target`, keeps it beside it under a name of its own, and removes the oldest of
/// those of `steps` until `keep` are left. `steps`, which are those that are there, gains the step and loses what is
/// gone. Throws Error, with `steps` and what they name as they were, where the checkpoint cannot be written.
void write_and_keep(const std::string& target, std::int64_t step, std::int64_t keep, std::vector<std::int64_t>& steps,
                    const WriteArchive& write);

}  // namespace attn::train
