// Models that other libraries write, and attn does not read.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attn/io/bytes.h"

namespace attn::io {

/// By the end of a file's name.
struct OtherKind {
  std::string_view ending;
  std::string_view what;  ///< and the way out
};

[[nodiscard]] std::span<const OtherKind> other_kinds();

/// Throws Error (bad_input) for a file of such a kind. What begins as a JSON object is none, whatever its name.
void refuse_other_kind(const Bytes& file, const std::string& path);

}  // namespace attn::io
