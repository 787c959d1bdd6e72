// Formats numbers for people. JSON has them in full precision (attn/report/json.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::report {

/// Formats with six significant digits: "0.1", "1.23457e-05", "-3", "inf", "nan".
[[nodiscard]] std::string number(double value);

/// Formats a measured value with three significant digits, without an exponent and with commas: "0.0123", "9.99",
/// "12.3", "1,234".
[[nodiscard]] std::string measured(double value);

/// Formats a time in seconds: "812 ns", "12.3 µs", "4.56 ms", "1.23 s", "2 min 05 s".
[[nodiscard]] std::string duration(double seconds);

/// Formats a value with a decimal prefix: (1.234e9, "FLOP/s") is "1.23 GFLOP/s".
[[nodiscard]] std::string prefixed(double value, std::string_view unit);

/// Formats a number of bytes with binary prefixes, as Keras does: "4.01 MB". A negative number means an unknown size:
/// "-".
[[nodiscard]] std::string byte_size(std::int64_t bytes);

/// Formats a count with its unit, in the plural unless it is 1: "1 step", "1,234 steps".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view what);
/// Formats a count with the form of its unit that follows one, or more: "2 activations into their products".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view one, std::string_view more);

/// Formats a ratio as a percentage: 0.123 is "12.3%".
[[nodiscard]] std::string percent(double share);

}  // namespace attn::report
