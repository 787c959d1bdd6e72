// Opens the tokenizer of a model.
#pragma once

#include <memory>
#include <string>

#include "attn/tokenizers/tables.h"
#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"

namespace attn::tokenizers {

/// Opens the tokenizer of a KerasHub preset folder, of a task's .keras file, or of a Hugging Face folder. Throws Error
/// (bad_input) if there is none, or if a file is damaged or uses unsupported features, and Error (usage) for options
/// that do not apply.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const TokenizerTables& tables,
                                                        const OpenOptions& options = {});

/// Opens the tokenizer of a model, or returns null if it has none, like most files and folders. Throws Error
/// (bad_input) if a file is damaged or uses unsupported features.
[[nodiscard]] std::unique_ptr<Tokenizer> find_tokenizer(const std::string& path, const TokenizerTables& tables);

}  // namespace attn::tokenizers
