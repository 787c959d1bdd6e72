// One pass over the numbers of all variables: all that a step does to each is done while it is in the cache. Private to
// the room.
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
  std::optional<float> limit;  ///< of each number of a dense gradient
  float momentum = 0.0F;       ///< of averages
  bool overwrites = false;     ///< Do weights become their averages?
};

/// A variable in it.
struct Visit {
  Step step;                     ///< with the gradient as it was given
  float factor = 1.0F;           ///< that the gradient is multiplied by
  float decay = 0.0F;            ///< v loses this share of itself first
  float* average = nullptr;      ///< follows v at the end
  float* accumulator = nullptr;  ///< becomes 0 at the end
};

/// Elements [begin, end) of a variable; all of them where the rule is not elementwise. Was one over the limit?
[[nodiscard]] bool run(const Pass& pass, const Visit& visit, std::int64_t begin, std::int64_t end);

/// average = momentum·average + (1 − momentum)·v, which v becomes where it overwrites.
void follow(const Pass& pass, float* v, float* average, std::int64_t count);

}  // namespace attn::optimizers
