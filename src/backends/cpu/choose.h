// Kernel selection for a step: nothing to do, one of the operation's kernels, one of them on float32 copies of half
// precision, or the reference loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel.h"

namespace attn::backends::cpu {

/// The selected way to run a step, decided before anything is allocated.
struct Choice {
  enum class Way : std::uint8_t { nothing, kernel, widened, reference };
  Way way;
  const KernelInfo* kernel = nullptr;  ///< set for the ways that have a kernel
  std::string why{};                   ///< the reason why better kernels decline, or ""
  Needs needs{};
};
[[nodiscard]] Choice choose(const StepInfo& step);

struct Made {
  std::unique_ptr<Kernel> kernel;
  std::string why;
  std::vector<bool> copied;  ///< as in Needs
};
/// Makes the selected kernel; falls back to the reference loops if oneDNN fails.
[[nodiscard]] Made make_kernel(const Choice& choice, const Step& step);

}  // namespace attn::backends::cpu
