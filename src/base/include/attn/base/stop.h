// A word to long work that it should end: a forward pass, the drawing of weights.
#pragma once

namespace attn {

/// Thrown by work that ends early because it was asked to. No Error: nothing is wrong.
struct Stopped {};

/// Asks all work in this process to end, until take_back_stop. May be called by a signal handler.
void request_stop() noexcept;
void take_back_stop() noexcept;
[[nodiscard]] bool stop_requested() noexcept;

/// For work to call every few milliseconds. Throws Stopped.
inline void throw_if_stopped() {
  if (stop_requested()) throw Stopped();
}

}  // namespace attn
