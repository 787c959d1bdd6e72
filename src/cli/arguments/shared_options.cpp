#include "arguments/shared_options.h"

#include "arguments/parsed_values.h"
#include "attn/backends/precision.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "output/console.h"

namespace attn::cli {
namespace {

const std::vector<std::pair<std::string, backends::MatmulPrecision>>& precisions() {
  using backends::MatmulPrecision;
  static const std::vector<std::pair<std::string, MatmulPrecision>> names{
      {name_of(MatmulPrecision::high), MatmulPrecision::high},
      {name_of(MatmulPrecision::highest), MatmulPrecision::highest},
      {name_of(MatmulPrecision::medium), MatmulPrecision::medium}};
  return names;
}

}  // namespace

void add_model(Options& options, std::optional<std::string>& model) {
  options.add("model", model, "MODEL",
              "Keras JSON, .keras, .h5, folder or short encoder config; - is stdin (default the built-in encoder)");
}

void add_input_shape(Options& options, std::optional<Shape>& shape, const std::string& of) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.parsed(
      "--input-shape", [&shape](const std::string& text) { shape = parse_shape(text); }, "DIMS",
      of + "input shape of a single layer, without the batch dimension: 50,512");
}

void add_compat(Options& options, bool& as_keras_hub) {
  const OptionGroupGuard group(options, OptionGroup::model);
  options.choice("--compat", as_keras_hub, {{"none", false}, {"keras-hub", true}}, "LIBRARY",
                 "keras-hub ignores the config fields that KerasHub ignores (default none)");
}

void add_keras_version(Options& options, std::optional<keras::Version>& version) {
  const OptionGroupGuard group(options, OptionGroup::model);
  options.parsed(
      "--keras-version", [&version](const std::string& text) { version = parse_version(text); }, "N.N",
      "Keras version that wrote the model, if its file lacks it: 2.N, or 3.0 and newer");
}

void add_batch(Options& options, std::optional<std::int64_t>& batch, const std::string& of) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add("--batch-size", batch, "N", of + "batch size, if the model leaves it open (default 1)").above_zero();
}

void add_sequence_length(Options& options, std::optional<std::int64_t>& length, const std::string& of) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add("--seq-len", length, "N", of + "sequence length, if the model leaves it open (default 128)").above_zero();
}

void add_device(Options& options, std::string& device) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.add("--device", device, "DEVICE", "device: cpu, cuda (or gpu), cuda:N or auto (default cpu)");
}

void add_backend(Options& options, std::string& backend) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.add("--backend", backend, "NAME", "backend: reference, onednn or cuda (default the device's best)");
}

void add_dtype(Options& options, std::optional<std::string>& dtype) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.add("--dtype", dtype, "DTYPE",
              "compute dtype: float32, bfloat16, float16 or float64 (default the model's policy)");
}

void add_dtype_of_weights(Options& options, std::optional<std::string>& dtype) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.add("--dtype", dtype, "DTYPE",
              "compute dtype: float32, bfloat16, float16 or float64 (default the model's policy); or int8, int4 or "
              "int4:BLOCK to quantize weights like model.quantize");
}

void add_cache_dtype(Options& options, std::optional<std::string>& dtype) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.add("--cache-dtype", dtype, "DTYPE", "dtype of the KV cache (default the model's)")
      .one_of({"float32", "bfloat16", "float16"});
}

void add_max_length(Options& options, std::optional<std::int64_t>& length, const std::string& of) {
  options
      .add("--max-length", length, "N",
           of + "maximum sequence length in tokens, prompt included (default the preprocessor's)")
      .above_zero();
}

void add_threads(Options& options, int& threads) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  constexpr int kMostThreads = 1024;  // starting more threads takes longer than they save
  options.add("--threads", threads, "N", "number of threads; 0 uses all cores (default 0)").between(0, kMostThreads);
}

Option add_recompute(Options& options, bool& recomputes) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  return options.choice<bool>("--recompute", recomputes, {{"none", false}, {"layer", true}}, "WHAT",
                              "layer: recompute activations in the backward pass to save memory (default none)");
}

void add_matmul_precision(Options& options, backends::MatmulPrecision& precision) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.choice("--matmul-precision", precision, precisions(), "HOW",
                 "precision of float32 matrix products: highest is float32, high TF32 or better, medium bfloat16 "
                 "(default highest)");
}

void add_memory_limit(Options& options, std::optional<std::int64_t>& bytes) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.parsed(
      "--mem-limit", [&bytes](const std::string& text) { bytes = parse_bytes("--mem-limit", text); }, "SIZE",
      "memory limit, such as 2GB or 512MiB; exit 4 if more is needed");
}

void add_raw(Options& options) {
  const OptionGroupGuard group(options, OptionGroup::result);
  options.flag("--raw", Console::raw, "write control characters to a terminal unescaped");
}

void add_weights(Options& options, std::optional<std::string>& file) {
  const OptionGroupGuard group(options, OptionGroup::model);
  options.add("--weights", file, "FILE", "weights file: .weights.h5, .keras, .safetensors or .npz");
}

void add_inputs(Options& options, std::vector<std::string>& files) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add(
      "--input", files, "FILE",
      "input arrays by name (.npy, .npz, .safetensors) or strings (.txt, .json, .npz); NAME=FILE for a single input");
}

void add_images(Options& options, std::vector<std::string>& files) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add("--image", files, "FILE",
              "JPEG or PNG for the image input, one row of the batch each; the model's ImageConverter reads it");
}

void add_seed(Options& options, std::uint64_t& seed) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add("--seed", seed, "SEED", "seed of random numbers (default 0)");
}

backends::MatmulPrecision parse_precision(const std::string& word) {
  for (const auto& [name, precision] : precisions())
    if (name == word) return precision;
  throw bad_usage("--matmul-precision {}: expected highest, high or medium", printable(word));
}

}  // namespace attn::cli
