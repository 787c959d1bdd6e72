// JSON Schema, as much of it as docs/schemas uses.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attn::test {

/// What is wrong with `value` by `schema`, each as "/rows/0/ms: …"; nothing where it is valid. Knows type, const, enum,
/// required, properties, additionalProperties (a boolean or a schema), items, minItems, minimum, anyOf and $ref into
/// the same file ("#/$defs/…"); an unknown keyword is an error, so that no rule goes unheeded.
[[nodiscard]] std::vector<std::string> schema_errors(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace attn::test
