#include "sizes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace attn::onnx {
namespace {

std::int64_t product(const std::vector<int>& lengths, const std::vector<std::int64_t>& values) {
  std::int64_t result = 1;
  for (const int length : lengths) result *= values[static_cast<std::size_t>(length)];
  return result;
}

bool same_range(const graph::Range& a, const graph::Range& b) {
  return a.start.has_value() == b.start.has_value() && a.stop.has_value() == b.stop.has_value() && a.step == b.step;
}

bool same_function(const graph::Unary& a, const graph::Unary& b) {
  return a.fn == b.fn && a.a == b.a && a.b == b.b && a.c == b.c;
}

/// Returns whether two operations are equal except for the fitted numbers: shapes, ends of slices, paddings and
/// integers.
bool same_kind(const graph::Op& one, const graph::Op& other) {
  if (one.index() != other.index()) return false;
  return std::visit(
      graph::Overloaded{
          [&](const graph::Unary& a) { return same_function(a, std::get<graph::Unary>(other)); },
          [&](const graph::Binary& a) { return a.fn == std::get<graph::Binary>(other).fn; },
          [&](const graph::Attention& a) {
            const auto& b = std::get<graph::Attention>(other);
            return a.scale == b.scale && a.window == b.window && a.causal == b.causal;
          },
          [&](const graph::Reduce& a) {
            const auto& b = std::get<graph::Reduce>(other);
            return a.fn == b.fn && a.axes == b.axes;
          },
          [&](const graph::Slice& a) {
            const auto& b = std::get<graph::Slice>(other);
            return std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(), same_range);
          },
          [&](const graph::Iota& a) {
            const auto& b = std::get<graph::Iota>(other);
            return a.axis == b.axis && a.start == b.start && a.step == b.step;
          },
          [&](const graph::Fill& a) { return is_integer(a.dtype) || a.value == std::get<graph::Fill>(other).value; },
          [&](const graph::Conv& a) {
            const auto& b = std::get<graph::Conv>(other);
            return a.strides == b.strides && a.dilation == b.dilation && a.padding == b.padding;
          },
          [&](const graph::Pool& a) {
            const auto& b = std::get<graph::Pool>(other);
            return a.window == b.window && a.strides == b.strides && a.padding == b.padding;
          },
          [](const auto&) { return true; },
      },
      one);
}

bool same_value(const graph::Value& a, const graph::Value& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  if (a.kind != graph::ValueKind::constant || is_size(a)) return true;
  return a.shape == b.shape &&
         std::memcmp(a.constant.data(), b.constant.data(), static_cast<std::size_t>(a.constant.bytes())) == 0;
}

std::optional<graph::NodeId> difference(const graph::Graph& a, const graph::Graph& b) {
  const std::size_t count = std::min(a.nodes.size(), b.nodes.size());
  for (std::size_t n = 0; n < count; ++n) {
    const graph::Node &one = a.nodes[n], &other = b.nodes[n];
    bool same = one.inputs == other.inputs && one.outputs == other.outputs && same_kind(one.op, other.op);
    for (std::size_t i = 0; same && i < one.inputs.size(); ++i)
      same = same_value(a.value(one.inputs[i]), b.value(one.inputs[i]));
    if (!same) return static_cast<graph::NodeId>(n);
  }
  if (a.nodes.size() != b.nodes.size()) return static_cast<graph::NodeId>(count == a.nodes.size() ? count - 1 : count);
  return std::nullopt;
}

}  // namespace

bool is_size(const graph::Value& value) {
  return value.kind == graph::ValueKind::constant && is_integer(value.dtype) && value.shape.rank() == 0;
}

std::optional<Size> fit(const Samples& samples, const SizeReader& read) {
  const std::int64_t at_base = read(samples.base);
  if (samples.lengths.empty()) return Size::of(at_base);
  Size size;
  std::int64_t last = at_base;
  for (std::size_t i = 0; i < samples.lengths.size(); ++i) {
    const std::int64_t there = read(samples.others[i]);
    if (there == at_base) continue;
    size.lengths.push_back(static_cast<int>(i));
    last = there;
  }
  if (size.lengths.size() == 1) {
    const auto i = static_cast<std::size_t>(size.lengths.front());
    const std::int64_t step = samples.other_lengths[i][i] - samples.base_lengths[i];
    if ((last - at_base) % step != 0) return std::nullopt;
    size.factor = (last - at_base) / step;
    size.offset = at_base - size.factor * samples.base_lengths[i];
  } else if (size.lengths.empty()) {
    size.offset = at_base;
  } else {
    const std::int64_t one = product(size.lengths, samples.base_lengths);
    if (at_base % one != 0) return std::nullopt;
    size.factor = at_base / one;
  }
  for (std::size_t s = 0; s < samples.others.size(); ++s) {
    const std::int64_t expected =
        (size.fixed() ? 0 : size.factor * product(size.lengths, samples.other_lengths[s])) + size.offset;
    if (read(samples.others[s]) != expected) return std::nullopt;
  }
  return size;
}

std::optional<graph::NodeId> first_difference(const Samples& samples) {
  for (const graph::Graph& other : samples.others)
    if (const auto found = difference(samples.base, other)) return found;
  return std::nullopt;
}

}  // namespace attn::onnx
