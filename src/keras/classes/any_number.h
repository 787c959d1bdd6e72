// A number field that may be NaN or infinite, such as a bound or a fill value.
#pragma once

#include "attn/base/whole_number.h"
#include "config/any_number.h"
#include "config/fields.h"

namespace attn::keras {

struct AnyNumber : Number {
  using Number::Number;
};

inline void read_field(const Ref& ref, AnyNumber& value, std::vector<std::string>& /*warnings*/) {
  value.value = any_number(ref);
  value.integral = ref.is_integer() && whole_number(value);
}

inline Json write_field(const AnyNumber& value, Version /*version*/) {
  return value.integral ? Json(static_cast<std::int64_t>(value.value)) : Json(value.value);
}

}  // namespace attn::keras
