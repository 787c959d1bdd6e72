// Encodings of categories (encode_categorical_inputs in keras/src/utils/numerical_utils.py).
#pragma once

#include <optional>
#include <string_view>

#include "attn/graph/graph.h"
#include "config/fields.h"

namespace attn::keras {

/// The output modes; the second constant counts the first ones, which need no weights of terms.
inline constexpr std::string_view kModes[] = {"int", "one_hot", "multi_hot", "count", "tf_idf"};

/// The output modes of lookup layers, with their older names.
struct LookupMode {
  std::string value = "int";
  [[nodiscard]] bool in_rows() const { return value != "int"; }
};
void read_field(const Ref& ref, LookupMode& mode, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const LookupMode& mode, Version version);

/// Returns the indices, or vectors of `depth` numbers: one-hot for each index, multi-hot for a row, or the counts in a
/// row.
[[nodiscard]] graph::ValueId encoded(graph::Builder& b, graph::ValueId index, std::string_view mode, Dim depth,
                                     DType dtype, std::optional<graph::ValueId> weights = {});

/// Rejects `sparse` and `ragged` if a config enables them.
void refuse_sparse(Fields& f, bool sparse);

}  // namespace attn::keras
