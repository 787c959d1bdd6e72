#include "attn/base/stop.h"

#include <atomic>

namespace attn {
namespace {

std::atomic<bool> asked = false, held = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

std::mutex state;
thread_local bool changes_state = false;

}  // namespace

void request_stop() noexcept { asked.store(true, std::memory_order_relaxed); }
void take_back_stop() noexcept { asked.store(false, std::memory_order_relaxed); }
bool stop_requested() noexcept { return asked.load(std::memory_order_relaxed); }
bool stops_are_suspended() noexcept { return held.load(std::memory_order_relaxed); }

NoStopGuard::NoStopGuard() noexcept { held.store(true, std::memory_order_relaxed); }
NoStopGuard::~NoStopGuard() { held.store(false, std::memory_order_relaxed); }

StateChangeGuard::StateChangeGuard() {
  state.lock();
  changes_state = true;
}
StateChangeGuard::~StateChangeGuard() {
  changes_state = false;
  state.unlock();
}

ComputeGuard::ComputeGuard() : releases_(changes_state) {
  if (!releases_) return;
  changes_state = false;
  state.unlock();
}
ComputeGuard::~ComputeGuard() {
  if (!releases_) return;
  state.lock();
  changes_state = true;
}

std::unique_lock<std::mutex> try_lock_state() { return {state, std::try_to_lock}; }

}  // namespace attn
