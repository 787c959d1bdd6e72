#include "attn/tokenizers/open.h"

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "files/hugging_face_folder.h"
#include "files/keras_object.h"
#include "files/keras_tokenizers.h"

namespace attn::tokenizers {
namespace {

/// Opens the Keras object of a tokenizer and its asset files.
std::unique_ptr<Tokenizer> open_keras(const ModelFiles& files, const KerasObject& found, const TokenizerTables& tables,
                                      const OpenOptions& options) {
  const JsonNode object = found.node();
  const std::string name = object["class_name"].text();
  const KerasClass* const row = find_keras_class(tables, name);
  if (row == nullptr)
    throw bad_input("{}: the tokenizer '{}' is not known{}", object["class_name"].place(), shortened(name),
                    did_you_mean(name, keras_class_names(tables)));
  const std::vector<std::string> names = asset_names(row->kind);
  KerasAssets assets{&files, found.folder + "/" + names.front(), found.folder + "/" + names.back()};
  return make_keras_tokenizer(*row, object["config"], assets, options);
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const TokenizerTables& tables,
                                          const OpenOptions& options) {
  const ModelFiles files(path);
  if (const auto object = keras_object(files)) return open_keras(files, *object, tables, options);
  if (files.is_archive())
    throw bad_input(
        "{}: the model has no tokenizer; KerasHub stores one in the .keras file of a task; pass token ids with --ids "
        "1,2,3",
        files.place("config.json"));
  return open_hugging_face_folder(files, tables, options);
}

std::unique_ptr<Tokenizer> find_tokenizer(const std::string& path, const TokenizerTables& tables) {
  if (!ModelFiles::are_at(path)) return nullptr;
  const ModelFiles files(path);
  if (const auto object = keras_object(files)) return open_keras(files, *object, tables, {});
  if (files.is_archive() || !has_hugging_face_tokenizer(files)) return nullptr;
  return open_hugging_face_folder(files, tables, {});
}

}  // namespace attn::tokenizers
