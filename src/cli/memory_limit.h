// --mem-limit: how much memory the process may take in all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/run/memory.h"

namespace attn::cli {

/// Bytes of "2GB", "512 MiB", "1.5g" or "1000000"; throws Error (usage) for anything else.
[[nodiscard]] std::int64_t parse_bytes(std::string_view option, const std::string& word);

/// What the system and --mem-limit leave.
[[nodiscard]] run::MemoryLimit memory_limit(const std::optional<std::string>& word);

}  // namespace attn::cli
