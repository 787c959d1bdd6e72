// Asynchronous all-reduces, which overlap with the steps that do not read their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attn/backends/storage.h"
#include "attn/communicators/communicator.h"
#include "attn/plan/plan.h"

namespace attn::backends::cpu {

class AsyncAllReduces {
 public:
  /// Covers the all-reduces of a plan that the next step does not read. The plan must outlive this object.
  AsyncAllReduces(const plan::Plan& plan, communicators::Communicator* ranks);

  /// Returns whether the all-reduce of this step is asynchronous.
  [[nodiscard]] bool has(std::size_t step) const { return !read_at_.empty() && read_at_[step].has_value(); }
  /// Waits for the sums that the step reads; for the number of steps, waits for all sums.
  void before(std::size_t step);
  void begin(std::size_t step, const Storage& storage);
  /// Advances pending sums, between two steps.
  void between();

 private:
  struct Pending {
    std::size_t read_at = 0;
    std::int64_t number = 0;
  };

  const plan::Plan& plan_;
  communicators::Communicator* ranks_;
  std::vector<std::optional<std::size_t>> read_at_;  // first reader of each step's sum; empty with a single rank
  std::vector<Pending> pending_;                     // pending all-reduces in the order of begin_all_reduce
};

}  // namespace attn::backends::cpu
