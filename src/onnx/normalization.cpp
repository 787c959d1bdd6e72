// Normalizations, softmax, reductions and cumulative operations.
#include <algorithm>
#include <numeric>

#include "emit.h"

namespace attn::onnx {
namespace {

using graph::NormKind;
using graph::ReduceFn;

Ints axes_of(const std::vector<int>& axes) { return {axes.begin(), axes.end()}; }

Term reduced(const Term& x, const char* op, const std::vector<int>& axes, bool keepdims) {
  Emitter& e = *x.emitter;
  return {&e, e.node(op, {x.name, e.ints(axes_of(axes))}, {{"keepdims", std::int64_t{keepdims ? 1 : 0}}}), x.dtype};
}

bool are_last(const std::vector<int>& axes, int rank) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank - static_cast<int>(axes.size() - i)) return false;
  return true;
}

/// Reshapes a factor so that it broadcasts along `axes` of x.
Term along(const Step& step, const Term& factor, const std::vector<int>& axes) {
  const Shape& shape = step.input(0).shape;
  if (are_last(axes, shape.rank())) return factor;
  Ints to(static_cast<std::size_t>(shape.rank()), 1);
  for (const int axis : axes) to[static_cast<std::size_t>(axis)] = shape[axis];
  Emitter& e = step.emitter;
  return {&e, e.node("Reshape", {factor.name, e.ints(to)}), factor.dtype};
}

/// max(x − τ, 0) with Keras's τ: see sparsemax in the reference backend, which sums over the support.
Term sparsemax(const Step& step, int axis) {
  Emitter& e = step.emitter;
  const Term x = step.term(0);
  const std::vector<int> over{axis};
  const Size size = e.size([&](const graph::Graph& graph) { return graph.value(step.node.inputs[0]).shape[axis]; });
  const Term sorted{&e, e.nodes("TopK", {x.name, e.vector({size})}, 2, {{"axis", std::int64_t{axis}}}).front(),
                    x.dtype};
  const Term sums = sorted.apply("CumSum", {{&e, e.index(axis), DType::int64}});
  Term counts = Term{&e, e.range(size), DType::int64}.cast(x.dtype) + 1.0;
  Ints to(static_cast<std::size_t>(step.rank(0)), 1);
  to[static_cast<std::size_t>(axis)] = -1;
  counts.name = e.node("Reshape", {counts.name, e.ints(to)});
  const Term inside = (sorted - (sums - 1.0) / counts) > 0.0;
  const Term support = reduced(inside.cast(x.dtype), "ReduceSum", over, true);
  const Term total = reduced(where(inside, sums, sums.number(0.0)), "ReduceSum", over, true);
  return (x - (total - 1.0) / support).apply("Relu");
}

}  // namespace

Names emit(const Step& step, const graph::Softmax& op) {
  const Term x = step.term(0);
  const bool of_log = op.kind == graph::SoftmaxKind::log_softmax;
  if (op.axes.size() == 1) {
    if (op.kind == graph::SoftmaxKind::sparsemax) return {sparsemax(step, op.axes[0]).name};
    return {x.apply(of_log ? "LogSoftmax" : "Softmax", {}, {{"axis", std::int64_t{op.axes[0]}}}).name};
  }
  if (op.kind == graph::SoftmaxKind::sparsemax) no_counterpart(step, "over several axes");
  const Term shifted = x - reduced(x, "ReduceMax", op.axes, true), exponentials = exp(shifted);
  const Term sum = reduced(exponentials, "ReduceSum", op.axes, true);
  return {(of_log ? shifted - log(sum) : exponentials / sum).name};
}

Names emit(const Step& step, const graph::LayerNorm& op) {
  Emitter& e = step.emitter;
  const Term x = step.term(0);
  const bool one_dtype = std::all_of(step.node.inputs.begin(), step.node.inputs.end(),
                                     [&](graph::ValueId id) { return e.graph().value(id).dtype == x.dtype; });
  if (op.kind == NormKind::layer && are_last(op.axes, step.rank(0)) && one_dtype) {
    Names inputs{x.name};
    if (op.scale) {
      inputs.push_back(step.in[1]);
    } else {
      Shape sizes;
      for (const int axis : op.axes) sizes.push_back(step.input(0).shape[axis]);
      Tensor ones(x.dtype, sizes);
      for (std::int64_t i = 0; i < ones.size(); ++i) ones.set(i, 1.0);
      inputs.push_back(e.constant(std::move(ones)));
    }
    if (op.center) inputs.push_back(step.in.back());
    return {e.node("LayerNormalization", std::move(inputs),
                   {{"axis", std::int64_t{op.axes.front()}}, {"epsilon", op.epsilon}})};
  }
  const Term wide = widened(x);
  const auto mean = [&](const Term& term) { return reduced(term, "ReduceMean", op.axes, true); };
  const Term centered = op.kind == NormKind::rms ? wide : wide - mean(wide);
  const Term scaled = (op.kind == NormKind::rms_layer ? wide : centered) / sqrt(mean(centered * centered) + op.epsilon);
  Term result = scaled;
  if (op.scale) result = result * along(step, step.term(1), op.axes).cast(result.dtype);
  if (op.center) result = result + along(step, step.term(op.scale ? 2 : 1), op.axes).cast(result.dtype);
  return {result.cast(x.dtype).name};
}

