// The tokenizer of a Hugging Face folder.
#pragma once

#include <memory>

#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"
#include "keras_tokenizers.h"
#include "model_files.h"

namespace attn::tokenizers {

/// A folder's tokenizer as a class of KerasHub.
struct KerasSource {
  const KerasClass* row;
  std::string vocabulary;  ///< the file that it reads; "" where it takes the vocabulary out of tokenizer.json
  bool lowercase = false;  ///< of WordPiece
};

/// By the family of the model. Throws Error (usage) for one that KerasHub does not have.
[[nodiscard]] KerasSource keras_source(const ModelFiles& files);

/// Has the folder files of a tokenizer?
[[nodiscard]] bool has_hugging_face_tokenizer(const ModelFiles& files);

/// As the folder's files say, or as KerasHub reads them where the workflow is KerasHub's.
[[nodiscard]] std::unique_ptr<Tokenizer> open_hugging_face_folder(const ModelFiles& files, const OpenOptions& options);

}  // namespace attn::tokenizers
