// Which kernel runs a step: nothing to do, one of the operation's records, one of them on float32 copies of half
// precision, or the reference's loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel.h"

namespace attn::backends::cpu {

/// How a step will run, decided before anything is allocated.
struct Choice {
  enum class Way : std::uint8_t { nothing, kernel, widened, reference };
  Way way;
  const KernelInfo* kernel = nullptr;  ///< where the way is that
  std::string why{};                   ///< why better kernels would not run it, or ""
  Needs needs{};
};
[[nodiscard]] Choice choose(const StepInfo& step);

struct Made {
  std::unique_ptr<Kernel> kernel;
  std::string why;
  std::vector<bool> copied;  ///< as in Needs
};
/// Makes what was chosen for the step; the reference's loops where oneDNN refuses.
[[nodiscard]] Made make_kernel(const Choice& choice, const Step& step);

}  // namespace attn::backends::cpu
