// Kernels that are on trial, taken by a test.
#pragma once

#include <cstdlib>

namespace attn::test {

/// The variable that takes the kernels it names (src/backends/cuda/trial.h), for the life of this.
class TrialGuard {
 public:
  explicit TrialGuard(const char* kernels) { setenv("ATTN_CUDA_TRIAL", kernels, 1); }
  ~TrialGuard() { unsetenv("ATTN_CUDA_TRIAL"); }
  TrialGuard(const TrialGuard&) = delete;
  TrialGuard& operator=(const TrialGuard&) = delete;
};

}  // namespace attn::test
