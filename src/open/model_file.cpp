#include "attn/open/model_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/hdf5.h"
#include "attn/io/json_text.h"
#include "attn/io/keras_archive.h"
#include "attn/io/unsupported_formats.h"
#include "attn/io/zip.h"
#include "attn/weights/read_store.h"
#include "model_folder.h"
#include "tied_embedding.h"

namespace attn::open {
namespace {

/// Returns the Keras version in metadata.json; nothing if it is missing.
std::optional<keras::Version> version_in(const std::string& metadata, const std::string& path) {
  const auto json = io::parse_json(metadata, printable(path) + ":metadata.json");
  if (!json.is_object() || !json.contains("keras_version") || !json["keras_version"].is_string()) return std::nullopt;
  return keras::version_of(json["keras_version"].get<std::string>());
}

/// Reads the config in a .keras archive.
ModelText read_archive(const std::string& path, const io::Bytes& file) {
  io::KerasArchive archive = io::parse_keras_archive(file, path);
  ModelText out{path + ":config.json", std::move(archive.config), {}, path};
  out.options.keras_version = version_in(archive.metadata, path);
  if (archive.weights) {
    // Read only if the config may be incomplete.
    out.options.stored_bytes = archive.weights->size();
    out.options.stored = [file, path] { return weights::parse_store(file, path).weights; };
  }
  out.options.asset = [file, path](const std::string& place) { return io::read_keras_asset(file, path, place); };
  if (archive.weights && may_hide_tied_embedding(out.text))
    out.options.tie_word_embeddings = tied_embedding_in(weights::parse_store(file, path));
  return out;
}

/// Reads the config from the attributes of the file, written by Keras 2, and by Keras 3 when asked for .h5.
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
        "{}: this file contains weights without a model; open the model's JSON or .keras file, with weights from this "
        "one",
        printable(path))
        .about("weights");
  keras::ReadOptions options;
  if (const auto version = text("keras_version")) options.keras_version = keras::version_of(*version);
  return {path + ":model_config", *config, options, path};
}

/// Returns whether the archive is NumPy's .npz.
bool is_npz(const io::ZipReader& archive) {
  const auto& members = archive.members();
  return !members.empty() &&
         std::ranges::all_of(members, [](const io::ZipMember& member) { return member.name.ends_with(".npy"); });
}

}  // namespace

ModelText model_text_of(const io::Bytes& file, const std::string& path) {
  const auto of_arrays = [&]() -> Error {
    return bad_input(
               "{}: this file contains arrays, not a model; open the model's JSON or .keras file, with weights from "
               "this one",
               printable(path))
        .about("weights");
  };
  switch (io::kind_of(file)) {
    case io::FileKind::zip:
      io::refuse_unsupported_format(file, path);  // PyTorch's files are archives too
      if (is_npz(io::ZipReader(file, path))) throw of_arrays();
      return read_archive(path, file);
    case io::FileKind::hdf5:
      return read_hdf5_model(path, file);
    case io::FileKind::npy:
    case io::FileKind::safetensors:
      throw of_arrays();
    case io::FileKind::other:
      io::refuse_unsupported_format(file, path);
      break;
  }
  const std::string name = path == "-" ? "stdin" : path;
  const std::size_t first = file.text().find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos && path != "-") throw bad_input("{}: the file is empty", printable(name));
  if (const bool is_binary = name.ends_with(".keras") || name.ends_with(".h5");
      is_binary && first != std::string_view::npos && file.text()[first] != '{')
    throw bad_input("{}: neither {} nor JSON: it is not a model, or it is damaged or incomplete", printable(name),
                    name.ends_with(".h5") ? "an HDF5 file" : "a zip archive");
  // The text is copied, so its size is checked first.
  if (file.text().size() > keras::kMaxConfigBytes)
    throw bad_input("{}: neither a .keras nor an .h5 file, and a config may have at most 64 MiB", printable(name));
  return {name, std::string(file.text()), {}, {}};
}

ModelText read_model_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return read_model_folder(path);
  ModelText out = model_text_of(io::read_file(path), path);
  if (!out.weights) out.weights = folder_with_weights(path);
  return out;
}

ModelText builtin_model() { return {"built-in encoder", keras::Model::builtin_encoder(), {}, {}}; }

keras::Model read_model(ModelText text) {
  keras::Model model = keras::Model::read(text.name, std::move(text.text), text.options);
  if (!text.weights || model.custom_classes().empty()) return model;
  const weights::Store store = weights::read_store(*text.weights);
  std::vector<keras::StoredWeight> stored;
  for (const NamedTensor& weight : store.weights)
    stored.push_back({weight.name, weight.tensor.shape(), weight.tensor.dtype()});
  if (store.naming == weights::Naming::store_path) model.take_stored(std::span<const keras::StoredWeight>(stored));
  if (store.naming == weights::Naming::layered) {
    std::vector<keras::StoredLayer> layers;
    auto next = stored.begin();
    for (const weights::StoredLayer& layer : store.layers) {
      const auto end = next + layer.count;
      layers.push_back({layer.name, {next, end}});
      next = end;
    }
    model.take_stored(std::span<const keras::StoredLayer>(layers));
  }
  return model;
}

}  // namespace attn::open
