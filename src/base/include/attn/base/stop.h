// Cooperative cancellation of long work: a forward pass, the drawing of weights.
#pragma once

#include <mutex>

namespace attn {

/// Thrown by work that was asked to stop. Not derived from Error, because nothing is wrong.
struct Stopped {};

/// Asks all work in this process to stop, until take_back_stop. Async-signal-safe.
void request_stop() noexcept;
void take_back_stop() noexcept;
[[nodiscard]] bool stop_requested() noexcept;

/// Suspends cancellation during its lifetime, for ranks: none may leave while others wait for it. The ranks agree on
/// when to stop. One instance at a time.
class NoStopGuard {
 public:
  NoStopGuard() noexcept;
  ~NoStopGuard();
  NoStopGuard(const NoStopGuard&) = delete;
  NoStopGuard& operator=(const NoStopGuard&) = delete;
};
[[nodiscard]] bool stops_are_suspended() noexcept;

/// While an object lives, its thread changes the state that a checkpoint stores: weights, the optimizer, counts. One
/// object at a time.
class StateChangeGuard {
 public:
  StateChangeGuard();
  ~StateChangeGuard();
  StateChangeGuard(const StateChangeGuard&) = delete;
  StateChangeGuard& operator=(const StateChangeGuard&) = delete;
};
/// While an object lives, its thread only computes, and another thread may read the state that a checkpoint stores.
/// Does nothing outside of StateChangeGuard.
class ComputeGuard {
 public:
  ComputeGuard();
  ~ComputeGuard();
  ComputeGuard(const ComputeGuard&) = delete;
  ComputeGuard& operator=(const ComputeGuard&) = delete;

 private:
  bool releases_;
};
/// Tries to lock the state against changes. The lock owns nothing if another thread is changing the state.
[[nodiscard]] std::unique_lock<std::mutex> try_lock_state();

/// Work calls this every few milliseconds. Throws Stopped.
inline void throw_if_stopped() {
  if (stop_requested() && !stops_are_suspended()) throw Stopped();
}

}  // namespace attn
