// How sizes follow from the lengths that a model leaves open.
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
  std::vector<int> lengths;  ///< places in Samples::lengths, ascending
  std::int64_t offset = 0;

  [[nodiscard]] static Size of(std::int64_t number) { return {0, {}, number}; }
  [[nodiscard]] bool fixed() const noexcept { return lengths.empty(); }
  friend bool operator==(const Size&, const Size&) = default;
};

/// A number of the graph at one of its sizes.
using Look = std::function<std::int64_t(const graph::Graph&)>;

/// The formula for a number in all samples; nothing where none of that form fits.
[[nodiscard]] std::optional<Size> fit(const Samples& samples, const Look& look);

/// Is it a whole number that may be a size, and so another one at another size?
[[nodiscard]] bool is_size(const graph::Value& value);

/// Where the samples are of different models (another operation, another constant), and not of different sizes alone:
/// the first such node. Nothing where they agree.
[[nodiscard]] std::optional<graph::NodeId> first_difference(const Samples& samples);

}  // namespace attn::onnx
