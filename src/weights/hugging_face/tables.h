// Tables of names that are kept in a file of their own.
#pragma once

#include <span>

#include "hugging_face/name_row.h"

namespace attn::weights {

[[nodiscard]] std::span<const NameRow> opt_names();
[[nodiscard]] std::span<const NameRow> phi3_names();
[[nodiscard]] std::span<const NameRow> mixtral_names();
[[nodiscard]] std::span<const NameRow> bart_names();

}  // namespace attn::weights
