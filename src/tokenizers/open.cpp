#include "attn/tokenizers/open.h"

#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "hugging_face_folder.h"
#include "keras_tokenizers.h"

namespace attn::tokenizers {
namespace {

constexpr const char* kTokenizerJson = "tokenizer.json";

/// A Keras object of a tokenizer, with its files in a folder of the model's.
std::unique_ptr<Tokenizer> open_keras(const ModelFiles& files, const JsonNode& object, const std::string& folder,
                                      const OpenOptions& options) {
  const std::string name = object["class_name"].text();
  const KerasClass* const row = find_keras_class(name);
  if (row == nullptr)
    throw bad_input("{}: the tokenizer '{}' is not known{}", object["class_name"].place(), shortened(name),
                    did_you_mean(name, keras_class_names()));
  KerasAssets assets{&files, folder + "/vocabulary.json", folder + "/merges.txt"};
  if (row->kind == KerasClass::Kind::word_piece) assets.vocabulary = folder + "/vocabulary.txt";
  if (row->kind == KerasClass::Kind::sentence_piece) assets.vocabulary = folder + "/vocabulary.spm";
  return make_keras_tokenizer(*row, object["config"], assets, options);
}

/// Where a preset's tokenizer has its files: the subfolder is called as the config file up to its first point.
std::string preset_folder(const JsonNode& object) {
  const JsonNode file = object["config"]["config_file"];
  std::string name = file.text(kTokenizerJson);
  name.resize(std::min(name.find('.'), name.size()));
  if (name.empty() || name.find_first_of("/\\") != std::string::npos || name.find('\0') != std::string::npos)
    throw bad_input("{}: '{}' names no folder", file.place(), shortened(name));
  return "assets/" + name;
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const OpenOptions& options) {
  const ModelFiles files(path);
  if (files.is_archive()) {
    const nlohmann::json config = files.config("config.json");
    const JsonNode object =
        JsonNode(config, files.place("config.json"))["config"]["preprocessor"]["config"]["tokenizer"];
    if (!object.is_object())
      throw bad_input("{}: this model has no tokenizer; KerasHub keeps one in the .keras file of a task",
                      files.place("config.json"));
    return open_keras(files, object, "assets/preprocessor/tokenizer", options);
  }
  // A preset's tokenizer.json is a Keras object, and small; Hugging Face's file of that name holds the vocabulary.
  constexpr std::int64_t kLargestObject = std::int64_t{1} << 20;
  if (files.has(kTokenizerJson)) {
    const io::Bytes text = files.read(kTokenizerJson, std::int64_t{256} << 20);
    if (text.size() <= kLargestObject) {
      const nlohmann::json json = io::parse_json(text.text(), files.place(kTokenizerJson));
      const JsonNode object(json, files.place(kTokenizerJson));
      if (object["class_name"].is_string()) return open_keras(files, object, preset_folder(object), options);
    }
  }
  return open_hugging_face_folder(files, options);
}

}  // namespace attn::tokenizers
