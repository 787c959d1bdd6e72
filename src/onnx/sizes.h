// Formulas of sizes in terms of the open lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attn/onnx/samples.h"

namespace attn::onnx {

/// factor·lengths… + offset.
struct Size {
  std::int64_t factor = 0;
  std::vector<int> lengths;  ///< indices into Samples::lengths, ascending
  std::int64_t offset = 0;

  [[nodiscard]] static Size of(std::int64_t number) { return {0, {}, number}; }
  [[nodiscard]] bool fixed() const noexcept { return lengths.empty(); }
  friend bool operator==(const Size&, const Size&) = default;
};

/// Reads a number from the graph at one of its sizes.
using SizeReader = std::function<std::int64_t(const graph::Graph&)>;

/// Fits a formula to a number in all samples; empty if no formula of this form fits.
[[nodiscard]] std::optional<Size> fit(const Samples& samples, const SizeReader& read);

/// Returns whether the value is an integer that may be a size, and so may differ at another size.
[[nodiscard]] bool is_size(const graph::Value& value);

/// Returns the first node where the samples are different models (another operation, another constant), not only
/// different sizes. Empty if they agree.
[[nodiscard]] std::optional<graph::NodeId> first_difference(const Samples& samples);

}  // namespace attn::onnx
