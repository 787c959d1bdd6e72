// A model's tokenizer as files of another library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/io/keras_archive.h"

namespace attn::tokenizers {

/// As KerasHub saves it.
struct KerasForm {
  std::string class_name;
  std::string config;                  ///< what get_config() gives, as JSON
  std::vector<io::NamedBytes> assets;  ///< vocabulary.json and merges.txt, vocabulary.txt, or vocabulary.spm
};

/// The tokenizer of a preset, of the .keras file of a task, or of a Hugging Face folder as KerasHub converts it.
/// Nothing where a model has none. Throws Error (bad_input) for damaged files, and for a folder that KerasHub does not
/// convert.
[[nodiscard]] std::optional<KerasForm> keras_form(const std::string& path);

/// The files of a Hugging Face folder's tokenizer, as they are; none of anything else. Throws Error (bad_input) for a
/// file that cannot be read, and for a symlink that leads out of the folder.
[[nodiscard]] std::vector<io::NamedBytes> hugging_face_files(const std::string& path);

/// The files that transformers reads of KerasHub's tokenizers, by the classes that transformers has for them. Texts are
/// cut into words as transformers does it. None where a model has no such tokenizer. Throws Error (bad_input) for
/// damaged files, and for a class that transformers has no files for.
[[nodiscard]] std::vector<io::NamedBytes> hugging_face_form(const std::string& path);

}  // namespace attn::tokenizers
