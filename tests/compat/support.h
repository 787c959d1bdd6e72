// Running stored models against the outputs stored beside them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model_source.h"

namespace attn::test {

/// The folders in tests/data/`group`, sorted.
[[nodiscard]] std::vector<std::filesystem::path> cases(const std::string& group);
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
[[nodiscard]] cli::LoadedModel load(const std::filesystem::path& path);

/// Runs `file` with its own weights, or those of `weights` where that is given, on inputs.npz beside it, and checks
/// outputs.npz: an error of `relative` times the largest output is allowed.
void check_outputs(const std::filesystem::path& file, const std::string& backend, double relative,
                   const std::string& weights = "");

}  // namespace attn::test
