// Parsers for option values other than a number or a word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attn/base/shape.h"
#include "attn/keras/version.h"

namespace attn::cli {

/// Parses "2GB", "512 MiB", "1.5g" or "1000000" as bytes. Throws Error (usage) for anything else.
[[nodiscard]] std::int64_t parse_bytes(std::string_view option, const std::string& word);

/// Parses "3.12" as a version of Keras. Throws Error (usage).
[[nodiscard]] keras::Version parse_version(const std::string& text);

/// Parses "50,512" or "None,512" as a shape. Throws Error (usage), which names the option.
[[nodiscard]] Shape parse_shape(const std::string& text, const char* option = "--input-shape");

}  // namespace attn::cli
