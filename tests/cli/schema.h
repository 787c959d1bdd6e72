// JSON Schema, as much of it as docs/schemas uses.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace attn::test {

/// What is wrong with `value` by `schema`, each as "/rows/0/ms: …"; nothing where it is valid. Knows type, const, enum,
/// required, properties, additionalProperties (a boolean or a schema), items, minItems, minimum, anyOf and $ref into
/// the same file ("#/$defs/…"); an unknown keyword is an error, so that no rule goes unheeded.
/// `seen` gets the parts of the schema that the value, where it is valid, was held against, as schema_parts names them.
[[nodiscard]] std::vector<std::string> schema_errors(const nlohmann::json& schema, const nlohmann::json& value,
                                                     std::set<std::string>* seen = nullptr);

/// Every schema within the schema, and every alternative of a type, an enum or an anyOf, as JSON pointers:
/// "/properties/batch", "/properties/seq_len/type/1".
[[nodiscard]] std::set<std::string> schema_parts(const nlohmann::json& schema);

}  // namespace attn::test
