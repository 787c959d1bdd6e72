// The tokenizer of a model.
#pragma once

#include <memory>
#include <string>

#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"

namespace attn::tokenizers {

/// The tokenizer of a preset folder of KerasHub, of the .keras file of a task, or of a Hugging Face folder. Throws
/// Error (bad_input) where there is none, where a file is damaged or asks for what attn does not know, and (usage) for
/// options that do not fit it.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const OpenOptions& options = {});

/// The same of a model that may have none, as most files and folders do not: null then.
[[nodiscard]] std::unique_ptr<Tokenizer> find_tokenizer(const std::string& path);

}  // namespace attn::tokenizers
