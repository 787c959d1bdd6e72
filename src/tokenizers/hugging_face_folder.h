// The tokenizer of a Hugging Face folder.
#pragma once

#include <memory>

#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"
#include "model_files.h"

namespace attn::tokenizers {

/// As the folder's files say, or as KerasHub reads them where the workflow is KerasHub's.
[[nodiscard]] std::unique_ptr<Tokenizer> open_hugging_face_folder(const ModelFiles& files, const OpenOptions& options);

}  // namespace attn::tokenizers
