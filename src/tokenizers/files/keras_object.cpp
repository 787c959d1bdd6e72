#include "keras_object.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"

namespace attn::tokenizers {
namespace {

constexpr const char* kObjectFile = "tokenizer.json";

/// Returns the folder of a preset tokenizer's files: it has the name of the config file up to the first dot.
std::string preset_folder(const JsonNode& object) {
  const JsonNode file = object["config"]["config_file"];
  const std::string whole = file.text(kObjectFile);
  const std::string name = whole.substr(0, whole.find('.'));
  if (name.empty() || name.find_first_of("/\\") != std::string::npos || name.find('\0') != std::string::npos)
    throw bad_input("{}: '{}' does not begin with the name of a folder", file.place(), shortened(whole));
  return "assets/" + name;
}

}  // namespace

JsonNode KerasObject::node() const {
  const JsonNode root(whole, file);
  return in_task ? root["config"]["preprocessor"]["config"]["tokenizer"] : root;
}

std::optional<KerasObject> keras_object(const ModelFiles& files) {
  if (files.is_archive()) {
    KerasObject out{files.config("config.json"), files.place("config.json"), true, "assets/preprocessor/tokenizer"};
    if (!out.node().is_object()) return std::nullopt;
    return out;
  }
  // In a preset, tokenizer.json is a small Keras object. Hugging Face's file of that name contains the vocabulary.
  constexpr std::int64_t kLargestObject = std::int64_t{1} << 20;
  if (!files.has(kObjectFile)) return std::nullopt;
  const io::Bytes text = files.read(kObjectFile, std::int64_t{256} << 20);
  if (text.size() > kLargestObject) return std::nullopt;
  KerasObject out{io::parse_json(text.text(), files.place(kObjectFile)), files.place(kObjectFile), false, ""};
  if (!out.node()["class_name"].is_string()) return std::nullopt;
  out.folder = preset_folder(out.node());
  return out;
}

}  // namespace attn::tokenizers
