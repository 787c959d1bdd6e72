#include "attn/text/decimals.h"

#include <cmath>
#include <limits>

#include "attn/base/error.h"

namespace attn::text {
namespace {

template <typename T>
std::vector<std::string> decimals_as(const Tensor& numbers) {
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(numbers.size()));
  for (const T number : numbers.as<T>()) out.push_back(std::to_string(number));
  return out;
}

/// Casts a float to int64; outside its range the result is the smallest int64, as on x86-64.
std::int64_t truncated(double number) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63, the first number too large for int64
  const double whole = std::trunc(number);
  return whole >= -kEnd && whole < kEnd ? static_cast<std::int64_t>(whole) : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

TextArray decimals_of(const Tensor& numbers) {
  TextArray out{numbers.shape(), {}};
  switch (numbers.dtype()) {
    case DType::boolean:
      throw bad_input("numbers are hashed, not bool");
    case DType::int64:
      out.values = decimals_as<std::int64_t>(numbers);
      return out;
    case DType::uint64:
      out.values = decimals_as<std::uint64_t>(numbers);
      return out;
    default:  // double represents all other dtypes exactly
      for (std::int64_t i = 0; i < numbers.size(); ++i) out.values.push_back(std::to_string(truncated(numbers.at(i))));
      return out;
  }
}

}  // namespace attn::text
