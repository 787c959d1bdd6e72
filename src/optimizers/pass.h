// One pass over all variables: the whole update of an element is done while it is in the cache. Private to the module.
#pragma once

#include <cstdint>
#include <optional>

#include "attn/base/tensor.h"
#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// The settings that all variables share.
struct Pass {
  const Rule* rule = nullptr;
  std::optional<double> limit;  ///< limit of the magnitude of each element of a dense gradient
  double momentum = 0.0;        ///< momentum of the moving averages
  bool overwrites = false;      ///< whether the averages overwrite the weights
};

/// Weight decay: v −= v · `factor` · `rate`. Keras multiplies by the two factors in turn.
struct Decay {
  double factor = 0.0, rate = 0.0;
};

/// One variable of the pass.
template <typename T>
struct Visit {
  Step<T> step;                ///< the step, with the original gradient
  T factor = T(1.0F);          ///< factor by which the gradient is multiplied
  std::optional<Decay> decay;  ///< weight decay, which is applied first
  T* average = nullptr;        ///< the moving average, which is updated with v at the end
  T* accumulator = nullptr;    ///< the accumulator, which is set to 0 at the end
};

/// Updates elements [begin, end) of a variable; all of them if the rule is not elementwise. Returns whether an element
/// exceeded the limit. Defined, like the next two, for float, double, Float16 and BFloat16.
template <typename T>
[[nodiscard]] bool run(const Pass& pass, const Visit<T>& visit, std::int64_t begin, std::int64_t end);

/// Computes the direction in which Muon will update the variable. Throws Stopped.
template <typename T>
void find_direction(const Pass& pass, const Visit<T>& visit, T* direction);

/// average = momentum·average + (1 − momentum)·v. If it overwrites, v becomes the average.
template <typename T>
void follow(const Pass& pass, T* v, T* average, std::int64_t count);

}  // namespace attn::optimizers
