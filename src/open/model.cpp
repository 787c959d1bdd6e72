#include "attn/open/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::open {
namespace {

/// Throws Error (bad_input) if a weight is quantized already, which only the weights of a file may show.
void require_floats(const keras::Model& model, const std::string& file) {
  for (const graph::WeightSpec& spec : model.weights())
    if (spec.quantized)
      throw bad_input("{}: the weight '{}' is already quantized; a quantized model cannot be quantized again", file,
                      printable(spec.path))
          .about("quantize");
}

}  // namespace

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

ModelText read_model_text(const std::optional<std::string>& path, const ReadingOptions& how) {
  ModelText source = path ? read_model_file(*path) : builtin_model();
  if (how.input_shape) source.options.input_shape = how.input_shape;
  if (how.keras_version) source.options.keras_version = how.keras_version;
  return source;
}

LoadedModel load_model(const std::optional<std::string>& path, const ReadingOptions& how, const Listener& listener) {
  return load_model(read_model_text(path, how), how, listener);
}

LoadedModel load_model(ModelText source, const ReadingOptions& how, const Listener& listener) {
  std::string file = printable(source.name);
  source.options.as_keras_hub = how.as_keras_hub;
  std::shared_ptr<const keras::Model> floats;
  if (how.quantize) {
    floats = std::make_shared<const keras::Model>(read_model(source));
    require_floats(*floats, file);
    source.options.quantize = *how.quantize;
    std::replace(source.options.quantize->begin(), source.options.quantize->end(), ':', '/');
  }
  std::optional<std::string> weights = source.weights;
  std::shared_ptr<const weights::Store> arrays = source.arrays;
  keras::Model model = read_model(std::move(source));
  for (const std::string& warning : model.warnings()) listener.warn(warning);
  std::string name = printable(model.name());
  return {std::move(model), std::move(name), std::move(file), std::move(weights), std::move(floats), std::move(arrays)};
}

LoadedModel load_model(const std::optional<std::string>& path, const Execution& execution, const Listener& listener) {
  LoadedModel loaded = load_model(path, execution.reading(), listener);
  warn_of_fixed_lengths(loaded.model, execution.sequence_length, listener);
  return loaded;
}

void warn_of_fixed_lengths(const keras::Model& model, const std::optional<std::int64_t>& length,
                           const Listener& listener) {
  if (length && !model.reaches_length(*length))
    listener.warn(
        fmt::format("`sequence_length` {} has no effect: the model fixes the lengths of its inputs", *length));
}

}  // namespace attn::open
