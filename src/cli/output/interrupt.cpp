#include "output/interrupt.h"

#include <semaphore.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <utility>

#include "attn/base/stop.h"
#include "attn/io/atomic_file.h"

namespace attn::cli {
namespace {

constexpr std::array kAsking = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noting = 0;  // whether an Interrupt exists
volatile std::sig_atomic_t noted = 0;
volatile std::sig_atomic_t pipes_may_close = 0;
std::atomic<std::int64_t> noted_at = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// Wakes the thread that ends the program if work does not stop.
sem_t woken;
std::atomic<bool> watched = false, ended = false;

/// The time for which a stop is awaited.
constexpr std::int64_t kGrace = 1500;  // milliseconds

/// timeout(1) sends a signal to the process and to its group: two signals within this time are one request.
constexpr std::int64_t kOneRequest = 50;  // milliseconds

std::int64_t milliseconds() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

/// Blocks the signals that request an end, in this thread and in threads that it starts. Returns the previous mask.
sigset_t block_signals() noexcept {
  sigset_t asking, before;
  sigemptyset(&asking);
  for (const int which : kAsking) sigaddset(&asking, which);
  ::pthread_sigmask(SIG_BLOCK, &asking, &before);
  return before;
}

/// Ends the program by the signal itself, so that the parent sees it: Ctrl-C then ends a shell's loop, and set -e
/// works.
void end_by(int which) {
  io::remove_temporaries();
  std::signal(which, SIG_DFL);
  raise(which);
}

extern "C" void on_signal(int which) {
  if (which == SIGPIPE && pipes_may_close != 0) return;
  if (noting != 0 && which != SIGPIPE) {
    if (noted != 0 && milliseconds() - noted_at < kOneRequest) return;
    if (noted == 0) {
      noted_at = milliseconds();
      noted = which;
      request_stop();
      if (watched) sem_post(&woken);
      return;
    }
  }
  end_by(which);
}

void handle(int which) noexcept {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(which, &action, nullptr);
}

}  // namespace

void end_cleanly_on_signals() noexcept {
  handle(SIGPIPE);
  std::signal(SIGXFSZ, SIG_IGN);  // the write then fails, and its error names the file that is too large
  for (const int which : kAsking) {
    struct sigaction before {};
    if (sigaction(which, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) handle(which);
  }
}

BrokenPipeGuard::BrokenPipeGuard() noexcept { pipes_may_close = 1; }

BrokenPipeGuard::~BrokenPipeGuard() { pipes_may_close = 0; }

Interrupt::Interrupt(WaitForWork) {
  noted = 0;
  noting = 1;
}

Interrupt::Interrupt(std::function<void()> keep) : keep_(std::move(keep)) {
  noted = 0;
  ended = false;
  if (sem_init(&woken, 0, 0) == 0) {
    try {
      watcher_ = std::thread([this] { watch(); });
      watched = true;
      // Only the watcher receives these signals: a handler that interrupts oneDNN's generated code damages its memory.
      mask_before_ = block_signals();
    } catch (const std::system_error&) {  // without the thread, work stops on its own or at the second signal
    }
  }
  noting = 1;
}

Interrupt::~Interrupt() {
  noting = 0;
  ended = true;
  if (watched.exchange(false)) {
    sem_post(&woken);
    watcher_.join();
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  take_back_stop();
}

void Interrupt::watch() const {
  while (sem_wait(&woken) != 0) {
  }
  constexpr std::chrono::milliseconds kLook{20};
  const auto wait_until = [&](const auto& is_so) {
    while (!ended && !is_so()) std::this_thread::sleep_for(kLook);
  };
  const std::int64_t asked = milliseconds();
  wait_until([&] { return milliseconds() - asked >= kGrace; });
  if (!keep_ && !ended) return end_by(noted);
  std::unique_lock<std::mutex> held;
  wait_until([&] {
    held = try_lock_state();
    return held.owns_lock();
  });
  if (ended) return;
  keep_();
  io::remove_temporaries();
  std::_Exit(exit_code());
}

int Interrupt::signal() { return noted; }

}  // namespace attn::cli
