// A model with the origin of it and its weights.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attn/keras/model.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model_file.h"
#include "attn/weights/store.h"

namespace attn::open {

struct LoadedModel {
  keras::Model model;
  std::string name;                              ///< the model's own name, printable, for reports
  std::string file;                              ///< the model's file for messages: "model.keras:config.json"
  std::optional<std::string> weights;            ///< the file or folder that also holds weights (.keras, .h5, a preset)
  std::shared_ptr<const keras::Model> floats{};  ///< the model before quantization; null if it was not quantized
  std::shared_ptr<const weights::Store> arrays{};  ///< weights in memory, in place of those of the file
};

/// Returns whether the path exists; false for names that no file can have.
[[nodiscard]] bool is_file(const std::string& path);

/// Returns whether the path is a folder.
[[nodiscard]] bool is_folder(const std::string& path);

/// Reads the config at `path`, as load_model does. Throws Error (bad_input) for a file without a config.
[[nodiscard]] ModelText read_model_text(const std::optional<std::string>& path, const ReadingOptions& how = {});

/// Opens the model at `path`: Keras JSON, the short encoder config, a .keras archive, a whole-model .h5 or a folder (a
/// preset of KerasHub, or of Hugging Face), detected by content; "-" is stdin, no path the built-in encoder. Throws
/// Error.
[[nodiscard]] LoadedModel load_model(const std::optional<std::string>& path, const ReadingOptions& how,
                                     const Listener& listener);
/// Opens a model whose config was already read.
[[nodiscard]] LoadedModel load_model(ModelText source, const ReadingOptions& how, const Listener& listener);
/// Opens the model at `path` for a run with these options. Warns if the sequence length has no effect on the model.
[[nodiscard]] LoadedModel load_model(const std::optional<std::string>& path, const Execution& execution,
                                     const Listener& listener);

/// Warns if a sequence length has no effect, because the model fixes its lengths.
void warn_of_fixed_lengths(const keras::Model& model, const std::optional<std::int64_t>& length,
                           const Listener& listener);

}  // namespace attn::open
