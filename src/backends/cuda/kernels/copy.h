// Copies of elements, in units as wide as alignment allows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "attn/graph/op.h"
#include "fault.h"
#include "number.h"
#include "walk.h"

namespace attn::cuda {

/// A copy of units of 1, 2, 4, 8 or 16 bytes: to[walk.at(i).of[1]] = from[walk.at(i).of[0]] for every i.
struct Copy {
  Walk<2> walk;  ///< offsets in units
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int unit = 1;  ///< bytes of a unit
};
void launch_copy(const Copy& copy, cudaStream_t stream);

/// The start of a slice in its input, and the strides of its axes there, in elements.
struct PickedSteps {
  Steps steps;
  std::int64_t start = 0;
};
[[nodiscard]] PickedSteps picked_steps(const graph::Slice& op, const Shape& shape);

/// Copies from (outer, size, inner) to (outer, taken, inner), by indices (taken); inner is in units.
struct GatherPlan {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  Array indices;
  std::int64_t outer = 1, size = 1, taken = 1, inner = 1;
  int unit = 1;  ///< bytes of a unit
  Reporter report;
};
[[nodiscard]] GatherPlan gather_plan(const graph::Gather& op, const Step& step, int unit);
void launch_gather(const GatherPlan& plan, cudaStream_t stream);

/// The largest unit, of at most 16 bytes, that divides all run lengths and addresses passed to it.
class Unit {
 public:
  explicit Unit(std::int64_t bytes = 16) : bytes_(bytes) {}
  void must_divide(std::int64_t bytes) {
    while (bytes % bytes_ != 0) bytes_ /= 2;
  }
  void must_divide(const void* address) {
    must_divide(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % 16));
  }
  [[nodiscard]] int bytes() const { return static_cast<int>(bytes_); }

 private:
  std::int64_t bytes_;
};

/// Calls f with a zero of an unsigned type of `bytes` bytes: 1, 2, 4, 8 or 16.
template <typename Function>
void with_unit(int bytes, Function f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(uint4{});
  }
}

}  // namespace attn::cuda
