// Sums over ranks that travel while steps run that do not read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attn/backends/storage.h"
#include "attn/communicators/communicator.h"
#include "attn/plan/plan.h"

namespace attn::backends::cpu {

class BegunSums {
 public:
  /// Those of a plan, which must outlive this, that are not read by the next step.
  BegunSums(const plan::Plan& plan, communicators::Communicator* ranks);

  /// Is the sum of this step one of them?
  [[nodiscard]] bool has(std::size_t step) const { return !read_at_.empty() && read_at_[step].has_value(); }
  /// Waits for those that the step reads. As many as there are steps: for all.
  void before(std::size_t step);
  void begin(std::size_t step, const Storage& storage);
  /// Lets what is on its way go on.
  void between();

 private:
  struct OnItsWay {
    std::size_t read_at = 0;
    std::int64_t number = 0;
  };

  const plan::Plan& plan_;
  communicators::Communicator* ranks_;
  std::vector<std::optional<std::size_t>> read_at_;  // by step; empty where there is one rank
  std::vector<OnItsWay> on_their_way_;               // in the order in which they were begun
};

}  // namespace attn::backends::cpu
