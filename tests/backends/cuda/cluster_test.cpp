// The emulator's clusters. It must report faulty kernels, so that its silence can be trusted.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "device.h"
#include "ptx.h"
#include "runtime.h"
#include "simt.h"

namespace attn::cuda {
namespace {

enum class Fault { none, does_not_meet, does_not_meet_again, one_thread_ends, does_not_wait };

/// Each block shows its number to the next one, around a ring.
void show(Fault fault, unsigned* seen) {
  if (fault != Fault::does_not_wait) wait_for_previous_kernel();
  if (fault == Fault::one_thread_ends && threadIdx.x == 31) return;
  unsigned* const mine = shared_memory<unsigned>();
  if (threadIdx.x == 0) *mine = blockIdx.x + 100;
  if (fault != Fault::does_not_meet) ptx::meet_cluster();
  const unsigned next = (ptx::rank_in_cluster() + 1) % 4;
  if (threadIdx.x == 0) seen[blockIdx.x] = *ptx::of_block(mine, next);
  if (fault != Fault::does_not_meet_again) ptx::meet_cluster();
}

const std::vector<unsigned> kExpected{101, 102, 103, 100, 105, 106, 107, 104};

std::vector<unsigned> run(Fault fault) {
  const Stream stream = make_stream();
  std::vector<unsigned> seen(8);
  const LaunchShape shape{.grid = dim3(8), .block = dim3(32), .shared_bytes = 4, .cluster = 4};
  const cudaError_t error = launch(show, shape, stream.get(), fault, seen.data());  // may throw
  REQUIRE(error == cudaSuccess);
  return seen;
}

std::string what_is_told(Fault fault) {
  try {
    (void)run(fault);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("emulator: the blocks of a cluster run at once and read each other's shared memory") {
  for (int schedule = 0; schedule < 4; ++schedule) CHECK(run(Fault::none) == kExpected);
}

TEST_CASE("emulator: a cluster without a barrier between its blocks is reported, or computes wrong results") {
  bool is_wrong = false, is_told = false;
  for (int schedule = 0; schedule < 4; ++schedule) {
    is_wrong = run(Fault::does_not_meet) != kExpected || is_wrong;
    is_told = what_is_told(Fault::does_not_meet_again).starts_with("the shared memory of a block that has") || is_told;
  }
  CHECK(is_wrong);
  CHECK(is_told);
  CHECK(what_is_told(Fault::one_thread_ends) == "a thread of a cluster that meets has ended");
  CHECK(what_is_told(Fault::does_not_wait) == "a thread of a kernel has ended without waiting for the kernel ahead");
}

TEST_CASE("emulator: a cluster that the GPU cannot schedule is rejected") {
  const unsigned clusters = simt::machine().cluster;
  simt::machine().cluster = 2;
  const LaunchShape shape{.grid = dim3(8), .block = dim3(32), .shared_bytes = 4, .cluster = 4};
  CHECK_FALSE(can_be_launched(show, shape));
  CHECK(launch(show, shape, nullptr, Fault::none, nullptr) == cudaErrorInvalidConfiguration);
  simt::machine().cluster = clusters;
  CHECK(can_be_launched(show, shape));
  CHECK(launch(show, {.grid = dim3(6), .block = dim3(32), .shared_bytes = 4, .cluster = 4}, nullptr, Fault::none,
               nullptr) == cudaErrorInvalidConfiguration);
}

}  // namespace attn::cuda
