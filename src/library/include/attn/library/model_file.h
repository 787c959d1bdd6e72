// Where the text of a model lies in a file.
#pragma once

#include <optional>
#include <string>

#include "attn/io/bytes.h"
#include "attn/keras/model.h"

namespace attn::library {

/// A model that was not read yet.
struct ModelText {
  std::string name;  ///< of the file, and of what holds it there: "model.keras:config.json"
  std::string text;
  keras::ReadOptions options;
  std::optional<std::string> weights;  ///< the file or folder that also holds weights
};

/// The config in a file: Keras JSON, the short encoder config, a .keras archive or a whole-model .h5, told apart by
/// content; "-" is stdin. Of a folder, a preset of KerasHub or one of Hugging Face's, it is the task where there is
/// one; its config.json alone is the backbone. Throws Error (bad_input) for what holds none.
[[nodiscard]] ModelText read_model_file(const std::string& path);
/// The same of a file's bytes; `path` is its name.
[[nodiscard]] ModelText model_text_of(const io::Bytes& file, const std::string& path);

/// The model of such a text. What it has of custom layers gets the weights that its file has for them. Throws Error
/// (bad_input).
[[nodiscard]] keras::Model read_model(ModelText text);

/// configs/encoder.json, which is compiled in.
[[nodiscard]] ModelText builtin_model();

}  // namespace attn::library
