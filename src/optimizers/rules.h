// What one step of a rule does to one variable. Private to the room.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/optimizers/optimizer.h"

namespace attn::optimizers {

/// A variable in a step.
struct Step {
  const Shape* shape = nullptr;
  float* v = nullptr;        ///< the weights
  const float* g = nullptr;  ///< Σ of the gradient's entries
  const float* q = nullptr;  ///< Σ of their squares; null: g²
  std::vector<float*> s;     ///< the rule's slots
  std::int64_t size = 0;
  double rate = 0;     ///< the learning rate
  double t = 1;        ///< which update it is, from 1
  double product = 1;  ///< of Nadam, after this step
  bool adam = false;   ///< Muon: by Adam

  [[nodiscard]] float square(std::int64_t i) const { return q != nullptr ? q[i] : g[i] * g[i]; }
};

/// Does the rule treat each element by itself, so that a variable may be taken in parts?
[[nodiscard]] bool is_elementwise(const Rule& rule);

/// Elements [begin, end) of a variable; all of them where the rule is not elementwise.
void update(const Rule& rule, const Step& step, std::int64_t begin, std::int64_t end);

/// A number to the power of t, of the number as float32: what Keras's bias corrections hold.
[[nodiscard]] double power_of_float(double base, double t);

}  // namespace attn::optimizers
