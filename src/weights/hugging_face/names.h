// The names of KerasHub's weights in Hugging Face's files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/weight.h"
#include "attn/weights/name_table.h"

namespace attn::weights {

/// Returns the table for a backbone with these weights; null for a class that Hugging Face does not have, or that is
/// unsupported.
[[nodiscard]] const NameTable* find_names(std::span<const NameTable> tables, std::string_view backbone,
                                          std::span<const graph::WeightSpec> specs);

/// The row of a weight, and its numbers of blocks.
struct FoundName {
  const NameRow* row = nullptr;
  std::vector<std::string> blocks;
  /// Returns the name of the array without a prefix; if the row has experts, the name of the first expert's array.
  [[nodiscard]] std::string array() const { return arrays(0).front(); }
  /// Returns the names of an expert's arrays, whose features follow each other along Keras's last axis.
  [[nodiscard]] std::vector<std::string> arrays(Dim expert) const;
};
/// Returns the names of the arrays that follow each other along the first axis: for "self.{query,key}.weight",
/// "self.query.weight" and "self.key.weight".
[[nodiscard]] std::vector<std::string> alternatives(const std::string& array);
/// Returns the row of each weight; null for a weight that the table lacks.
[[nodiscard]] std::vector<FoundName> find_rows(const NameTable& table, std::span<const graph::WeightSpec> specs);

}  // namespace attn::weights
