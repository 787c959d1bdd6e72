// JSON output. All JSON is written here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/size.h"

namespace attn::report {

/// A JSON value whose members keep their insertion order.
using Json = nlohmann::ordered_json;

/// Returns a count of any size, with all digits.
[[nodiscard]] Json json_integer(UInt128 value);

/// Returns a string; bytes that are not UTF-8 are written as `\x..`.
[[nodiscard]] Json json_text(std::string_view text);

/// Returns a shape as a list: [null, 50, 512].
[[nodiscard]] Json json_shape(const Shape& shape);

/// Returns a number; a list if there are several.
[[nodiscard]] Json json_numbers(const std::vector<double>& numbers);

/// Formats with an indent of two spaces, lists of scalars on one line, and a newline at the end. Numbers have the
/// fewest digits that read back exactly; a float keeps its point or exponent. NaN and infinities, which JSON lacks,
/// become null. Characters that are unsafe for terminals are escaped.
[[nodiscard]] std::string json_document(const Json& json);

/// Formats as json_document() does, on one line.
[[nodiscard]] std::string json_line(const Json& json);

}  // namespace attn::report
