#include "attn/io/unsupported_formats.h"

#include <array>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

constexpr std::string_view kLlamaCpp =
    "a llama.cpp model, which is not supported; use the Hugging Face folder that it was made from";
constexpr std::string_view kPickle =
    "a Python pickle, which cannot be read without running it; save the weights in Python as .safetensors, and the "
    "model with "
    "model.save('model.keras')";

constexpr std::string_view kCheckpoint =
    "a TensorFlow checkpoint, which is not supported; load it in Python and save it as .keras or .weights.h5";

constexpr std::string_view kPointer =
    "a Git LFS pointer in place of the file; get the file with `git lfs pull`, or download it again";

/// Returns whether the file is one of those that model.save_weights of Keras 2 and tf.train.Checkpoint write, whatever
/// their prefix.
bool is_checkpoint(std::string_view text, std::string_view path) {
  constexpr std::string_view kTable = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";  // ends a table of LevelDB
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto shard = name.find(".data-");
  return text.starts_with("model_checkpoint_path:") || (name.ends_with(".index") && text.ends_with(kTable)) ||
         (shard != std::string_view::npos && name.find("-of-", shard) != std::string_view::npos);
}

constexpr std::array<UnsupportedFormat, 9> kUnsupportedFormats{
    {{"saved_model.pb",
      "a TensorFlow SavedModel, which contains TensorFlow graphs and is not supported; load it in Python "
      "(tf_keras.models.load_model) and save it as .keras or .h5"},
     {".gguf", kLlamaCpp},
     {".onnx",
      "an ONNX model, which attn writes but does not read; use the Hugging Face folder or the Keras model that it was "
      "made from"},
     {".pb", "a TensorFlow graph, which is not supported; use the Keras model that it was made from"},
     {".tflite", "a LiteRT model, which is not supported; use the Keras model that it was made from"},
     {".pt", kPickle},
     {".pth", kPickle},
     {".pkl", kPickle},
     {".ckpt", kCheckpoint}}};

}  // namespace

std::span<const UnsupportedFormat> unsupported_formats() { return kUnsupportedFormats; }

void refuse_unsupported_format(const Bytes& file, const std::string& path) {
  const std::string_view text = file.text();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return;
  if (text.starts_with("GGUF")) throw bad_input("{}: {}", printable(path), kLlamaCpp);
  if (text.starts_with("version https://git-lfs")) throw bad_input("{}: {}", printable(path), kPointer);
  if (is_checkpoint(text, path)) throw bad_input("{}: {}", printable(path), kCheckpoint);
  for (const UnsupportedFormat& kind : kUnsupportedFormats)
    if (path.ends_with(kind.ending)) throw bad_input("{}: {}", printable(path), kind.what);
}

}  // namespace attn::io