Names emit(const Step& step, const graph::BatchNorm& op) {
  const std::vector<int> axes{op.axis < 0 ? op.axis + step.rank(0) : op.axis};
  const auto factor = [&](std::size_t i) { return widened(step.term(i)); };
  Term scale = sqrt(factor(2) + op.epsilon).apply("Reciprocal");
  if (op.scale) scale = scale * factor(3);
  Term result = (widened(step.term(0)) - along(step, factor(1), axes)) * along(step, scale, axes);
  if (op.center) result = result + along(step, factor(op.scale ? 4 : 3), axes);
  return {result.cast(step.output().dtype).name};
}

Names emit(const Step& step, const graph::Reduce& op) {
  const Term x = step.term(0);
  if (op.axes.empty()) return {x.name};
  const DType dtype = step.output().dtype;
  const auto of_numbers = [&](const char* name) {
    const bool narrow = x.dtype == DType::boolean || bytes_of(x.dtype) < 4;
    const Term wide = is_floating(x.dtype) ? x : narrow ? x.cast(DType::int32) : x;
    return Names{reduced(wide, name, op.axes, op.keepdims).cast(dtype).name};
  };
  const auto index_of = [&](const char* name) {
    Term found = x.dtype == DType::boolean ? x.cast(DType::int32) : x;
    found =
        found.apply(name, {}, {{"axis", std::int64_t{op.axes[0]}}, {"keepdims", std::int64_t{op.keepdims ? 1 : 0}}});
    found.dtype = DType::int64;
    return Names{found.cast(dtype).name};
  };
  switch (op.fn) {
    case ReduceFn::sum:
      return of_numbers("ReduceSum");
    case ReduceFn::mean:
      return of_numbers("ReduceMean");
    case ReduceFn::max:
    case ReduceFn::any:
      return of_numbers("ReduceMax");
    case ReduceFn::min:
    case ReduceFn::all:
      return of_numbers("ReduceMin");
    case ReduceFn::prod:
      return of_numbers("ReduceProd");
    case ReduceFn::logsumexp:
      return of_numbers("ReduceLogSumExp");
    case ReduceFn::argmax:
      return index_of("ArgMax");
    case ReduceFn::argmin:
      return index_of("ArgMin");
  }
  return {x.name};
}

Names emit(const Step& step, const graph::Cumulate& op) {
  Emitter& e = step.emitter;
  const Term x = step.term(0);
  const auto flag = [](bool value) { return std::int64_t{value ? 1 : 0}; };
  if (!op.product) {
    const Term axis{&e, e.index(op.axis), DType::int64};
    return {x.apply("CumSum", {axis}, {{"exclusive", flag(op.exclusive)}, {"reverse", flag(op.reverse)}}).name};
  }
  // ONNX has no cumulative product, so this is a scan along the axis.
  Sizes slice = step.in_sizes(0);
  slice.erase(slice.begin() + op.axis);
  const Name ones = e.expand(e.scalar(x.dtype, 1.0), slice);
  const Name before = e.unique("before"), element = e.unique("element");
  e.begin_body();
  const Name product = e.node("Mul", {before, element});
  const Name shown = e.node("Identity", {op.exclusive ? before : product});
  const ValueInfo any{"", x.dtype, {}, false};
  const auto named = [&](const Name& name) {
    ValueInfo value = any;
    value.name = name;
    return value;
  };
  const auto body = e.end_body("product", {named(before), named(element)}, {named(product), named(shown)});
  const Ints along{op.axis}, direction{flag(op.reverse)};
  return {e.nodes("Scan", {ones, x.name}, 2,
                  {{"body", body},
                   {"num_scan_inputs", std::int64_t{1}},
                   {"scan_input_axes", along},
                   {"scan_output_axes", along},
                   {"scan_input_directions", direction},
                   {"scan_output_directions", direction}})[1]};
}

}  // namespace attn::onnx
