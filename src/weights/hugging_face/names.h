// What Hugging Face's files call the weights of KerasHub's models.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/weight.h"
#include "hugging_face/layout.h"

namespace attn::weights {

// The layouts that the tables name.
inline constexpr Layout kSame{Layout::Order::same}, kLinear{Layout::Order::transposed, 1},
    kFromHeads{Layout::Order::transposed, 2}, kVector{Layout::Order::flat, 0}, kConv1d{Layout::Order::flat, 1},
    kConv1dFromHeads{Layout::Order::flat, 2}, kByHead{Layout::Order::by_head}, kConvolution{Layout::Order::convolution},
    kInFront{Layout::Order::in_front};

/// A weight of a model by its path, and its array. "{}" stands for the number of a block, "{expert}" for that
/// of an expert, whose arrays are stacked in Keras. Rows of the same array are its parts, in their order.
struct NameRow {
  std::string_view keras, hugging_face;
  Layout layout;
  bool of_head = false;  ///< it is of a task, and its name has no prefix
  Dim skipped = 0;       ///< rows at the array's beginning that Keras lacks
};

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

/// The row of a weight, and the number of its block; nothing where the table has none.
struct FoundName {
  const NameRow* row = nullptr;
  std::string block;
  /// The array's name, without a prefix; of an expert where the row has them.
  [[nodiscard]] std::string array(Dim expert = 0) const;
};
[[nodiscard]] std::optional<FoundName> find_name(const NameTable& table, std::string_view path);

}  // namespace attn::weights
