// Options for reading and running a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/backends/backend.h"
#include "attn/base/shape.h"
#include "attn/keras/options.h"

namespace attn::open {

/// Options for reading a model.
struct ReadingOptions {
  std::optional<Shape> input_shape{};  ///< input shape without the batch; for a layer or a chain without an input
  std::optional<keras::Version> keras_version{};  ///< version of Keras that wrote the model, unless the file states it
  bool as_keras_hub = false;                      ///< read the model as KerasHub does, including its errors
  std::optional<std::string> quantize{};          ///< quantize the model's weights in this way, see is_quantization
};

/// Options for reading and running a model.
struct Execution {
  std::optional<Shape> input_shape;
  std::optional<keras::Version> keras_version;
  std::string device = "cpu", backend;
  /// Dtype to compute in, instead of the model's policy, or a value of is_quantization.
  std::optional<std::string> dtype;
  std::optional<std::string> weights;
  std::optional<std::int64_t> batch, sequence_length;
  std::uint64_t seed = 0;
  int threads = 0;                           ///< number of threads; 0: all cores
  std::optional<std::int64_t> memory_limit;  ///< maximum bytes of the whole process
  bool skip_padding = false;                 ///< do not compute positions that the padding mask hides
  bool as_keras_hub = false;
  backends::MatmulPrecision precision = backends::MatmulPrecision::highest;

  [[nodiscard]] backends::CompileOptions compile_options() const { return {threads, precision, false}; }
  [[nodiscard]] ReadingOptions reading() const;
};

/// Returns whether the dtype is a kind of quantization: "int8", "int4", "int4:64".
[[nodiscard]] bool is_quantization(const std::optional<std::string>& dtype);

}  // namespace attn::open
