// Checkpoints: the files of a training that are written while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn::train {

/// Writes the training to a file atomically.
using WriteArchive = std::function<void(const std::string& path)>;

/// Returns "trained.step12.keras" for "trained.keras".
[[nodiscard]] std::string checkpoint_path(const std::string& file, std::int64_t step);

/// Writes to `file`, else to the system's folder for temporary files and throws an error with that path: a full disk
/// must not lose the training.
void write_at_end(const std::string& file, const WriteArchive& write);

/// Writes the checkpoint of a step to `target`, keeps a copy under its own name, and removes the oldest of `steps`
/// until `keep` are left. `steps`, the existing copies, is updated. Throws Error, with `steps` and their files
/// unchanged, if the checkpoint cannot be written.
void write_and_keep(const std::string& target, std::int64_t step, std::int64_t keep, std::vector<std::int64_t>& steps,
                    const WriteArchive& write);

}  // namespace attn::train
