// Options that several commands have, each declared once. `of` is a prefix of the option's description: "with --costs:
// ".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/shape.h"
#include "attn/keras/version.h"
#include "options/options.h"

namespace attn::cli {

/// Adds the positional argument MODEL.
void add_model(Options& options, std::optional<std::string>& model);
void add_input_shape(Options& options, std::optional<Shape>& shape, const std::string& of = "");
/// Adds --compat: read and compute as KerasHub does, including its errors.
void add_compat(Options& options, bool& as_keras_hub);
/// Adds --keras-version: the Keras version whose rules apply to reading the model and to drawing its weights.
void add_keras_version(Options& options, std::optional<keras::Version>& version);

void add_batch(Options& options, std::optional<std::int64_t>& batch, const std::string& of = "");
void add_sequence_length(Options& options, std::optional<std::int64_t>& length, const std::string& of = "");

void add_device(Options& options, std::string& device);
void add_backend(Options& options, std::string& backend);
void add_dtype(Options& options, std::optional<std::string>& dtype);
/// Adds --dtype for a command that can also quantize while loading (is_quantization).
void add_dtype_of_weights(Options& options, std::optional<std::string>& dtype);
/// Adds the option for the dtype of cached keys and values in a decoder.
void add_cache_dtype(Options& options, std::optional<std::string>& dtype);
void add_max_length(Options& options, std::optional<std::int64_t>& length, const std::string& of = "");
void add_threads(Options& options, int& threads);
void add_matmul_precision(Options& options, backends::MatmulPrecision& precision);
void add_memory_limit(Options& options, std::optional<std::int64_t>& bytes);

/// Adds --recompute: whether the backward pass recomputes activations instead of keeping them.
Option add_recompute(Options& options, bool& recomputes);

/// Adds --raw: whether a terminal receives the control characters in a model's text.
void add_raw(Options& options);

void add_weights(Options& options, std::optional<std::string>& file);
void add_inputs(Options& options, std::vector<std::string>& files);
void add_images(Options& options, std::vector<std::string>& files);
void add_seed(Options& options, std::uint64_t& seed);

/// Parses "highest", "high" or "medium". Throws Error (usage) for another word.
[[nodiscard]] backends::MatmulPrecision parse_precision(const std::string& word);

/// Adds --rtol and --atol.
template <typename Number>
void add_tolerance(Options& options, Number& rtol, Number& atol, const std::string& of = "") {
  const OptionGroupGuard group(options, OptionGroup::result);
  options.add("--rtol", rtol, "R", "relative tolerance" + of).not_negative();
  options.add("--atol", atol, "A", "absolute tolerance" + of).not_negative();
}

}  // namespace attn::cli
