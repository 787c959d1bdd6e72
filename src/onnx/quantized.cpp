// Int8 and int4 quantization with operators that are exact in every runtime; files store the packed bytes.
#include "emit.h"

namespace attn::onnx {
namespace {

constexpr std::int64_t kBase = 16, kHalf = 8;  // for 4-bit integers: their range, and where negative values begin

/// Unpacks bytes to integers (int32). Two 4-bit integers share a byte along `nibbles`: the first is in the low half.
Term integers(const Term& bytes, const std::optional<graph::Nibbles>& nibbles, const Sizes& sizes) {
  const Term wide = bytes.cast(DType::int32);
  if (!nibbles) return wide;
  Emitter& e = *bytes.emitter;
  const auto axis = static_cast<std::size_t>(nibbles->axis);
  const auto base = static_cast<double>(kBase), half = static_cast<double>(kHalf);
  Term low = wide.apply("Mod", {wide.number(base)});
  const Term high = (wide - low) / base;
  if (bytes.dtype == DType::int8) low = (low + half).apply("Mod", {low.number(base)}) - half;
  const Name behind = e.ints({static_cast<std::int64_t>(axis) + 1});
  const Name both =
      e.node("Concat", {e.node("Unsqueeze", {low.name, behind}), e.node("Unsqueeze", {high.name, behind})},
             {{"axis", static_cast<std::int64_t>(axis) + 1}});
  Sizes apart = sizes, paired = sizes;
  apart[axis] = Size::of(2 * ((nibbles->size + 1) / 2));
  paired[axis] = Size::of((nibbles->size + 1) / 2);
  paired.insert(paired.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Size::of(2));
  Name all = e.reshape(both, paired, apart);
  if (nibbles->size % 2 == 1)
    all = e.node("Slice", {all, e.ints({0}), e.ints({nibbles->size}), e.ints({static_cast<std::int64_t>(axis)})});
  return {&e, all, DType::int32};
}

/// Dequantizes: (q − zero)·scale, with groups along `axis`. Scale, zero and group indices are the inputs from `scale`
/// on.
Term of_groups(const Step& step, const Term& q, std::size_t scale, int axis) {
  const Term by_group = step.term(scale), groups = step.term(scale + 2);
  const auto of_rows = [&](const Term& x) { return x.apply("Gather", {groups}, {{"axis", std::int64_t{axis}}}); };
  const Term zero = step.term(scale + 1).cast(by_group.dtype);
  return (q.cast(by_group.dtype) - of_rows(zero)) * of_rows(by_group);
}

struct Rows {
  Term integers, scale;  ///< both have the dtype of x
};

Rows quantized(const Term& x, const std::vector<int>& axes, const graph::IntegerRange& range) {
  Emitter& e = *x.emitter;
  Term largest = x.apply("Abs");
  if (!axes.empty()) {
    largest.name =
        e.node("ReduceMax", {largest.name, e.ints({axes.begin(), axes.end()})}, {{"keepdims", std::int64_t{1}}});
  }
  const Term scale = x.number(range.high) / (largest + range.epsilon);
  const Term whole = (x * scale).apply("Round");
  return {whole.apply("Clip", {x.number(range.low), x.number(range.high)}), scale};
}

/// Exact integer matrix product: products of unsigned bytes are exact in every runtime, while signed ones may saturate
/// at 16 bits. `has_sign`: the weight is in −128…127, otherwise 0…255.
Term integer_product(const Term& x, const Term& weight, bool has_sign) {
  constexpr double kOffset = 128.0;
  Emitter& e = *x.emitter;
  const auto bytes = [&](const Term& y, double offset) { return (y.cast(DType::int32) + offset).cast(DType::uint8); };
  const double offset = has_sign ? kOffset : 0.0;
  const Term left = bytes(x, kOffset), right = has_sign ? bytes(weight, offset) : weight.cast(DType::uint8);
  return {
      &e,
      e.node("MatMulInteger", {left.name, right.name, e.scalar(DType::uint8, kOffset), e.scalar(DType::uint8, offset)}),
      DType::int32};
}

Size size_of(const Shape& shape) { return Size::of(shape.size()); }

/// Shapes of a linear map (rows…, K) → (rows…, M).
struct Matrices {
  Sizes x, flat_x, out, flat_out;
  Size depth, width;
};

Matrices matrices_of(const Step& step, const graph::QuantizedLinear& op) {
  Matrices m;
  m.x = step.in_sizes(0);
  m.out = step.out_sizes();
  const int rank = step.rank(0), leading = rank - op.contracted;
  m.depth = size_of(step.input(0).shape.slice(leading, rank));
  m.width = size_of(op.units);
  m.flat_x = Sizes(m.x.begin(), m.x.begin() + leading);
  m.flat_out = m.flat_x;
  m.flat_x.push_back(m.depth);
  m.flat_out.push_back(m.width);
  return m;
}

/// Returns the weight's integers (int32) as (K, M); as (M, K) if the weight is transposed.
Term weight_of(const Step& step, const graph::QuantizedLinear& op, const Matrices& m) {
  const Sizes stored = op.transposed ? Sizes{m.width, m.depth} : Sizes{m.depth, m.width};
  if (op.pairs == graph::Pairs::none) {
    const Term q = step.term(1);
    return integers({&step.emitter, step.emitter.reshape(q.name, step.in_sizes(1), stored), q.dtype}, {}, {});
  }
  const bool along_inputs = op.pairs == graph::Pairs::inputs;
  return integers(step.term(1),
                  graph::Nibbles{along_inputs == op.transposed ? 1 : 0, (along_inputs ? m.depth : m.width).offset},
                  stored);
}

}  // namespace

Names emit(const Step& step, const graph::Quantize& op) {
  const Rows rows = quantized(step.term(0), op.axes, op.range);
  return {rows.integers.cast(DType::int8).name, rows.scale.name};
}

Names emit(const Step& step, const graph::Dequantize& op) {
  const Term q = integers(step.term(0), op.nibbles, step.out_sizes()), scale = step.term(1);
  if (op.group_axis) return {of_groups(step, q, 1, *op.group_axis).name};
  return {(q.cast(scale.dtype) / scale).name};
}

Names emit(const Step& step, const graph::QuantizedLinear& op) {
  Emitter& e = step.emitter;
  const Matrices m = matrices_of(step, op);
  const DType dtype = step.output().dtype, x_dtype = step.input(0).dtype;
  const Term flat{&e, e.reshape(step.in[0], m.x, m.flat_x), x_dtype};
  Term scale = step.term(2), weight = weight_of(step, op, m);
  const auto by_columns = [&](const Term& w) -> Term {
    return op.transposed ? Term{&e, e.transpose(w.name, {1, 0}), w.dtype} : w;
  };
  if (op.grouped) {
    weight = by_columns(of_groups(step, weight, 2, op.transposed ? 1 : 0));
  } else {
    scale.name = e.reshape(scale.name, step.in_sizes(2), {m.width});
    weight = by_columns(weight);
    if (op.rounded) weight = weight.cast(scale.dtype) / scale;
  }
  const bool scales_after = !op.grouped && !op.rounded;
  Term y;
  if (op.inputs) {
    const Rows rows = quantized(flat, {static_cast<int>(m.flat_x.size()) - 1}, *op.inputs);
    const Term sums = scales_after
                          ? integer_product(rows.integers, weight, step.input(1).dtype == DType::int8).cast(x_dtype)
                          : rows.integers.cast(dtype).apply("MatMul", {weight.cast(dtype)});
    const Term of_x = rows.scale.cast(dtype);
    y = sums.cast(dtype) / (scales_after ? of_x * scale.cast(dtype) : of_x);
  } else {
    y = flat.cast(dtype).apply("MatMul", {weight.cast(dtype)});
    if (scales_after) y = y / scale.cast(dtype);
  }
  y = {&e, e.reshape(y.name, m.flat_out, m.out), dtype};
  std::size_t next = op.grouped ? 5 : 3;
  if (op.bias) y = y + step.term(next++);
  y = apply(op.activation, y);
  if (op.residual) y = y + step.term(next);
  return {y.name};
}

}  // namespace attn::onnx
