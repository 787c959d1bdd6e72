// keras.DTypePolicy: which dtype a layer computes in, and which its variables have; and of quantized layers, how.
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

/// The policies of layers inside a layer, by their paths: a DTypePolicyMap.
struct PolicyMap {
  Json json;  ///< as it is written
  std::map<std::string, DTypePolicy, std::less<>> by_path;
};

struct DTypePolicy {
  std::string name = "float32";
  DType compute = DType::float32;
  DType variable = DType::float32;
  std::optional<Quantization> quantization{};  ///< of the layer's own weights

  // Of layers that are made of layers.
  std::shared_ptr<const PolicyMap> map{};
  std::shared_ptr<const StoredQuantization> stored{};
  std::optional<Quantization> asked{};  ///< of all layers in it that can be
  std::string path{}, place{};          ///< of this layer in `map` and in `stored`

  /// "float32", "mixed_bfloat16", "int8_from_float32", …; nothing for what is no policy.
  [[nodiscard]] static std::optional<DTypePolicy> named(std::string_view name);
  /// Reads it from a config: null (float32), a name, or an object of Keras 3 (a DTypePolicy of any kind, or a
  /// DTypePolicyMap) or Keras 2 (Policy).
  [[nodiscard]] static DTypePolicy read(const Ref& ref);
  /// What Keras 3 writes for it in a layer.
  [[nodiscard]] Json json() const;

  /// The name without what quantizes: that of dtypes alone.
  [[nodiscard]] std::string source_name() const;
  /// The policy of a layer called `sublayer` inside of this one, which .weights.h5 keeps under `attribute`.
  [[nodiscard]] DTypePolicy of(std::string_view sublayer, std::string_view attribute) const;
  /// Quantized so.
  void quantize(const Quantization& how);
};

}  // namespace attn::keras
