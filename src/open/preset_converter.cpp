#include "preset_converter.h"

#include <nlohmann/json.hpp>

#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "attn/keras/json_text.h"
#include "attn/open/folder_config.h"
#include "preset_text.h"

namespace attn::open {
namespace {

constexpr const char* kPreprocessorFile = "preprocessor.json";

/// Returns the config of the converter in a preprocessor's config; nothing if it has none.
std::optional<std::string> converter_in(const nlohmann::json& preprocessor, const std::string& key) {
  if (!preprocessor.is_object() || !preprocessor.contains("config")) return std::nullopt;
  const nlohmann::json& config = preprocessor["config"];
  if (!config.is_object() || !config.contains(key) || config[key].is_null()) return std::nullopt;
  return config[key].dump();
}

}  // namespace

std::optional<std::string> folder_config(const LoadedModel& loaded, const std::string& name) {
  if (!loaded.weights || !is_folder(*loaded.weights)) return std::nullopt;
  return preset_text(*loaded.weights, name);
}

std::optional<ConverterText> converter_of(const LoadedModel& loaded, const std::string& key) {
  if (const auto task = loaded.model.task(); task && task->preprocessor) {
    const nlohmann::json model = keras::parse_json_text(loaded.model.config({}), loaded.file);
    if (auto config = converter_in(model["config"]["preprocessor"], key))
      return ConverterText{loaded.file, std::move(*config)};
  }
  const auto place = [&](const std::string& name) { return *loaded.weights + "/" + name; };
  if (const auto text = folder_config(loaded, kPreprocessorFile))
    if (auto config = converter_in(io::parse_json(*text, printable(place(kPreprocessorFile))), key))
      return ConverterText{place(kPreprocessorFile), std::move(*config)};
  const std::string own = key + ".json";
  if (auto text = folder_config(loaded, own)) return ConverterText{place(own), std::move(*text)};
  return std::nullopt;
}

}  // namespace attn::open
