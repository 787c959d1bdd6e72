// A variable in a step. Private to the module.
#pragma once

#include <array>
#include <cstdint>

#include "attn/base/shape.h"

namespace attn::optimizers {

/// T is the type of the variable, of its gradient and of its slots.
template <typename T>
struct Step {
  const Shape* shape = nullptr;
  T* v = nullptr;        ///< the weights
  const T* g = nullptr;  ///< Σ of the gradient's entries
  const T* q = nullptr;  ///< Σ of their squares; may be null for g² where the rule is not elementwise
  const T* a = nullptr;  ///< Adamax: Σ of their magnitudes, to be multiplied by `a_factor`; null for |g|
  T a_factor = T(1.0F);
  std::array<T*, 3> s{};  ///< the rule's slots
  std::int64_t size = 0;
  double rate = 0;               ///< the learning rate
  double t = 1;                  ///< which update it is, from 1
  double product = 1;            ///< of Nadam, after this step
  bool adam = false;             ///< Muon: by Adam
  const T* direction = nullptr;  ///< Muon, where it is not by Adam: what muon_direction gave

  [[nodiscard]] T square(std::int64_t i) const { return q != nullptr ? q[i] : g[i] * g[i]; }
};

}  // namespace attn::optimizers
