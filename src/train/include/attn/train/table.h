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

/// Settings for reading a file of data.
struct DataReading {
  std::optional<std::int64_t> sequence_length;
  std::optional<std::string> csv_target;  ///< the column of the targets: its name, or its index from 0
};

/// Returns whether the name denotes targets or sample weights.
[[nodiscard]] bool is_target(std::string_view name);

/// Returns the columns of a table by name: an input of the model, "sample_weight", and targets, such as "y", "target"
/// or "y:<output>"; `csv_target` is a column of targets too. All other columns, in their order, form the one input
/// (rows, columns) without its own column. Arrays of only whole numbers are int32, and so are integer inputs; others
/// are float32. Throws Error (bad_input) if columns are left over or missing, and (usage) if there is no column
/// `csv_target`.
[[nodiscard]] std::vector<NamedTensor> table_arrays(const keras::Model& model, const std::string& file,
                                                    const DataReading& reading);

/// Returns all columns as one array: (rows), or (rows, columns) for several.
[[nodiscard]] NamedTensor table_as_array(const std::string& name, const std::string& file);

[[nodiscard]] bool is_table(const std::string& file);

}  // namespace attn::train
