// Number fields of a config with their valid ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/bounds.h"
#include "config/fields.h"

namespace attn::keras {

/// Reads or writes fields with bounds. Keras writes null for an empty optional.
void number(Fields& f, std::string_view key, double& value, const Bounds& bounds);
void number(Fields& f, std::string_view key, Number& value, const Bounds& bounds);
void number(Fields& f, std::string_view key, std::optional<double>& value, const Bounds& bounds);
void integer(Fields& f, std::string_view key, std::int64_t& value, std::int64_t least, std::int64_t most);
void integer(Fields& f, std::string_view key, std::optional<std::int64_t>& value, std::int64_t least,
             std::int64_t most);

}  // namespace attn::keras
