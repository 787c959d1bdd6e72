#include "status.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "attn/base/error.h"

namespace attn::cuda {
namespace {

std::atomic<bool> gpu_lost = false;

/// Polls until the work is done. Most work finishes before the first pause.
template <typename Ask>
cudaError_t answer(const Ask& ask, double seconds, std::string_view doing) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kEager(10);
  constexpr std::chrono::microseconds kPause(100);
  const Clock::time_point from = Clock::now();
  for (;;) {
    const cudaError_t state = ask();
    if (state != cudaErrorNotReady) return state;
    const auto passed = Clock::now() - from;
    if (std::chrono::duration<double>(passed).count() > seconds) break;
    if (passed > kEager) std::this_thread::sleep_for(kPause);
  }
  gpu_lost = true;
  throw Error(ExitCode::no_device,
              fmt::format("cuda: {}: not finished after {:.3g} s, so attn stopped waiting; a kernel that does not "
                          "end is a bug in attn, unless other processes keep the GPU busy",
                          doing, seconds));
}

}  // namespace

cudaError_t status_of(cudaStream_t stream, double seconds, std::string_view doing) {
  return answer([stream] { return cudaStreamQuery(stream); }, seconds, doing);
}
cudaError_t status_of(cudaEvent_t event, double seconds, std::string_view doing) {
  return answer([event] { return cudaEventQuery(event); }, seconds, doing);
}

bool is_gpu_lost() noexcept { return gpu_lost; }

}  // namespace attn::cuda
