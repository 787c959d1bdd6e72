// Writes a model's tokenizer in another library's format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/io/keras_archive.h"
#include "attn/tokenizers/tables.h"

namespace attn::tokenizers {

/// The format of KerasHub.
struct KerasForm {
  std::string class_name;
  std::string config;  ///< result of the tokenizer's get_config(), as JSON
  /// The asset files: vocabulary.json and merges.txt, vocabulary.txt, or vocabulary.spm.
  std::vector<io::NamedBytes> assets;
};

/// Converts the tokenizer of a preset, of a task's .keras file, or of a Hugging Face folder as KerasHub converts it.
/// Empty if a model has no tokenizer. Throws Error (bad_input) for damaged files, and for a folder that KerasHub does
/// not convert.
[[nodiscard]] std::optional<KerasForm> keras_form(const std::string& path, const TokenizerTables& tables);

/// Returns the tokenizer files of a Hugging Face folder, unchanged; none for other models. Throws Error (bad_input) for
/// a file that cannot be read, and for a symlink to outside the folder.
[[nodiscard]] std::vector<io::NamedBytes> hugging_face_files(const std::string& path);

/// Converts a KerasHub tokenizer to the files that transformers reads. Texts are split into words as in transformers.
/// Empty if a model has no such tokenizer. Throws Error (bad_input) for damaged files, and for a class without a
/// counterpart in transformers.
[[nodiscard]] std::vector<io::NamedBytes> hugging_face_form(const std::string& path, const TokenizerTables& tables);

}  // namespace attn::tokenizers
