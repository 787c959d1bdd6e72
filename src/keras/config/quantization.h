// The quantization of a layer's weights, as dtype policies name it (keras.dtype_policies).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attn/base/shape.h"

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

}  // namespace attn::keras
