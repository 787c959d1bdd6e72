// Threads of our own. oneDNN's libgomp waits at barriers for every thread, and one that the system has put aside for
// other work costs milliseconds; here work is taken piece by piece and the caller works too. oneDNN is called by each
// thread for its piece and uses no threads itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace attn::backends::cpu {

/// Threads that wait for work: for about a millisecond awake, then asleep.
class Pool {
 public:
  /// `threads` with the caller's, at least 1. Throws Error (no_memory) where the system does not give as many.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  using Body = void (*)(void* context, std::int64_t i, int thread);
  /// body(context, i, thread) for every i < count, in no order, on up to `threads` threads. Each thread begins with a
  /// range of its own, the same in every call of this count, so that it finds in its cache what it left there; who is
  /// done helps the others. One caller at a time; body must not throw or call this.
  void run(std::int64_t count, int threads, Body body, void* context);

 private:
  void serve(int thread);
  /// Until the epoch is another than `seen`.
  void wait(std::uint32_t seen) const;
  void end();
  void take_pieces(int thread);

  /// What is left of a thread's pieces.
  struct alignas(64) Range {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };

  // Odd while a job is open. A worker that is `inside_` and then still finds the epoch that woke it may read the job,
  // which lies in the epoch's line of the cache: one line comes to the worker, and no other's writes take it away.
  alignas(64) std::atomic<std::uint32_t> epoch_ = 0;
  int threads_ = 1;
  Body body_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<int> inside_ = 0;
  alignas(64) std::atomic<bool> stop_ = false;
  std::vector<Range> ranges_;
  std::vector<std::thread> workers_;
};

/// How many threads of a pool a kernel uses.
struct Team {
  Pool* pool = nullptr;
  int threads = 1;
};

/// The threads that a machine gives by default.
[[nodiscard]] int default_threads();

/// Keeps oneDNN in this thread to one thread while it lives.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// f(i, thread) for every i < count. `thread` < team.threads tells scratch apart. f must not throw.
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

/// f(begin, end) for consecutive parts of [0, size), a few for each thread.
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
