// Operations that move elements, and those that create arrays.
#include <algorithm>
#include <limits>

#include "attn/base/error.h"
#include "emit.h"

namespace attn::onnx {
namespace {

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

Name slice(Emitter& e, const Name& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return e.node("Slice", {x, e.ints({start}), e.ints({stop}), e.ints({axis}), e.ints({step})});
}

/// ONNX has no symmetric padding mode, so the mirrored ends are slices with negative steps.
Name pad_symmetric(const Step& step, const graph::Pad& op) {
  Emitter& e = step.emitter;
  Name x = step.in[0];
  for (std::size_t i = 0; i < op.before.size(); ++i) {
    const int axis = static_cast<int>(i);
    Names parts{x};
    if (op.before[i] > 0) parts.insert(parts.begin(), slice(e, x, axis, op.before[i] - 1, kFirst, -1));
    if (op.after[i] > 0) parts.push_back(slice(e, x, axis, -1, -1 - op.after[i], -1));
    if (parts.size() > 1) x = e.node("Concat", std::move(parts), {{"axis", std::int64_t{axis}}});
  }
  return x;
}

std::string mode_of(graph::PadMode mode) {
  switch (mode) {
    case graph::PadMode::constant:
      return "constant";
    case graph::PadMode::reflect:
      return "reflect";
    case graph::PadMode::edge:
      return "edge";
    case graph::PadMode::symmetric:
      break;
  }
  return "";
}

template <typename T>
const T& same_op(const graph::Graph& graph, graph::NodeId id) {
  return std::get<T>(graph.nodes[graph::at(id)].op);
}

}  // namespace

Names emit(const Step& step, const graph::Reshape& /*op*/) {
  return {step.emitter.reshape(step.in[0], step.in_sizes(0), step.out_sizes())};
}

Names emit(const Step& step, const graph::Transpose& op) {
  return {step.emitter.transpose(step.in[0], op.permutation)};
}

Names emit(const Step& step, const graph::Broadcast& /*op*/) {
  const Sizes from = step.in_sizes(0);
  Sizes to = step.out_sizes();
  // Sizes that x already has can be 1 in the Expand shape, which leaves them unchanged.
  const std::size_t added = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] == to[added + i]) to[added + i] = Size::of(1);
  return {step.emitter.expand(step.in[0], to)};
}

Names emit(const Step& step, const graph::Concat& op) {
  if (step.in.size() == 1) return {step.in[0]};
  return {step.emitter.node("Concat", step.in, {{"axis", std::int64_t{op.axis}}})};
}

Names emit(const Step& step, const graph::Slice& op) {
  Emitter& e = step.emitter;
  Sizes starts, stops;
  Ints axes, steps;
  for (std::size_t i = 0; i < op.ranges.size(); ++i) {
    const graph::Range& range = op.ranges[i];
    if (!range.start && !range.stop && range.step == 1) continue;
    const auto end = [&](bool first) {
      const auto& bound = first ? range.start : range.stop;
      if (!bound) return Size::of(first == (range.step > 0) ? (first ? 0 : kFirst) : kLast);
      return e.size([&](const graph::Graph& graph) {
        const graph::Range& there = same_op<graph::Slice>(graph, step.id).ranges[i];
        return first ? *there.start : *there.stop;
      });
    };
    starts.push_back(end(true));
    stops.push_back(end(false));
    axes.push_back(static_cast<std::int64_t>(i));
    steps.push_back(range.step);
  }
  if (axes.empty()) return {step.in[0]};
  return {e.node("Slice", {step.in[0], e.vector(starts), e.vector(stops), e.ints(axes), e.ints(steps)})};
}

Names emit(const Step& step, const graph::Pad& op) {
  Emitter& e = step.emitter;
  if (op.mode == graph::PadMode::symmetric) return {pad_symmetric(step, op)};
  Sizes pads;
  for (const bool before : {true, false}) {
    for (std::size_t i = 0; i < op.before.size(); ++i) {
      pads.push_back(e.size([&](const graph::Graph& graph) {
        const auto& there = same_op<graph::Pad>(graph, step.id);
        return (before ? there.before : there.after)[i];
      }));
    }
  }
  const Term x = step.term(0);
  const bool of_bools = x.dtype == DType::boolean;
  const Term wide = of_bools ? x.cast(DType::int32) : x;
  Names inputs{wide.name, e.vector(pads)};
  if (op.mode == graph::PadMode::constant) inputs.push_back(e.scalar(wide.dtype, op.value));
  const Term padded{&e, e.node("Pad", std::move(inputs), {{"mode", mode_of(op.mode)}}), wide.dtype};
  return {padded.cast(x.dtype).name};
}

Names emit(const Step& step, const graph::Gather& op) {
  Term indices = step.term(1);
  if (indices.dtype != DType::int32 && indices.dtype != DType::int64) indices = indices.cast(DType::int64);
  return {step.term(0).apply("Gather", {indices}, {{"axis", std::int64_t{op.axis}}}).name};
}

Names emit(const Step& step, const graph::ScatterAdd& op) {
  if (op.axis != 0) no_counterpart(step, "along another axis than the first");
  Emitter& e = step.emitter;
  const DType dtype = step.input(0).dtype;
  const Name places = e.cast(step.in[1], step.input(1).dtype, DType::int64);
  const Name rows = e.node("Unsqueeze", {places, e.ints({step.rank(1)})});
  return {e.node("ScatterND", {e.expand(e.scalar(dtype, 0.0), step.out_sizes()), rows, step.in[0]},
                 {{"reduction", std::string("add")}})};
}

Names emit(const Step& step, const graph::Iota& op) {
  Emitter& e = step.emitter;
  const Sizes sizes = step.out_sizes();
  const std::optional<Size>& length = sizes[static_cast<std::size_t>(op.axis)];
  const bool whole = is_integer(op.dtype);
  const DType dtype = whole ? DType::int64 : op.dtype == DType::float64 ? DType::float64 : DType::float32;
  if (!length) no_counterpart(step, "with a computed length");
  Term places = Term{&e, e.range(*length), DType::int64}.cast(dtype);
  if (op.step != 1.0) places = places * op.step;
  if (op.start != 0.0) places = places + op.start;
  places = places.cast(op.dtype);
  if (sizes.size() == 1) return {places.name};
  Ints to(sizes.size(), 1);
  to[static_cast<std::size_t>(op.axis)] = -1;
  places.name = e.node("Reshape", {places.name, e.ints(to)});
  return {e.expand(places.name, sizes)};
}

Names emit(const Step& step, const graph::Fill& op) {
  Emitter& e = step.emitter;
  const Sizes sizes = step.out_sizes();
  const Name value = is_integer(op.dtype) ? e.cast(e.rank0(e.size([&](const graph::Graph& graph) {
    return static_cast<std::int64_t>(same_op<graph::Fill>(graph, step.id).value);
  })),
                                                   DType::int64, op.dtype)
                                          : e.scalar(op.dtype, op.value);
  return {sizes.empty() ? value : e.expand(value, sizes)};
}

}  // namespace attn::onnx
