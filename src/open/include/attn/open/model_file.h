// Finds the text of a model in a file.
#pragma once

#include <string>

#include "attn/io/bytes.h"
#include "attn/keras/model.h"
#include "attn/open/model_text.h"

namespace attn::open {

/// Reads the config in a file: Keras JSON, the short encoder config, a .keras archive or a whole-model .h5, detected by
/// content; "-" is stdin. A folder is a KerasHub preset or a Hugging Face model: its task if it has one; its
/// config.json as a file is the backbone. Throws Error (bad_input) if there is no config.
[[nodiscard]] ModelText read_model_file(const std::string& path);
/// Reads the config in a file's bytes, as read_model_file() does for a path; `path` is the file's name. Throws Error
/// (bad_input) if there is no config.
[[nodiscard]] ModelText model_text_of(const io::Bytes& file, const std::string& path);

/// Parses the model. Custom layers get the weights that the file has for them. Throws Error
/// (bad_input).
[[nodiscard]] keras::Model read_model(ModelText text);

/// Returns configs/encoder.json, which is compiled in.
[[nodiscard]] ModelText builtin_model();

}  // namespace attn::open
