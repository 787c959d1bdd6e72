// Numeric fields of a config, each with the range that it may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/bounds.h"
#include "config/fields.h"

namespace attn::keras {

/// Fields of a config, as Fields reads them, with bounds. Keras writes null where an optional has no value.
void number(Fields& f, std::string_view key, double& value, const Bounds& bounds);
void number(Fields& f, std::string_view key, Number& value, const Bounds& bounds);
void number(Fields& f, std::string_view key, std::optional<double>& value, const Bounds& bounds);
void integer(Fields& f, std::string_view key, std::int64_t& value, std::int64_t least, std::int64_t most);
void integer(Fields& f, std::string_view key, std::optional<std::int64_t>& value, std::int64_t least,
             std::int64_t most);

}  // namespace attn::keras
