// Encodings of categories (encode_categorical_inputs in keras/src/utils/numerical_utils.py).
#pragma once

#include <optional>
#include <string_view>

#include "attn/graph/graph.h"
#include "config/fields.h"

namespace attn::keras {

/// The output modes; each class supports some of them.
inline constexpr std::string_view kModes[] = {"int", "one_hot", "multi_hot", "count", "tf_idf"};

/// The output modes of lookup layers, with their names in older versions.
struct LookupMode {
  std::string value = "int";
  [[nodiscard]] bool in_rows() const { return value != "int"; }
};
void read_field(const Ref& ref, LookupMode& mode, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const LookupMode& mode, Version version);

/// Encodes indices in an output mode. They stay indices, or become vectors of `depth` numbers: one-hot for each index,
/// multi-hot or counts for a row.
[[nodiscard]] graph::ValueId encoded(graph::Builder& b, graph::ValueId index, std::string_view mode, Dim depth,
                                     DType dtype, std::optional<graph::ValueId> weights = {});

/// Throws Error (bad_input) if a config enables `sparse` or `ragged`.
void refuse_sparse(Fields& f, bool sparse);

}  // namespace attn::keras
