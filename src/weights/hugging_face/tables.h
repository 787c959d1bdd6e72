// Tables of names that are in files of their own.
#pragma once

#include <span>

#include "hugging_face/name_row.h"

namespace attn::weights {

[[nodiscard]] std::span<const NameRow> opt_names();
[[nodiscard]] std::span<const NameRow> phi3_names();
[[nodiscard]] std::span<const NameRow> mixtral_names();
[[nodiscard]] std::span<const NameRow> bart_names();
[[nodiscard]] std::span<const NameRow> smollm3_names();
[[nodiscard]] std::span<const NameRow> gpt_neox_names();
[[nodiscard]] std::span<const NameRow> bloom_names();
[[nodiscard]] std::span<const NameRow> falcon_names();
[[nodiscard]] std::span<const NameRow> t5_names();
/// For gated feed-forward layers.
[[nodiscard]] std::span<const NameRow> t5_gated_names();

}  // namespace attn::weights
