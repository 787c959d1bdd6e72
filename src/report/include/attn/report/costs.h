// The costs of a model by layer, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/keras/summary.h"

namespace attn::report {

using keras::Count;

/// Bytes by dtype, in the order of the enum.
struct DTypeBytes {
  DType dtype = DType::float32;
  Count bytes = 0;
};

struct VariableCost {
  std::string name;  ///< name relative to the layer: "kernel"
  Shape shape;
  DType dtype = DType::float32;
  bool trainable = true;
  Count params = 0, bytes = 0;
};

/// The costs of a layer, which include those of its parts.
struct CostRow {
  std::string name, class_name;
  int level = 0;
  bool nested = false;  ///< an ancestor of the row is a nested model
  bool rest = false;    ///< operations of the enclosing row that belong to none of its parts
  std::vector<Shape> output_shapes;
  std::vector<VariableCost> variables;
  Count params = 0, trainable_params = 0;
  std::vector<DTypeBytes> weight_bytes;
  Count flops = 0;
  Count hidden_flops = 0;      ///< FLOPs on pairs of positions that causality or a window hides
  Count activation_bytes = 0;  ///< bytes of all computed values
  Count score_bytes = 0;       ///< bytes of the attention probabilities, if they were stored
};

/// The bytes of memory at the peak of a pass, as planned.
struct PeakBytes {
  std::int64_t weights = 0, prepared = 0, inputs = 0, activations = 0;
  [[nodiscard]] Count total() const {
    return Count{static_cast<std::uint64_t>(weights)} + static_cast<std::uint64_t>(prepared) +
           static_cast<std::uint64_t>(inputs) + static_cast<std::uint64_t>(activations);
  }
};

struct CostReport {
  std::vector<CostRow> rows;  ///< the parts of a row follow it, one level deeper
  CostRow total;
  std::int64_t batch = 1;
  std::optional<std::int64_t> seq_len;  ///< length; empty if the model has no such dimension
  PeakBytes peak;
};

struct CostOptions {
  int depth = 0;               ///< display rows down to this level
  bool expand_nested = false;  ///< also display all rows of nested models
  bool variables = false;      ///< display a row for each variable
  bool costs = true;           ///< display costs; otherwise only shapes, parameters and bytes of weights
};

}  // namespace attn::report
