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
  bool names_group = true;           ///< Whether the policy's name contains the group; in the oldest int4 it does not.
  std::int64_t amax_history = 1024;  ///< for float8

  /// Parses the names in policies: "int8", "int4/128", "gptq/4/-1". Empty for other names.
  [[nodiscard]] static std::optional<Quantization> named(std::string_view name);
  [[nodiscard]] std::string name() const;
  /// The class of the policy.
  [[nodiscard]] std::string_view policy_class() const;
  /// The number of groups for `inputs`.
  [[nodiscard]] Dim groups_of(Dim inputs) const { return group ? (inputs + *group - 1) / *group : 1; }
  /// Whether each group has a zero point, and each input a group index.
  [[nodiscard]] bool is_grouped() const { return mode == QuantizationMode::int4 ? group.has_value() : bits_stored(); }

  friend bool operator==(const Quantization&, const Quantization&) = default;

 private:
  [[nodiscard]] bool bits_stored() const { return mode == QuantizationMode::gptq || mode == QuantizationMode::awq; }
};

/// The `quantization_config` of a layer: null, or an object of keras.quantizers.
class QuantizationConfig {
 public:
  /// The config that quantize(mode) sets.
  static QuantizationConfig of(const Quantization& how);

  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] bool is_given() const { return !json_.is_null(); }
  /// The quantization of inputs; empty if they are not quantized. `missing` applies without a config.
  [[nodiscard]] std::optional<graph::IntegerRange> inputs(std::optional<graph::IntegerRange> missing) const {
    return is_given() ? inputs_ : missing;
  }
  /// The mode and groups that it states, if any.
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
