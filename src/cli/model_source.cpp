#include "model_source.h"

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/keras_archive.h"

namespace attn::cli {
namespace {

// Keras archives hold weights; a config beside them never passes the JSON guard's 64 MiB.
keras::Model read_model(const std::string& path, const io::Bytes& file, const keras::ReadOptions& options,
                        std::optional<std::string>& weights) {
  switch (io::kind_of(file)) {
    case io::FileKind::zip: {
      weights = path;
      const io::KerasArchive archive = io::parse_keras_archive(file, path);
      return keras::Model::read(path + ":config.json", archive.config, options);
    }
    case io::FileKind::hdf5:
    case io::FileKind::npy:
    case io::FileKind::safetensors:
      throw bad_input(
          "{}: this file holds arrays, not a model; give the model's JSON or .keras file, and this one with --weights",
          printable(path));
    case io::FileKind::other:
      break;
  }
  return keras::Model::read(path == "-" ? "stdin" : path, std::string(file.text()), options);
}

}  // namespace

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

LoadedModel load_model(const std::optional<std::string>& path, const std::optional<std::string>& input_shape,
                       const Console& console) {
  keras::ReadOptions options;
  if (input_shape) options.input_shape = parse_shape(*input_shape);
  std::optional<std::string> weights;
  keras::Model model = path ? read_model(*path, io::read_file(*path), options, weights)
                            : keras::Model::read("built-in encoder", keras::Model::builtin_encoder(), options);
  for (const std::string& warning : model.warnings()) console.warn(warning);
  std::string name = printable(model.name());
  return {std::move(model), std::move(name), std::move(weights)};
}

}  // namespace attn::cli
