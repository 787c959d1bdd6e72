// How numbers are written for people. Programs get them whole, as JSON (attn/report/json.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::report {

/// Six significant digits: "0.1", "1.23457e-05", "-3", "inf", "nan".
[[nodiscard]] std::string number(double value);

/// Three significant digits without an exponent and with commas: "0.0123", "9.99", "12.3", "1,234". For measured
/// values.
[[nodiscard]] std::string measured(double value);

/// A time in seconds: "812 ns", "12.3 µs", "4.56 ms", "1.23 s", "2 min 05 s".
[[nodiscard]] std::string duration(double seconds);

/// A value with a prefix of 1000: (1.234e9, "FLOP/s") is "1.23 GFLOP/s".
[[nodiscard]] std::string prefixed(double value, std::string_view unit);

/// Bytes in steps of 1024, as Keras writes them: "4.01 MB". Below zero is an unknown size: "-".
[[nodiscard]] std::string byte_size(std::int64_t bytes);

/// "1 step", "1,234 steps".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view what);

/// A share as a percentage: 0.123 is "12.3%".
[[nodiscard]] std::string percent(double share);

}  // namespace attn::report
