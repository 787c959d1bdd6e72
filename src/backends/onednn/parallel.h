// Threads. oneDNN brings libgomp, so our loops use the same threads through OpenMP: two pools would fight for the
// cores.
#pragma once

#include <algorithm>
#include <cstdint>

namespace attn::backends::onednn {

/// The threads that a machine gives by default.
[[nodiscard]] int default_threads();

/// How many of `threads` are worth waking for `work` (floating-point operations or bytes): waking one costs some
/// microseconds, in which a core does about this much.
[[nodiscard]] inline int threads_for(double work, int threads) {
  constexpr double kWorkPerThread = 1e6;
  return std::clamp(static_cast<int>(work / kWorkPerThread), 1, threads);
}

/// Sets how many threads oneDNN uses while it lives, in this thread.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

/// body(context, i, thread) for every i < count, i in no order. `thread` < threads tells scratch apart.
void run_parallel(std::int64_t count, int threads, void (*body)(void*, std::int64_t, int), void* context);

/// f(i, thread) for every i < count on up to `threads` threads. f must not throw.
template <typename Function>
void parallel_for(std::int64_t count, int threads, Function&& f) {
  run_parallel(
      count, threads,
      [](void* context, std::int64_t i, int thread) {
        (*static_cast<std::remove_reference_t<Function>*>(context))(i, thread);
      },
      &f);
}

/// f(begin, end) for consecutive parts of [0, size), a part per thread or so.
template <typename Function>
void parallel_ranges(std::int64_t size, int threads, Function&& f) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(threads == 1 ? 1 : 4 * threads, 1, std::max<std::int64_t>(size, 1));
  parallel_for(parts, threads, [&](std::int64_t i, int) {
    const std::int64_t begin = size * i / parts, end = size * (i + 1) / parts;
    if (begin < end) f(begin, end);
  });
}

}  // namespace attn::backends::onednn
