// The attention kernels themselves on a real GPU, over the table of problems that the emulator runs: a case for each
// kernel and dtype, which bench/gpu/check runs in a process of its own, so that one that hangs names its problem and
// costs no other.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "attention_cases.h"
#include "attention_check.h"

namespace attn::cuda {
namespace {

/// Problems that the kernel takes; none where there is no GPU.
AttentionCount check(std::string_view kernel, DType dtype, const Device& device) {
  // What takes gigabytes, once a kernel.
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

/// On Hopper it takes what the emulator says that it takes, and elsewhere nothing.
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
