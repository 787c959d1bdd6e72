// A word to long work that it should end: a forward pass, the drawing of weights.
#pragma once

namespace attn {

/// Thrown by work that ends early because it was asked to. No Error: nothing is wrong.
struct Stopped {};

/// Asks all work in this process to end, until take_back_stop. May be called by a signal handler.
void request_stop() noexcept;
void take_back_stop() noexcept;
[[nodiscard]] bool stop_requested() noexcept;

/// While one lives, work goes on: for ranks, of which none may leave while others wait for it. They agree on when to
/// end. For one at a time.
class StopHeld {
 public:
  StopHeld() noexcept;
  ~StopHeld();
  StopHeld(const StopHeld&) = delete;
  StopHeld& operator=(const StopHeld&) = delete;
};
[[nodiscard]] bool stop_is_held() noexcept;

/// For work to call every few milliseconds. Throws Stopped.
inline void throw_if_stopped() {
  if (stop_requested() && !stop_is_held()) throw Stopped();
}

}  // namespace attn
