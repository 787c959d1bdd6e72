#include "config/bounds.h"

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

}  // namespace attn::keras
