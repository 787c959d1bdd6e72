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

void number(Fields& f, std::string_view key, double& value, const Bounds& bounds) {
  if (const auto ref = f.take(key)) value = number_in(*ref, bounds);
}

void number(Fields& f, std::string_view key, Number& value, const Bounds& bounds) {
  number(f, key, value.value, bounds);
}

void number(Fields& f, std::string_view key, std::optional<double>& value, const Bounds& bounds) {
  const auto ref = f.take(key);
  if (!ref) return;
  value.reset();
  if (!ref->is_null()) value = number_in(*ref, bounds);
}

void integer(Fields& f, std::string_view key, std::int64_t& value, std::int64_t least, std::int64_t most) {
  if (const auto ref = f.take(key)) value = integer_in(*ref, least, most);
}

void integer(Fields& f, std::string_view key, std::optional<std::int64_t>& value, std::int64_t least,
             std::int64_t most) {
  const auto ref = f.take(key);
  if (!ref) return;
  value.reset();
  if (!ref->is_null()) value = integer_in(*ref, least, most);
}

}  // namespace attn::keras
