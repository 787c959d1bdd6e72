// The arrays of a table of numbers (.csv).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/keras/model.h"

namespace attn::train {

/// How a file of data is read.
struct DataReading {
  std::optional<std::int64_t> sequence_length;
  std::optional<std::string> csv_target;  ///< the column of the targets: its name, or its place from 0 on
};

/// Is it the name of targets, or of what samples count?
[[nodiscard]] bool is_target(std::string_view name);

/// A column for each array that its name says: an input of the model, "sample_weight", and targets, as "y", "target" or
/// "y:<output>"; `csv_target` is a column of targets too. All other columns, in their order, are the one input (rows,
/// columns) that has none. Arrays of whole numbers alone are int32, as are inputs of integers, else float32. Throws
/// Error (bad_input) where columns are left over or missing, and (usage) where `csv_target` is none of them.
[[nodiscard]] std::vector<NamedTensor> table_arrays(const keras::Model& model, const std::string& file,
                                                    const DataReading& reading);

/// All columns as one array: (rows), of several (rows, columns).
[[nodiscard]] NamedTensor table_as_array(const std::string& name, const std::string& file);

[[nodiscard]] bool is_table(const std::string& file);

}  // namespace attn::train
