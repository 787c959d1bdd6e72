// The contents of Keras's model.summary(), as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/size.h"
#include "attn/keras/task_info.h"

namespace attn::keras {

/// Counts may exceed 2^63 in configs that cannot be run; they are still displayed.
using Count = UInt128;

struct SummaryRow {
  std::string name;        ///< name as in the config; may contain any characters
  std::string class_name;  ///< class name as Keras prints it
  int level = 0;           ///< 0 at the top, 1 inside a nested model, …
  /// In Keras's form: "(None, 50, 512)", "[(None, 6, 32), (None, 2, 6, 6)]", "{'a': …}" without quotes, "?".
  std::string output_shape_text;
  std::vector<Shape> output_shapes;  ///< flattened; empty if the layer was never called
  bool custom = false;               ///< the layer has a custom class: its parameters come from a file
  bool built = true;                 ///< if false, Keras prints "0 (unbuilt)"
  bool unknown_params = false;       ///< the number of parameters is unknown, because no file has the weights
  Count params = 0;
  Count trainable_params = 0;
  /// "Y" is true, "N" false, "-" empty (no weights).
  std::optional<bool> trainable;
  /// "input_layer[0][0]", one for each input tensor of every node on this level; empty for inputs and nested rows.
  std::vector<std::string> connected_to;
};

struct Summary {
  std::string name;
  std::string class_name;  ///< "Functional", "Sequential"
  /// Whether the column "Connected to" is omitted: a chain without branches or shared layers (Keras's rule).
  bool sequential_like = true;
  std::vector<SummaryRow> rows;  ///< in Keras's order; the rows of a nested model follow it, one level deeper
  Count total_params = 0, trainable_params = 0, non_trainable_params = 0;
  bool unknown_params = false;               ///< a row has unknown parameters: totals are the sums of the other rows
  std::optional<Preprocessor> preprocessor;  ///< for a task; displayed before the table
  Count total_bytes = 0, trainable_bytes = 0, non_trainable_bytes = 0;
  /// The variables of the optimizer. Keras creates them when it loads a compiled model, and adds them to "Total
  /// params".
  struct OptimizerSize {
    Count params = 0, bytes = 0;
  };
  std::optional<OptimizerSize> optimizer;
  bool unknown_optimizer = false;  ///< the model was compiled with an optimizer whose variables are unknown
};

}  // namespace attn::keras
