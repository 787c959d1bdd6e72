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

/// The policies of layers inside a layer, by path: a DTypePolicyMap.
struct PolicyMap {
  Json json;  ///< in Keras's form
  std::map<std::string, DTypePolicy, std::less<>> by_path;
};

struct DTypePolicy {
  std::string name = "float32";
  DType compute = DType::float32;
  DType variable = DType::float32;
  std::optional<Quantization> quantization{};  ///< for the layer's own weights

  // For layers with sublayers.
  std::shared_ptr<const PolicyMap> map{};
  std::shared_ptr<const StoredQuantization> stored{};
  std::optional<Quantization> asked{};  ///< the requested quantization of all layers inside
  std::string path{}, place{};          ///< keys of this layer in `map` and in `stored`

  /// The policy of a name: "float32", "mixed_bfloat16", "int8_from_float32", …; empty if there is none.
  [[nodiscard]] static std::optional<DTypePolicy> named(std::string_view name);
  /// Reads a policy from a config: null (float32), a name, or an object of Keras 3 (any DTypePolicy or DTypePolicyMap)
  /// or Keras 2 (Policy).
  [[nodiscard]] static DTypePolicy read(const Ref& ref);
  /// The serialization of Keras 3 in a layer.
  [[nodiscard]] Json json() const;

  /// The name without the quantization, only with dtypes.
  [[nodiscard]] std::string source_name() const;
  /// The policy of a sublayer `sublayer`, whose key in .weights.h5 is `attribute`.
  [[nodiscard]] DTypePolicy of(std::string_view sublayer, std::string_view attribute) const;
  /// Sets the quantization.
  void quantize(const Quantization& how);
};

}  // namespace attn::keras
