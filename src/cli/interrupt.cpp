#include "interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "attn/base/stop.h"
#include "attn/io/atomic_file.h"

namespace attn::cli {
namespace {

constexpr std::array kAsking = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noting = 0;  // does an Interrupt live?
volatile std::sig_atomic_t noted = 0;
volatile std::sig_atomic_t pipes_may_close = 0;
std::atomic<std::int64_t> noted_at = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// timeout(1) sends a signal to the process and to its group: two that are one.
constexpr std::int64_t kOneRequest = 50;  // milliseconds

std::int64_t milliseconds() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void on_signal(int which) {
  if (which == SIGPIPE && pipes_may_close != 0) return;
  if (noting != 0 && which != SIGPIPE) {
    if (noted != 0 && milliseconds() - noted_at < kOneRequest) return;
    if (noted == 0) {
      noted_at = milliseconds();
      noted = which;
      request_stop();
      return;
    }
  }
  io::remove_temporaries();
  // The parent sees the signal itself: a shell's loop ends with Ctrl-C, and set -e knows.
  std::signal(which, SIG_DFL);
  raise(which);
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
  std::signal(SIGXFSZ, SIG_IGN);  // the write says that the file has become too large
  for (const int which : kAsking) {
    struct sigaction before {};
    if (sigaction(which, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) handle(which);
  }
}

PipesMayClose::PipesMayClose() noexcept { pipes_may_close = 1; }

PipesMayClose::~PipesMayClose() { pipes_may_close = 0; }

Interrupt::Interrupt() {
  noted = 0;
  noting = 1;
}

Interrupt::~Interrupt() {
  noting = 0;
  take_back_stop();
}

int Interrupt::signal() { return noted; }

}  // namespace attn::cli
