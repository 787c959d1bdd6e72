// The tokenizer of a model.
#pragma once

#include <memory>
#include <string>

#include "attn/open/model.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::open {

/// Opens the tokenizer of the model's files, or one of bytes for a model that reads them. Throws Error (bad_input),
/// which names `ids`, if the model has neither.
[[nodiscard]] std::unique_ptr<tokenizers::Tokenizer> open_tokenizer_of(const std::string& path,
                                                                       const LoadedModel& loaded);

}  // namespace attn::open
