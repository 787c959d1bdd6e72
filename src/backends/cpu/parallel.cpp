#include "parallel.h"

#include <omp.h>

#include <new>
#include <system_error>

#include "attn/base/error.h"

namespace attn::backends::cpu {
namespace {

/// Spins before the first sched_yield: about 10 microseconds.
constexpr int kSpins = 300;
/// Rounds of spinning with sched_yield that follow. While a job is open there are twice as many, a few hundred
/// microseconds, because the next job follows directly. Between jobs, the single-threaded work is shorter than that,
/// including the optimizer's step. Waking a sleeping thread costs tens of microseconds, some of them in the calling
/// thread. Longer spinning would waste CPU time under load.
constexpr int kRoundsOfOpen = 200, kRoundsBetween = 100, kSpinsOfRound = 60;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

int default_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

Pool::Pool(int threads) : ranges_(static_cast<std::size_t>(threads)) {
  try {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { serve(thread); });
  } catch (const std::system_error&) {
    const std::size_t started = workers_.size() + 1;
    end();
    throw Error(ExitCode::no_memory,
                fmt::format("{} threads cannot be started, only {}; ask for fewer", threads, started));
  } catch (const std::bad_alloc&) {
    end();
    throw;
  }
}

Pool::~Pool() { end(); }

void Pool::end() {
  stop_ = true;
  epoch_ += 2;
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::run(std::int64_t count, int threads, Body body, void* context) {
  threads_ = threads;
  for (int thread = 0; thread < threads; ++thread) {
    Range& range = ranges_[static_cast<std::size_t>(thread)];
    range.next = count * thread / threads;
    range.end = count * (thread + 1) / threads;
  }
  body_ = body;
  context_ = context;
  ++epoch_;
  epoch_.notify_all();
  take_pieces(0);
  ++epoch_;
  for (int spins = 0; inside_ != 0; ++spins) {
    if (spins < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void Pool::wait(std::uint32_t seen) const {
  for (int spins = 0; spins < kSpins && epoch_ == seen; ++spins) pause();
  const int rounds = seen % 2 == 1 ? kRoundsOfOpen : kRoundsBetween;
  for (int round = 0; round < rounds && epoch_ == seen; ++round) {
    std::this_thread::yield();
    for (int spins = 0; spins < kSpinsOfRound && epoch_ == seen; ++spins) pause();
  }
  epoch_.wait(seen);
}

void Pool::serve(int thread) {
  const OneThread scope;
  std::uint32_t seen = 0;
  while (true) {
    wait(seen);
    seen = epoch_;  // read before stop_, which end() sets first: a worker must not wait for the last epoch
    if (stop_) return;
    if (seen % 2 == 0) continue;
    ++inside_;
    if (epoch_ == seen && thread < threads_) take_pieces(thread);
    --inside_;
  }
}

void Pool::take_pieces(int thread) {
  for (int k = 0; k < threads_; ++k) {
    Range& range = ranges_[static_cast<std::size_t>((thread + k) % threads_)];
    for (std::int64_t i = range.next++; i < range.end; i = range.next++) body_(context_, i, thread);
  }
}

}  // namespace attn::backends::cpu
