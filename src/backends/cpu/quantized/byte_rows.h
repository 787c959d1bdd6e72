// Quantized rows for int8 dot products, each with its scale. They are in the scratch memory of a product, or where the
// previous step left them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "integer_panels.h"
#include "step.h"

namespace attn::backends::cpu {

class ByteRows {
 public:
  ByteRows() = default;
  /// Uses the memory at `at`, which has bytes(rows, depth) bytes.
  ByteRows(std::byte* at, std::int64_t rows, std::int64_t depth);

  [[nodiscard]] static std::int64_t bytes(std::int64_t rows, std::int64_t depth);
  /// Returns the row stride in bytes.
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] const std::uint8_t* row(std::int64_t i) const { return bytes_ + i * stride_; }
  [[nodiscard]] const float* scales(std::int64_t i) const { return scales_ + i; }

  /// Quantizes row i.
  void take(std::int64_t i, const float* x, const graph::IntegerRange& range) const {
    scales_[i] = quantize_row(x, depth_, range, bytes_ + i * stride_);
  }

 private:
  std::uint8_t* bytes_ = nullptr;
  float* scales_ = nullptr;
  std::int64_t depth_ = 0, stride_ = 0;
};

/// Rows that a step can leave quantized for the next one.
struct ProducedRows {
  std::int64_t rows = 0, length = 0;
  bool in_place_of_output = false;  ///< whether the rows replace the step's output; otherwise they are additional
};

/// Returns the output rows of a layer normalization.
[[nodiscard]] std::optional<ProducedRows> rows_of_normalization(const StepInfo& step);
/// Returns the output rows of a quantized dense map, if there are enough rows for each thread to compute whole ones.
[[nodiscard]] std::optional<ProducedRows> rows_of_quantized(const StepInfo& step);

/// Rows that a quantized dense map multiplies as int8.
struct ConsumedRows {
  std::int64_t rows, length;
  graph::IntegerRange range;
};
[[nodiscard]] std::optional<ConsumedRows> rows_for_quantized(const StepInfo& step);

}  // namespace attn::backends::cpu
