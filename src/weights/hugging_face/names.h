// What Hugging Face's files call the weights of KerasHub's models.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/weight.h"
#include "hugging_face/name_row.h"

namespace attn::weights {

struct NameTable {
  std::string_view backbone;  ///< class
  std::string_view prefix;    ///< of the arrays where the file is of a model with a head: "transformer."
  std::span<const NameRow> rows;
  std::string_view mark = "";  ///< in the path of some weight of each model that the table is for
  int first_block = 0;         ///< the number that Keras gives to the first block
};

/// The table for a backbone with these weights; null for a class that Hugging Face does not have, or attn does not know
/// there.
[[nodiscard]] const NameTable* find_names(std::string_view backbone, std::span<const graph::WeightSpec> specs);

/// The row of a weight, and the number of its block.
struct FoundName {
  const NameRow* row = nullptr;
  std::string block;
  /// The array's name, without a prefix; of an expert where the row has them.
  [[nodiscard]] std::string array(Dim expert = 0) const;
};
/// Of each weight; a null row where the table has none.
[[nodiscard]] std::vector<FoundName> find_rows(const NameTable& table, std::span<const graph::WeightSpec> specs);

}  // namespace attn::weights
