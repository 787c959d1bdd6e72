// One variable during a step. Private to the module.
#pragma once

#include <array>
#include <cstdint>

#include "attn/base/shape.h"

namespace attn::optimizers {

/// The update of one variable in one step. T is the type of the variable, of its gradient and of its slots.
template <typename T>
struct Step {
  const Shape* shape = nullptr;
  T* v = nullptr;        ///< the weights
  const T* g = nullptr;  ///< Σ of the gradient's entries
  const T* q = nullptr;  ///< Σ of the entries' squares; null means g², if the rule is not elementwise
  /// For Adamax, Σ of the entries' magnitudes, multiplied by `a_factor` when read; null means |g|.
  const T* a = nullptr;
  T a_factor = T(1.0F);
  std::array<T*, 3> s{};  ///< the slots of the rule
  std::int64_t size = 0;
  double rate = 0;               ///< the learning rate
  double t = 1;                  ///< number of this update, from 1
  double product = 1;            ///< Nadam's momentum product after this step
  bool adam = false;             ///< Muon: this variable is updated by Adam
  const T* direction = nullptr;  ///< Muon without Adam: the result of muon_direction

  [[nodiscard]] T square(std::int64_t i) const { return q != nullptr ? q[i] : g[i] * g[i]; }
};

}  // namespace attn::optimizers
