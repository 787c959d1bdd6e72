// attn's own thread pool. oneDNN's libgomp waits at barriers for every thread, so a preempted thread costs
// milliseconds. Here threads take work items dynamically, and the calling thread works too. Each thread calls oneDNN
// for its own item, with oneDNN single-threaded.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace attn::backends::cpu {

/// Worker threads that spin for about a millisecond before they sleep.
class Pool {
 public:
  /// `threads` is at least 1 and includes the caller. Throws Error (no_memory) if the system cannot start that many.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  using Body = void (*)(void* context, std::int64_t i, int thread);
  /// Calls body(context, i, thread) for every i < count, in any order, on up to `threads` threads. Each thread begins
  /// with a range of its own. The range is the same in every call with this count, so that its data is in the thread's
  /// cache. Threads that finish early help the others. Only one caller at a time; `body` must not throw, and must not
  /// call run().
  void run(std::int64_t count, int threads, Body body, void* context);

 private:
  void serve(int thread);
  /// Waits until the epoch differs from `seen`.
  void wait(std::uint32_t seen) const;
  void end();
  void take_pieces(int thread);

  /// The items of a thread's range that remain.
  struct alignas(64) Range {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };

  // Odd while a job is open. A worker may read the job while it counts in `inside_` and the epoch is still the one that
  // woke it. The job is in the epoch's cache line: only one line is transferred to the worker, and writes of other
  // variables do not invalidate it.
  alignas(64) std::atomic<std::uint32_t> epoch_ = 0;
  int threads_ = 1;
  Body body_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<int> inside_ = 0;
  alignas(64) std::atomic<bool> stop_ = false;
  std::vector<Range> ranges_;
  std::vector<std::thread> workers_;
};

/// A pool, and the number of its threads that a kernel uses.
struct Team {
  Pool* pool = nullptr;
  int threads = 1;
};

/// Returns the machine's default number of threads.
[[nodiscard]] int default_threads();

/// Limits oneDNN to one thread in the current thread, while it exists.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Calls f(i, thread) for every i < count. `thread` < team.threads selects the scratch memory. f must not throw.
template <typename Function>
void parallel_for(std::int64_t count, const Team& team, Function&& f) {
  if (team.threads == 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) f(i, 0);
    return;
  }
  const auto body = [](void* context, std::int64_t i, int thread) {
    (*static_cast<std::remove_reference_t<Function>*>(context))(i, thread);
  };
  team.pool->run(count, team.threads, body, &f);
}

/// Calls f(begin, end) for consecutive parts of [0, size), several parts per thread.
template <typename Function>
void parallel_ranges(std::int64_t size, const Team& team, Function&& f) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(team.threads == 1 ? 1 : 4 * team.threads, 1, std::max<std::int64_t>(size, 1));
  parallel_for(parts, team, [&](std::int64_t i, int) {
    const std::int64_t begin = size * i / parts, end = size * (i + 1) / parts;
    if (begin < end) f(begin, end);
  });
}

}  // namespace attn::backends::cpu
