// How a layer's weights are integers of few bits (keras.dtype_policies, keras.quantizers).
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
  int bits = 8;                      ///< of a weight; gptq has 2, 3, 4 and 8
  std::optional<Dim> group;          ///< inputs that share a scale; nothing: all of a column do
  bool names_group = true;           ///< Is the group in the policy's name? The oldest int4 is without.
  std::int64_t amax_history = 1024;  ///< of float8

  /// "int8", "int4/128", "gptq/4/-1": how policies name it. Nothing where it is none of these.
  [[nodiscard]] static std::optional<Quantization> named(std::string_view name);
  [[nodiscard]] std::string name() const;
  /// The class of the policy.
  [[nodiscard]] std::string_view policy_class() const;
  /// How many groups `inputs` make.
  [[nodiscard]] Dim groups_of(Dim inputs) const { return group ? (inputs + *group - 1) / *group : 1; }
  /// Does each group have a zero point, and each input say its group?
  [[nodiscard]] bool is_grouped() const { return mode == QuantizationMode::int4 ? group.has_value() : bits_stored(); }

  friend bool operator==(const Quantization&, const Quantization&) = default;

 private:
  [[nodiscard]] bool bits_stored() const { return mode == QuantizationMode::gptq || mode == QuantizationMode::awq; }
};

/// A layer's `quantization_config`: null, or an object of keras.quantizers.
class QuantizationConfig {
 public:
  /// What quantize(mode) gives the layer.
  static QuantizationConfig of(const Quantization& how);

  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] bool is_given() const { return !json_.is_null(); }
  /// How inputs are quantized, where `missing` says what holds without a config: nothing: they are not.
  [[nodiscard]] std::optional<graph::IntegerRange> inputs(std::optional<graph::IntegerRange> missing) const {
    return is_given() ? inputs_ : missing;
  }
  /// The mode and groups that it names, where it does.
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
