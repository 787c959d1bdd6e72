// What Keras's model.summary() knows about a model, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/size.h"
#include "attn/keras/task_info.h"

namespace attn::keras {

/// Counts may pass 2^63 in configs that nobody could run; they are still shown.
using Count = UInt128;

struct SummaryRow {
  std::string name;        ///< as in the config; may hold anything
  std::string class_name;  ///< as Keras prints it
  int level = 0;           ///< 0 at the top, 1 inside a nested model, …
  /// As Keras prints it: "(None, 50, 512)", "[(None, 6, 32), (None, 2, 6, 6)]", "{'a': …}" without quotes, "?".
  std::string output_shape_text;
  std::vector<Shape> output_shapes;  ///< flat; empty where never called
  bool custom = false;               ///< of somebody's own class: the parameters are those of a file
  bool built = true;                 ///< else Keras prints "0 (unbuilt)"
  bool unknown_params = false;       ///< no file has its weights, and its class does not show how many it has
  Count params = 0;
  Count trainable_params = 0;
  /// "Y" true, "N" false, "-" nothing (no weights).
  std::optional<bool> trainable;
  /// "input_layer[0][0]", one per input tensor of every node of this level; empty for inputs and nested rows.
  std::vector<std::string> connected_to;
};

struct Summary {
  std::string name;
  std::string class_name;  ///< "Functional", "Sequential"
  /// No column "Connected to": a chain without branches or shared layers (Keras's rule).
  bool sequential_like = true;
  std::vector<SummaryRow> rows;  ///< in Keras's order; the rows of a nested model follow it, one level deeper
  Count total_params = 0, trainable_params = 0, non_trainable_params = 0;
  bool unknown_params = false;               ///< a row has unknown ones: the totals are those of the others
  std::optional<Preprocessor> preprocessor;  ///< of a task; it is shown before the table
  Count total_bytes = 0, trainable_bytes = 0, non_trainable_bytes = 0;
};

}  // namespace attn::keras
