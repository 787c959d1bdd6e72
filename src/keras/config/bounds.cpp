#include "config/bounds.h"

#include <limits>

#include "attn/base/error.h"

namespace attn::keras {

double number_in(const Ref& ref, const Bounds& bounds) {
  const double number = ref.number();
  if (!bounds.hold(number)) ref.fail(fmt::format("expected {}, got {}", bounds.expected, number));
  return number;
}

std::int64_t integer_in(const Ref& ref, std::int64_t least, std::int64_t most) {
  const std::int64_t integer = ref.integer();
  if (integer < least || integer > most)
    ref.fail(fmt::format("expected an integer from {} to {}, got {}", least, most, integer));
  return integer;
}

std::int64_t scaled_size(std::int64_t size, double ratio) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  const double scaled = static_cast<double>(size) * ratio;
  if (!(scaled >= 0.0 && scaled <= kMost)) throw bad_input("{} times {} is no size from 0 to 2147483647", size, ratio);
  return static_cast<std::int64_t>(scaled);
}

}  // namespace attn::keras
