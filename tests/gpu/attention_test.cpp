// The attention kernels themselves on a real GPU, over the table of problems that the emulator runs.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "attention_cases.h"
#include "attention_check.h"

namespace attn::cuda {
namespace {

bool has_gpu() {
  int count = 0;
  const bool has = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (!has) fmt::print("gpu cases skipped: {} attention problems for every kernel\n", attention_cases().size());
  return has;
}

}  // namespace

TEST_CASE("gpu: every attention kernel gives what double loops give, on every problem that it takes") {
  if (!has_gpu()) return;
  const Device device(0);
  const bool is_brief = std::getenv("ATTN_TEST_BRIEF") != nullptr;
  CHECK(check_attention("plain", {DType::float64, DType::float32, DType::float16, DType::bfloat16}, 2, device) == 0);
  CHECK(check_attention("flash fma", {DType::float32}, 20, device) == 1);
  CHECK(check_attention("flash mma", {DType::float16, DType::bfloat16}, 20, device) == (is_brief ? 3 : 6));
  check_attention("flash sm90", {DType::float16, DType::bfloat16}, 20, device);
}

}  // namespace attn::cuda
