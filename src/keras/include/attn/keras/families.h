// The model families' tables for readers of weights and of tokenizers.
#pragma once

#include <span>
#include <string_view>

#include "attn/tokenizers/tables.h"
#include "attn/weights/name_table.h"

namespace attn::keras {

/// Returns the names that Hugging Face's files have for the weights of KerasHub's backbones.
[[nodiscard]] std::span<const weights::NameTable> weight_names();

/// Returns KerasHub's tokenizers, and the Hugging Face folders that have them.
[[nodiscard]] tokenizers::TokenizerTables tokenizer_tables();

/// Returns the default sampler of the KerasHub task with this class name: "top_k".
[[nodiscard]] std::string_view default_sampler(std::string_view task);

}  // namespace attn::keras
