#include "model_source.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/hdf5.h"
#include "attn/io/keras_archive.h"

namespace attn::cli {
namespace {

/// What metadata.json says of the Keras that wrote the archive; nothing where it says nothing.
std::optional<keras::Version> version_in(const std::string& metadata) {
  const auto json = nlohmann::json::parse(metadata, nullptr, false);
  if (!json.is_object() || !json.contains("keras_version") || !json["keras_version"].is_string()) return std::nullopt;
  return keras::version_of(json["keras_version"].get<std::string>());
}

/// The config in a .keras archive.
ModelText read_archive(const std::string& path, const io::Bytes& file) {
  io::KerasArchive archive = io::parse_keras_archive(file, path);
  return {path + ":config.json", std::move(archive.config), {{}, version_in(archive.metadata)}, path};
}

/// The config that Keras 2, and Keras 3 when asked for .h5, put into the attributes of the file.
ModelText read_hdf5_model(const std::string& path, const io::Bytes& file) {
  const io::Hdf5File contents = io::read_hdf5(file, path);
  const auto root = contents.objects.find("");
  const auto text = [&](const char* name) -> std::optional<std::string> {
    if (root == contents.objects.end()) return std::nullopt;
    const auto found = root->second.attributes.find(name);
    if (found == root->second.attributes.end() || found->second.values.size() != 1) return std::nullopt;
    return found->second.values.front();
  };
  const auto config = text("model_config");
  if (!config)
    throw bad_input(
        "{}: this file holds weights without a model; give the model's JSON or .keras file, and this one with "
        "--weights",
        printable(path));
  keras::ReadOptions options;
  if (const auto version = text("keras_version")) options.keras_version = keras::version_of(*version);
  return {path + ":model_config", *config, options, path};
}

/// A folder that TensorFlow wrote is no file of Keras 3.
void refuse_folder(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return;
  if (std::filesystem::exists(path + "/saved_model.pb", error))
    throw bad_input(
        "{}: a TensorFlow SavedModel, which holds graphs of TensorFlow and is not read; load it in Python "
        "(tf_keras.models.load_model) and save it as .keras or .h5",
        printable(path));
  if (std::filesystem::exists(path + "/config.json", error))
    throw bad_input("{0}: a folder; give {0}/config.json, and {0}/model.weights.h5 with --weights", printable(path));
  throw bad_input("{}: a folder; expected a model file (Keras JSON, .keras or .h5)", printable(path));
}

ModelText read_file(const std::string& path) {
  refuse_folder(path);
  const io::Bytes file = io::read_file(path);
  switch (io::kind_of(file)) {
    case io::FileKind::zip:
      return read_archive(path, file);
    case io::FileKind::hdf5:
      return read_hdf5_model(path, file);
    case io::FileKind::npy:
    case io::FileKind::safetensors:
      throw bad_input(
          "{}: this file holds arrays, not a model; give the model's JSON or .keras file, and this one with --weights",
          printable(path));
    case io::FileKind::other:
      break;
  }
  return {path == "-" ? "stdin" : path, std::string(file.text()), {}, {}};
}

}  // namespace

void add_keras_version(CLI::App& app, std::optional<std::string>& version) {
  app.add_option("--keras-version", version,
                 "the Keras that wrote the model, where its file does not say: 2.N, 3.0 to 3.15 and newer")
      ->type_name("N.N");
}

keras::Version parse_version(const std::string& text) {
  if (const auto version = keras::version_of(text)) return *version;
  throw bad_usage("--keras-version {}: expected a version, as in 3.15", printable(text));
}

Shape parse_shape(const std::string& text) {
  Shape shape;
  for (const std::string& part : split(text, ',')) {
    if (part == "None" || part == "null") {
      shape.push_back(kUnknown);
      continue;
    }
    if (part.empty() || part.size() > 15 || part.find_first_not_of("0123456789") != std::string::npos)
      throw bad_usage("--input-shape {}: expected integers or None, as in 50,512", printable(text));
    shape.push_back(std::stoll(part));
  }
  return shape;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

ModelText read_model_text(const std::optional<std::string>& path, const std::optional<std::string>& input_shape) {
  ModelText source = path ? read_file(*path) : ModelText{"built-in encoder", keras::Model::builtin_encoder(), {}, {}};
  if (input_shape) source.options.input_shape = parse_shape(*input_shape);
  return source;
}

LoadedModel load_model(const std::optional<std::string>& path, const std::optional<std::string>& input_shape,
                       const Console& console, std::optional<keras::Version> keras_version) {
  ModelText source = read_model_text(path, input_shape);
  if (keras_version) source.options.keras_version = keras_version;
  keras::Model model = keras::Model::read(source.name, std::move(source.text), source.options);
  for (const std::string& warning : model.warnings()) console.warn(warning);
  std::string name = printable(model.name());
  return {std::move(model), std::move(name), std::move(source.weights)};
}

}  // namespace attn::cli
