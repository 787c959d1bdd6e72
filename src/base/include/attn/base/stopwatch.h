// Seconds between laps.
#pragma once

#include <chrono>
#include <utility>

namespace attn {

class Stopwatch {
 public:
  /// Returns the seconds since the last lap, or since the start.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(from_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

}  // namespace attn
