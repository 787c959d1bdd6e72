// Categories as numbers (keras/src/utils/numerical_utils.py, encode_categorical_inputs).
#pragma once

#include <optional>
#include <string_view>

#include "attn/graph/graph.h"
#include "config/fields.h"

namespace attn::keras {

/// The output modes, and how many of them, from the first, are of layers that hold no weights for terms.
inline constexpr std::string_view kModes[] = {"int", "one_hot", "multi_hot", "count", "tf_idf"};

/// The modes of lookups, and their older names.
struct LookupMode {
  std::string value = "int";
  [[nodiscard]] bool in_rows() const { return value != "int"; }
};
void read_field(const Ref& ref, LookupMode& mode, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const LookupMode& mode, Version version);

/// Indices as they are, or as rows of `depth` numbers: 1 at each index, at all of a row, or how often they occur in it.
[[nodiscard]] graph::ValueId encoded(graph::Builder& b, graph::ValueId index, std::string_view mode, Dim depth,
                                     DType dtype, std::optional<graph::ValueId> weights = {});

/// Refuses `sparse` and `ragged`, where a config asks for them.
void refuse_sparse(Fields& f, bool sparse);

}  // namespace attn::keras
