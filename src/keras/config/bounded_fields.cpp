#include "config/bounded_fields.h"

namespace attn::keras {

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
