// The attention kernels on a real GPU, over the emulator's table of problems, with one case per kernel and dtype.
// The script bench/gpu/check runs each case in its own process, so that a hanging one names its problem and does not
// stop the others.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "attention_cases.h"
#include "attention_check.h"

namespace attn::cuda {
namespace {

/// The number of problems that the kernel takes; 0 without a GPU.
AttentionCount check(std::string_view kernel, DType dtype, const Device& device) {
  // Problems that take gigabytes run once per kernel.
  const bool heavy = dtype == DType::bfloat16 || (kernel == "flash fma" && dtype == DType::float32);
  return check_attention(kernel, {dtype}, {.runs = kernel == "plain" ? 2 : 20, .heavy = heavy, .tells = true}, device);
}

bool has_gpu() {
  int count = 0;
  const bool has = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (!has) fmt::print("gpu cases skipped: {} attention problems of a kernel\n", attention_cases().size());
  return has;
}

void check_plain(DType dtype) {
  if (has_gpu()) CHECK(check("plain", dtype, Device(0)).declined == 0);
}

void check_mma(DType dtype) {
  if (has_gpu()) CHECK(check("flash mma", dtype, Device(0)).declined == 3);
}

void check_split(DType dtype) {
  if (has_gpu()) CHECK(check("flash split", dtype, Device(0)).taken == kTakenBySplit);
}

/// On Hopper it takes the same problems as on the emulator; elsewhere it takes none.
void check_sm90(DType dtype) {
  if (!has_gpu()) return;
  const Device device(0);
  const bool has_heavy = dtype == DType::bfloat16 && std::getenv("ATTN_TEST_BRIEF") == nullptr;
  const int expected = device.architecture() == 90 ? kTakenBySm90 + (has_heavy ? kHeavyTakenBySm90 : 0) : 0;
  CHECK(check("flash sm90", dtype, device).taken == expected);
}

}  // namespace

TEST_CASE("gpu: the attention kernel plain in float64 gives what double loops give") { check_plain(DType::float64); }
TEST_CASE("gpu: the attention kernel plain in float32 gives what double loops give") { check_plain(DType::float32); }
TEST_CASE("gpu: the attention kernel plain in float16 gives what double loops give") { check_plain(DType::float16); }
TEST_CASE("gpu: the attention kernel plain in bfloat16 gives what double loops give") { check_plain(DType::bfloat16); }
TEST_CASE("gpu: the attention kernel flash fma in float32 gives what double loops give") {
  if (has_gpu()) CHECK(check("flash fma", DType::float32, Device(0)).declined == 1);
}
TEST_CASE("gpu: the attention kernel flash split in float32 gives what double loops give") {
  check_split(DType::float32);
}
TEST_CASE("gpu: the attention kernel flash split in float16 gives what double loops give") {
  check_split(DType::float16);
}
TEST_CASE("gpu: the attention kernel flash split in bfloat16 gives what double loops give") {
  check_split(DType::bfloat16);
}
TEST_CASE("gpu: the attention kernel flash mma in float16 gives what double loops give") { check_mma(DType::float16); }
TEST_CASE("gpu: the attention kernel flash mma in bfloat16 gives what double loops give") {
  check_mma(DType::bfloat16);
}
TEST_CASE("gpu: the attention kernel flash sm90 in float16 gives what double loops give") {
  check_sm90(DType::float16);
}
TEST_CASE("gpu: the attention kernel flash sm90 in bfloat16 gives what double loops give") {
  check_sm90(DType::bfloat16);
}
}  // namespace attn::cuda
