// keras.DTypePolicy: the compute dtype and variable dtype of a layer, and its quantization.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "attn/base/dtype.h"
#include "config/json.h"
#include "config/quantization.h"

namespace attn::keras {

struct DTypePolicy;

/// The policies of the layers inside a layer, by path (keras.DTypePolicyMap).
struct PolicyMap {
  Json json;  ///< the map in Keras's form
  std::map<std::string, DTypePolicy, std::less<>> by_path;
};

struct DTypePolicy {
  std::string name = "float32";
  DType compute = DType::float32;
  DType variable = DType::float32;
  std::optional<Quantization> quantization{};  ///< for the layer's own weights

  // For layers with sublayers:
  std::shared_ptr<const PolicyMap> map{};
  std::shared_ptr<const StoredQuantization> stored{};
  std::optional<Quantization> asked{};  ///< the requested quantization of all sublayers
  std::string path{}, place{};          ///< the keys of this layer in `map` and in `stored`

  /// Returns the policy of a name ("float32", "mixed_bfloat16", "int8_from_float32"); empty for an unknown name.
  [[nodiscard]] static std::optional<DTypePolicy> named(std::string_view name);
  /// Reads a policy from a config: null (float32), a name, or an object of Keras 3 (any DTypePolicy or DTypePolicyMap)
  /// or Keras 2 (Policy).
  [[nodiscard]] static DTypePolicy read(const Ref& ref);
  /// Returns the policy as Keras 3 writes it in a layer's config.
  [[nodiscard]] Json json() const;

  /// Returns the name of the policy without its quantization: "mixed_bfloat16".
  [[nodiscard]] std::string source_name() const;
  /// Returns the policy of the sublayer `sublayer`, whose key in .weights.h5 is `attribute`.
  [[nodiscard]] DTypePolicy of(std::string_view sublayer, std::string_view attribute) const;
  /// Sets the quantization, and the name that includes it.
  void quantize(const Quantization& how);
};

}  // namespace attn::keras
