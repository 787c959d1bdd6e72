// Tables of names in Hugging Face's files, made of parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "attn/weights/name_table.h"

namespace attn::keras {

using weights::NameRow;

/// Returns the rows of several tables as one.
template <std::size_t... N>
constexpr std::array<NameRow, (N + ...)> name_rows(const std::array<NameRow, N>&... parts) {
  std::array<NameRow, (N + ...)> out{};
  auto* next = out.data();
  ((next = std::copy(parts.begin(), parts.end(), next)), ...);
  return out;
}

}  // namespace attn::keras
