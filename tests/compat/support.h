// Runs stored models and compares their outputs with the stored ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attn/open/model.h"

namespace attn::test {

/// The folders in tests/data/`group`, sorted.
[[nodiscard]] std::vector<std::filesystem::path> cases(const std::string& group);
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
[[nodiscard]] open::LoadedModel load(const std::filesystem::path& path);

/// Runs `file` with its own weights, or with those of `weights`, on inputs.npz in its folder, and checks outputs.npz:
/// the allowed error is `relative` times the largest output.
void check_outputs(const std::filesystem::path& file, const std::string& backend, double relative,
                   const std::string& weights = "");

}  // namespace attn::test
