// The MODEL argument: where a model and its weights come from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/keras/model.h"
#include "attn/library/model_file.h"
#include "output/console.h"

namespace attn::cli {

struct LoadedModel {
  keras::Model model;
  std::string name;                              ///< for reports: the model's own name, made printable
  std::string file;                              ///< for messages: "model.keras:config.json"
  std::optional<std::string> weights;            ///< the file or folder that also holds weights (.keras, .h5, a preset)
  std::shared_ptr<const keras::Model> floats{};  ///< what was quantized as it was read; null: nothing was
};

/// Is there anything of that name? No, for names that no file can have.
[[nodiscard]] bool is_file(const std::string& path);

/// Is it a folder?
[[nodiscard]] bool is_folder(const std::string& path);

/// The config at `path`, as load_model finds it. Throws Error (bad_input) for a file that holds none.
[[nodiscard]] library::ModelText read_model_text(const std::optional<std::string>& path,
                                                 const std::optional<std::string>& input_shape);

/// The model at `path`: Keras JSON, the short encoder config, a .keras archive, a whole-model .h5 or a folder (a preset
/// of KerasHub, one of Hugging Face's), told apart by content; "-" is stdin, nothing the built-in encoder.
/// `keras_version` stands for what the file says of the Keras that wrote it, and `compat` "keras-hub" for reading as
/// KerasHub does. `quantize` makes integers of its weights, as is_quantization has it. Warnings go to the console.
[[nodiscard]] LoadedModel load_model(const std::optional<std::string>& path,
                                     const std::optional<std::string>& input_shape, const Console& console,
                                     std::optional<keras::Version> keras_version = {},
                                     const std::string& compat = "none",
                                     const std::optional<std::string>& quantize = {});

/// Is it a way to quantize: "int8", "int4", "int4:64"?
[[nodiscard]] bool is_quantization(const std::optional<std::string>& dtype);

/// "3.12" as a version of Keras. Throws Error (usage).
[[nodiscard]] keras::Version parse_version(const std::string& text);

/// "50,512" or "None,512" as a shape. Throws Error (usage) that names the option.
[[nodiscard]] Shape parse_shape(const std::string& text, const char* option = "--input-shape");

/// Warns that classes of somebody's own are shown and do not run, and of parameters that no file shows.
void warn_of_custom_classes(const keras::Model& model, const Console& console);

}  // namespace attn::cli
