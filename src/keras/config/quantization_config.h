// The `quantization_config` of a layer (keras.quantizers).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/graph/op.h"
#include "config/json.h"
#include "config/quantization.h"

namespace attn::keras {

/// The `quantization_config` of a layer: null, or an object of keras.quantizers.
class QuantizationConfig {
 public:
  /// Returns the config that Keras's quantize(mode) sets.
  static QuantizationConfig of(const Quantization& how);

  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] bool is_given() const { return !json_.is_null(); }
  /// Returns the quantization of inputs; empty if they are not quantized. Without a config it is `missing`.
  [[nodiscard]] std::optional<graph::IntegerRange> inputs(std::optional<graph::IntegerRange> missing) const {
    return is_given() ? inputs_ : missing;
  }
  /// Returns the mode and groups, if the config states them.
  [[nodiscard]] const std::optional<Quantization>& named() const { return named_; }

  friend void read_field(const Ref& ref, QuantizationConfig& value, std::vector<std::string>& warnings);

 private:
  Json json_;
  std::optional<graph::IntegerRange> inputs_;
  std::optional<Quantization> named_;
};

void read_field(const Ref& ref, QuantizationConfig& value, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const QuantizationConfig& value, int version);

}  // namespace attn::keras
