// A validator for the part of JSON Schema that docs/schemas uses.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace attn::test {

/// Validates `value` and returns the problems, each as "/rows/0/ms: …"; none if it is valid. Supports type, const,
/// enum, required, properties, additionalProperties (a boolean or a schema), items, minItems, minimum, anyOf and $ref
/// within the file ("#/$defs/…"). An unknown keyword is a problem, so that no rule is ignored. For a valid value,
/// `seen` receives the parts of the schema that were used, named as in schema_parts.
[[nodiscard]] std::vector<std::string> schema_errors(const nlohmann::json& schema, const nlohmann::json& value,
                                                     std::set<std::string>* seen = nullptr);

/// All subschemas and all alternatives of a type, an enum or an anyOf, as JSON pointers: "/properties/batch",
/// "/properties/seq_len/type/1".
[[nodiscard]] std::set<std::string> schema_parts(const nlohmann::json& schema);

}  // namespace attn::test
