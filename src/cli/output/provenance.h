// How a page came about: the model's file, attn's version, the date, the command.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/report/values.h"

namespace attn::cli {

/// Keeps the words of the command line, for pages to show.
void keep_command(std::span<const std::string> words);

/// The command of a training that continues `file`, with the options of this one, as a shell takes it. `model` is the
/// MODEL that this one was given.
[[nodiscard]] std::string resume_command(const std::optional<std::string>& model, const std::string& file);

/// Of a page about the model at `path`; nothing stands for the built-in encoder. The date is that of SOURCE_DATE_EPOCH
/// where it is set, as reproducible builds have it.
[[nodiscard]] report::Provenance provenance_of(const std::optional<std::string>& path);

}  // namespace attn::cli
