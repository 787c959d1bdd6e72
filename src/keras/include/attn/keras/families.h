// The model families' tables for readers of weights and of tokenizers.
#pragma once

#include <span>
#include <string_view>

#include "attn/tokenizers/tables.h"
#include "attn/weights/name_table.h"

namespace attn::keras {

/// The names that Hugging Face's files have for the weights of KerasHub's backbones.
[[nodiscard]] std::span<const weights::NameTable> weight_names();

/// KerasHub's tokenizers, and the Hugging Face folders that have them.
[[nodiscard]] tokenizers::TokenizerTables tokenizer_tables();

/// The default sampler of KerasHub's task of this class: "top_k".
[[nodiscard]] std::string_view default_sampler(std::string_view task);

}  // namespace attn::keras
