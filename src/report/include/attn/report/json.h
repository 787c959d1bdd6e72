// Values as JSON text: the one place where it is written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attn/base/shape.h"
#include "attn/base/size.h"

namespace attn::report {

/// Members keep the order in which they were set.
using Json = nlohmann::ordered_json;

/// A count of any size, written in all its digits.
[[nodiscard]] Json json_integer(UInt128 value);

/// A text; bytes that are not UTF-8 are written as `\x..`.
[[nodiscard]] Json json_text(std::string_view text);

/// [null, 50, 512]
[[nodiscard]] Json json_shape(const Shape& shape);

/// Two blanks per level, lists of plain values on one line, a newline at the end. Numbers are the shortest that read
/// back the same; a float keeps its point or exponent. NaN and infinities, which JSON lacks, are null. Characters that
/// are not safe to print are escaped, so that a reader gets them and a terminal does not.
[[nodiscard]] std::string json_document(const Json& json);

/// The same on one line.
[[nodiscard]] std::string json_line(const Json& json);

}  // namespace attn::report
