// keras.DTypePolicy: which dtype a layer computes in, and which its variables have.
#pragma once

#include <string>

#include "attn/base/dtype.h"
#include "config/json.h"

namespace attn::keras {

struct DTypePolicy {
  std::string name = "float32";
  DType compute = DType::float32;
  DType variable = DType::float32;

  /// "float32", "mixed_bfloat16", …; nothing for what is no policy.
  [[nodiscard]] static std::optional<DTypePolicy> named(std::string_view name);
  /// Reads it from a config: null (float32), a name, or an object of Keras 3 (DTypePolicy) or Keras 2 (Policy).
  [[nodiscard]] static DTypePolicy read(const Ref& ref);
  /// What Keras 3 writes for it in a layer.
  [[nodiscard]] Json json() const;
};

}  // namespace attn::keras
