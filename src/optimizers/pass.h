// One pass over the numbers of all variables: all that a step does to each is done while it is in the cache. Private to
// the module.
#pragma once

#include <cstdint>
#include <optional>

#include "attn/base/tensor.h"
#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// What is done to every variable.
struct Pass {
  const Rule* rule = nullptr;
  std::optional<double> limit;  ///< of each number of a dense gradient
  double momentum = 0.0;        ///< of averages
  bool overwrites = false;      ///< Do weights become their averages?
};

/// Weight decay: v loses the share `factor`·`rate` of itself. Keras multiplies by the two in turn.
struct Decay {
  double factor = 0.0, rate = 0.0;
};

/// A variable in it.
template <typename T>
struct Visit {
  Step<T> step;                ///< with the gradient as it was given
  T factor = T(1.0F);          ///< that the gradient is multiplied by
  std::optional<Decay> decay;  ///< comes first
  T* average = nullptr;        ///< follows v at the end
  T* accumulator = nullptr;    ///< becomes 0 at the end
};

/// Elements [begin, end) of a variable; all of them where the rule is not elementwise. Was one over the limit?
/// Defined, as the next two, for float, double, Float16 and BFloat16.
template <typename T>
[[nodiscard]] bool run(const Pass& pass, const Visit<T>& visit, std::int64_t begin, std::int64_t end);

/// Muon: the direction in which a run will move the variable. Throws Stopped.
template <typename T>
void find_direction(const Pass& pass, const Visit<T>& visit, T* direction);

/// average = momentum·average + (1 − momentum)·v, which v becomes where it overwrites.
template <typename T>
void follow(const Pass& pass, T* v, T* average, std::int64_t count);

}  // namespace attn::optimizers
