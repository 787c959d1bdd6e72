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
  options.add("model", model, "MODEL", "Keras JSON, .keras, .h5, or short encoder config; - is stdin");
}

void add_input_shape(Options& options, std::optional<Shape>& shape, const std::string& of) {
  options.parsed(
      "--input-shape", [&shape](const std::string& text) { shape = parse_shape(text); }, "DIMS",
      of + "shape without the batch, for a single layer: 50,512");
}

void add_compat(Options& options, bool& as_keras_hub) {
  options.choice("--compat", as_keras_hub, {{"none", false}, {"keras-hub", true}}, "LIBRARY",
                 "none; keras-hub: ignore the same fields of files as KerasHub (none)");
}

void add_keras_version(Options& options, std::optional<keras::Version>& version) {
  options.parsed(
      "--keras-version", [&version](const std::string& text) { version = parse_version(text); }, "N.N",
      "the Keras that wrote the model, if its file does not have it: 2.N, 3.0 to 3.15 and newer");
}

void add_batch(Options& options, std::optional<std::int64_t>& batch, const std::string& of) {
  options.add("--batch", batch, "N", of + "for an unknown batch (1)").above_zero();
}

void add_sequence_length(Options& options, std::optional<std::int64_t>& length, const std::string& of) {
  options.add("--seq-len", length, "N", of + "for other unknown lengths (128)").above_zero();
}

void add_device(Options& options, std::string& device) {
  options.add("--device", device, "DEVICE", "cpu, cuda (or gpu), cuda:N or auto");
}

void add_backend(Options& options, std::string& backend) {
  options.add("--backend", backend, "NAME", "reference, onednn or cuda; by default the device's best");
}

void add_dtype(Options& options, std::optional<std::string>& dtype) {
  options.add("--dtype", dtype, "DTYPE",
              "compute in float32, bfloat16, float16 or float64 instead of the model's own policy");
}

void add_dtype_of_weights(Options& options, std::optional<std::string>& dtype) {
  options.add("--dtype", dtype, "DTYPE",
              "compute in float32, bfloat16, float16 or float64 instead of the model's own policy; or with weights "
              "made int8, int4 or "
              "int4:BLOCK as model.quantize makes them");
}

void add_cache_dtype(Options& options, std::optional<std::string>& dtype) {
  options.add("--cache-dtype", dtype, "DTYPE", "the dtype of cached keys and values (the model's)")
      .one_of({"float32", "bfloat16", "float16"});
}

void add_max_length(Options& options, std::optional<std::int64_t>& length, const std::string& of) {
  options.add("--max-length", length, "N", of + "tokens of a sequence, its prompt included (the preprocessor's)")
      .above_zero();
}

void add_threads(Options& options, int& threads) {
  constexpr int kMostThreads = 1024;  // starting more threads takes longer than they save
  options.add("--threads", threads, "N", "number of threads (default 0: all cores)").between(0, kMostThreads);
}

Option add_checkpoint(Options& options, bool& recomputes) {
  return options.choice<bool>("--checkpoint", recomputes, {{"none", false}, {"layer", true}}, "WHAT",
                              "layer: keep only the values between layers, and compute the others again in the "
                              "backward pass; the same numbers in less memory");
}

void add_matmul_precision(Options& options, backends::MatmulPrecision& precision) {
  options.choice("--matmul-precision", precision, precisions(), "HOW",
                 "precision of float32 products: highest (float32), high (TF32 or better), medium (bfloat16)");
}

void add_memory_limit(Options& options, std::optional<std::int64_t>& bytes) {
  options.parsed(
      "--mem-limit", [&bytes](const std::string& text) { bytes = parse_bytes("--mem-limit", text); }, "SIZE",
      "refuse what would take more memory in all: 2GB, 512MiB");
}

void add_raw(Options& options) {
  options.flag("--raw", Console::raw, "write control characters of a text to a terminal as they are");
}

void add_weights(Options& options, std::optional<std::string>& file) {
  options.add("--weights", file, "FILE", ".weights.h5, .keras, .safetensors or .npz");
}

void add_inputs(Options& options, std::vector<std::string>& files) {
  options.add("--input", files, "FILE",
              "arrays by input name (.npy, .npz, .safetensors), or strings (.txt, .json, .npz); NAME=FILE for one");
}

void add_seed(Options& options, std::uint64_t& seed) {
  options.add("--seed", seed, "SEED", "the seed of random numbers");
}

backends::MatmulPrecision parse_precision(const std::string& word) {
  for (const auto& [name, precision] : precisions())
    if (name == word) return precision;
  throw bad_usage("--matmul-precision {}: expected highest, high or medium", printable(word));
}

}  // namespace attn::cli
