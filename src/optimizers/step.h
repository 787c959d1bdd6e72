// A variable in a step. Private to the room.
#pragma once

#include <array>
#include <cstdint>

#include "attn/base/shape.h"

namespace attn::optimizers {

struct Step {
  const Shape* shape = nullptr;
  float* v = nullptr;        ///< the weights
  const float* g = nullptr;  ///< Σ of the gradient's entries
  const float* q = nullptr;  ///< Σ of their squares; may be null for g² where the rule is not elementwise
  const float* a = nullptr;  ///< Adamax: Σ of their magnitudes, to be multiplied by `a_factor`; null for |g|
  float a_factor = 1;
  std::array<float*, 3> s{};  ///< the rule's slots
  std::int64_t size = 0;
  double rate = 0;     ///< the learning rate
  double t = 1;        ///< which update it is, from 1
  double product = 1;  ///< of Nadam, after this step
  bool adam = false;   ///< Muon: by Adam

  [[nodiscard]] float square(std::int64_t i) const { return q != nullptr ? q[i] : g[i] * g[i]; }
};

}  // namespace attn::optimizers
