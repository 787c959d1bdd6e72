#include "attn/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace attn {

void for_each_part(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;  // set by the thread that set `failed`
  const auto run = [&] {
    try {
      for (std::int64_t part = next++; part < count && !failed; part = next++) work(part);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  const std::int64_t wanted = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  helpers.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(std::min(wanted, count) - 1, 0, 1 << 16)));
  try {
    while (helpers.size() < helpers.capacity()) helpers.emplace_back(run);
  } catch (const std::system_error&) {  // the system has no more threads
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attn
