// The tokenizer of a Hugging Face folder.
#pragma once

#include <memory>

#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"
#include "keras_tokenizers.h"
#include "model_files.h"

namespace attn::tokenizers {

/// The tokenizer of a folder as a KerasHub class.
struct KerasSource {
  const KerasClass* row;
  std::string vocabulary;  ///< the file to read; "" if the vocabulary comes from tokenizer.json
  bool lowercase = false;  ///< whether a WordPiece tokenizer lowercases texts
};

/// Selects the class by the family of the model. Throws Error (usage) for a family that KerasHub does not have.
[[nodiscard]] KerasSource keras_source(const ModelFiles& files, const TokenizerTables& tables);

/// Returns whether the folder has tokenizer files.
[[nodiscard]] bool has_hugging_face_tokenizer(const ModelFiles& files);

/// Follows the folder's files, or KerasHub's conversion if the workflow is one of KerasHub's.
[[nodiscard]] std::unique_ptr<Tokenizer> open_hugging_face_folder(const ModelFiles& files,
                                                                  const TokenizerTables& tables,
                                                                  const OpenOptions& options);

}  // namespace attn::tokenizers
