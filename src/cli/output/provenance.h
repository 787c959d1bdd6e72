// The provenance of a page: the model's file, attn's version, the date, the command.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/report/values.h"

namespace attn::cli {

/// Returns the word as it stands in a shell's command line, quoted if necessary.
[[nodiscard]] std::string shell_word(const std::string& word);

/// Stores the words of the command line, which pages show.
void keep_command(std::span<const std::string> words);

/// Returns the command that resumes this training from `file`, with the same options, quoted for a shell. `model` is
/// the training's MODEL.
[[nodiscard]] std::string resume_command(const std::optional<std::string>& model, const std::string& file);

/// Returns the provenance of a page about the model at `path`, or about the built-in encoder without a path.
/// SOURCE_DATE_EPOCH sets the date, for reproducible builds.
[[nodiscard]] report::Provenance provenance_of(const std::optional<std::string>& path);

}  // namespace attn::cli
