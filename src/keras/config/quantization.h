// The quantization of a layer's weights (keras.dtype_policies, keras.quantizers).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attn/graph/op.h"
#include "config/json.h"

namespace attn::keras {

enum class QuantizationMode : std::uint8_t { int8, int4, float8, gptq, awq };

/// "int8"
[[nodiscard]] std::string_view name_of(QuantizationMode mode);

struct Quantization {
  QuantizationMode mode = QuantizationMode::int8;
  int bits = 8;                      ///< bits of a weight; GPTQ has 2, 3, 4 and 8
  std::optional<Dim> group;          ///< number of inputs that share a scale; empty: the whole column
  bool names_group = true;           ///< whether the policy's name contains the group; the oldest int4 policies lack it
  std::int64_t amax_history = 1024;  ///< length of the amax history of float8

  /// Parses the quantization in a policy's name: "int8", "int4/128", "gptq/4/-1". Empty for other names.
  [[nodiscard]] static std::optional<Quantization> named(std::string_view name);
  [[nodiscard]] std::string name() const;
  /// Returns Keras's class for a policy with this quantization: "QuantizedDTypePolicy".
  [[nodiscard]] std::string_view policy_class() const;
  /// Returns the number of groups for this number of inputs.
  [[nodiscard]] Dim groups_of(Dim inputs) const { return group ? (inputs + *group - 1) / *group : 1; }
  /// Returns whether each group has a zero point, and each input has a group index.
  [[nodiscard]] bool is_grouped() const { return mode == QuantizationMode::int4 ? group.has_value() : bits_stored(); }

  friend bool operator==(const Quantization&, const Quantization&) = default;

 private:
  [[nodiscard]] bool bits_stored() const { return mode == QuantizationMode::gptq || mode == QuantizationMode::awq; }
};

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
