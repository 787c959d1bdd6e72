// Kernel selection for a step. The ways are nothing to do, one of the operation's kernels, such a kernel on float32
// copies of half precision, or the reference loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel.h"

namespace attn::backends::cpu {

/// The selected method of running a step, decided before anything is allocated.
struct Choice {
  enum class Method : std::uint8_t { nothing, kernel, widened, reference };
  Method method;
  const KernelInfo* kernel = nullptr;  ///< null unless the method has a kernel
  std::string why{};                   ///< the reasons why better kernels are not used, or ""
  MemoryNeeds needs{};
};
[[nodiscard]] Choice choose(const StepInfo& step);

struct MadeKernel {
  std::unique_ptr<Kernel> kernel;
  std::string why;
  std::vector<bool> copied;  ///< same as in MemoryNeeds
};
/// Makes the selected kernel; falls back to the reference loops if oneDNN fails.
[[nodiscard]] MadeKernel make_kernel(const Choice& choice, const Step& step);

}  // namespace attn::backends::cpu
