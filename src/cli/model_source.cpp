#include "model_source.h"

#include <algorithm>
#include <filesystem>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

keras::Version parse_version(const std::string& text) {
  if (const auto version = keras::version_of(text)) return *version;
  throw bad_usage("--keras-version {}: expected a version, as in 3.15", printable(text));
}

Shape parse_shape(const std::string& text, const char* option) {
  Shape shape;
  for (const std::string& part : split(text, ',')) {
    if (part == "None" || part == "null") {
      shape.push_back(kUnknown);
      continue;
    }
    if (part.empty() || part.size() > 15 || part.find_first_not_of("0123456789") != std::string::npos)
      throw bad_usage("{} {}: expected integers or None, as in 50,512", option, printable(text));
    shape.push_back(std::stoll(part));
  }
  return shape;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

library::ModelText read_model_text(const std::optional<std::string>& path,
                                   const std::optional<std::string>& input_shape) {
  library::ModelText source = path ? library::read_model_file(*path) : library::builtin_model();
  if (input_shape) source.options.input_shape = parse_shape(*input_shape);
  return source;
}

bool is_quantization(const std::optional<std::string>& dtype) {
  return dtype && (*dtype == "int8" || *dtype == "int4" || dtype->starts_with("int4:"));
}

LoadedModel load_model(const std::optional<std::string>& path, const std::optional<std::string>& input_shape,
                       const Console& console, std::optional<keras::Version> keras_version, const std::string& compat,
                       const std::optional<std::string>& quantize) {
  library::ModelText source = read_model_text(path, input_shape);
  std::string file = printable(source.name);
  if (keras_version) source.options.keras_version = keras_version;
  source.options.as_keras_hub = compat == "keras-hub";
  std::shared_ptr<const keras::Model> floats;
  if (quantize) {
    floats = std::make_shared<const keras::Model>(library::read_model(source));
    source.options.quantize = *quantize;
    std::replace(source.options.quantize->begin(), source.options.quantize->end(), ':', '/');
  }
  std::optional<std::string> weights = source.weights;
  keras::Model model = library::read_model(std::move(source));
  for (const std::string& warning : model.warnings()) console.warn(warning);
  std::string name = printable(model.name());
  return {std::move(model), std::move(name), std::move(file), std::move(weights), std::move(floats)};
}

void warn_of_custom_classes(const keras::Model& model, const Console& console) {
  const std::vector<std::string> classes = model.custom_classes();
  if (classes.empty()) return;
  console.warn(
      fmt::format("not built in: {}; attn shows the layers of {} and does not run them. The script of "
                  "`attn flatten-script` makes built-in layers of them, in Python",
                  printable(join(classes, ", ")), classes.size() == 1 ? "this class" : "these classes"));
  if (model.has_unknown_params())
    console.warn("the parameters of custom layers are unknown; a .keras or .h5 file with their weights shows them");
}

}  // namespace attn::cli
