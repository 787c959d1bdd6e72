#include "classes/dense_kernel.h"

#include <algorithm>
#include <numeric>

#include "attn/base/error.h"
#include "classes/ops/promotion.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::QuantizedPart;
using graph::ValueId;
using Kind = graph::QuantizedPart::Kind;

constexpr graph::IntegerRange kInt8Inputs{};

graph::Initializer initializer(const char* name) { return Initializer(name).value; }

/// Initializes the group indices: input i of `count` is in group i/`group`.
graph::Initializer group_of_each(Dim count, Dim group) {
  graph::Initializer out;
  out.class_name = "Constant";
  for (Dim i = 0; i < count; ++i) out.values.push_back(static_cast<double>(i / group));
  return out;
}

Dim half(Dim size) { return size / 2 + size % 2; }

std::vector<int> places_of(const std::string& letters, const std::string& among) {
  std::vector<int> out;
  for (const char letter : letters) out.push_back(static_cast<int>(among.find(letter)));
  return out;
}

std::string without(const std::string& letters, const std::string& left_out) {
  std::string out;
  for (const char letter : letters)
    if (left_out.find(letter) == std::string::npos) out += letter;
  return out;
}

/// Returns the letters of `letters` that are also in `others`.
std::string shared(const std::string& letters, const std::string& others) {
  return without(letters, without(letters, others));
}

bool is_order(const std::vector<int>& permutation) { return std::is_sorted(permutation.begin(), permutation.end()); }

}  // namespace

std::optional<Quantization> quantization_of(const DTypePolicy& policy, const QuantizationConfig& config) {
  std::optional<Quantization> how = policy.quantization;
  if (!how || !config.named()) return how;
  if (config.named()->mode != how->mode)
    throw bad_input("the dtype policy '{}' names another mode than quantization_config, which is of {}", policy.name,
                    name_of(config.named()->mode));
  if (how->mode == QuantizationMode::int4) how->group = config.named()->group;
  return how;
}

bool DenseKernel::is_calibrated() const {
  return how_->mode == QuantizationMode::gptq || how_->mode == QuantizationMode::awq;
}

void DenseKernel::declare(Weights& w, const Quantization& how, const QuantizationConfig& config, Floats floats) {
  how_ = how;
  floats_ = std::move(floats);
  if (!floats_.kernel.known())
    throw bad_input("the kernel would have the shape {}: its sizes must be known", floats_.kernel.str());
  inputs_ = config.inputs(how.mode == QuantizationMode::int8 ? std::optional(kInt8Inputs) : std::nullopt);
  const std::vector<int> summed = floats_.letters.summed();
  for (int axis = 0; axis < floats_.kernel.rank(); ++axis)
    (std::ranges::find(summed, axis) != summed.end() ? rows_ : columns_).push_back(floats_.kernel[axis]);
  if (how.mode == QuantizationMode::float8) return declare_float8(w);
  if (floats_.bias)
    bias_ = w.add({"bias", *floats_.bias, floats_.bias_initializer, std::nullopt, true, is_calibrated() ? 0 : 1});
  return is_calibrated() ? declare_calibrated(w) : declare_integers(w);
}

Shape DenseKernel::matrix() const { return {rows_.size(), columns_.size()}; }

void DenseKernel::declare_integers(Weights& w) {
  const Dim rows = rows_.size(), columns = columns_.size();
  const bool is_int4 = how_->mode == QuantizationMode::int4;
  QuantizedPart part;
  part.of = "kernel";
  part.shape = floats_.kernel;
  part.axes = floats_.letters.summed();
  part.bits = how_->bits;
  if (!is_int4 && floats_.by_einsum)
    part.order = places_of(shared(floats_.letters.out, floats_.letters.kernel), floats_.letters.kernel);
  if (is_int4) {
    part.shape = matrix();
    part.axes = {0};
    part.group = how_->group.value_or(0);
    part.packed = 1;
  }
  const auto of = [&](Kind kind) {
    part.kind = kind;
    return part;
  };
  kernel_ = w.add({"kernel", is_int4 ? Shape{rows, half(columns)} : floats_.kernel, initializer("zeros"), DType::int8,
                   false, 0, of(Kind::integers)});
  int place = floats_.bias ? 2 : 1;
  Shape scale = is_int4 || !floats_.by_einsum ? columns_ : floats_.letters.scale_shape(floats_.kernel);
  if (is_int4) scale = Shape{columns};
  const bool grouped = is_int4 && how_->group;
  if (grouped) scale = Shape{how_->groups_of(rows), columns};
  scale_ = w.add({"kernel_scale", scale, initializer("ones"), std::nullopt, false, place++, of(Kind::scale)});
  if (!grouped) return;
  zero_ = w.add({"kernel_zero", scale, initializer("zeros"), DType::int8, false, place++, of(Kind::zero)});
  groups_ =
      w.add({"g_idx", Shape{rows}, group_of_each(rows, *how_->group), DType::float32, false, place, of(Kind::groups)});
}

void DenseKernel::declare_float8(Weights& w) {
  int place = floats_.bias ? 2 : 1;
  const auto add = [&](std::string_view name, const Shape& shape, const char* drawn) {
    return w.add({name, shape, initializer(drawn), DType::float32, true, place++});
  };
  const Shape history{how_->amax_history};
  inputs_scale_ = add("inputs_scale", {}, "ones");
  add("inputs_amax_history", history, "zeros");
  scale_ = add("kernel_scale", {}, "ones");
  add("kernel_amax_history", history, "zeros");
  add("outputs_grad_scale", {}, "ones");
  add("outputs_grad_amax_history", history, "zeros");
  kernel_ = w.add({"kernel", floats_.kernel, floats_.kernel_initializer, std::nullopt, true, 0});
  if (floats_.bias) bias_ = w.add({"bias", *floats_.bias, floats_.bias_initializer, std::nullopt, true, 1});
}

void DenseKernel::declare_calibrated(Weights& w) {
  Dim rows = rows_.size(), columns = columns_.size();
  if (floats_.by_einsum) {
    // Keras takes the largest axis as the model's width, and the two others as heads and head size.
    const Shape& kernel = floats_.kernel;
    if (kernel.rank() != 2 && kernel.rank() != 3)
      throw bad_input("{} takes kernels of 2 or 3 axes, this one has {}", name_of(how_->mode), kernel.rank());
    const bool first = kernel.rank() == 2 || (kernel[0] >= kernel[1] && kernel[0] >= kernel[2]);
    rows = first ? kernel[0] : kernel[0] * kernel[1];
    columns = kernel.size() / rows;
  }
  int place = floats_.bias ? 1 : 0;
  const Shape scale{columns, how_->groups_of(rows)};
  kernel_ = w.add({"kernel", Shape{how_->bits == 4 ? half(columns) : columns, rows}, initializer("zeros"), DType::uint8,
                   false, place++});
  scale_ = w.add({"kernel_scale", scale, initializer("ones"), std::nullopt, false, place++});
  zero_ = w.add(
      {floats_.by_einsum ? "zero_point" : "kernel_zero", scale, initializer("zeros"), DType::uint8, false, place++});
  if (how_->mode == QuantizationMode::awq)
    awq_ = w.add({"awq_scales", Shape{rows}, initializer("ones"), std::nullopt, false, place++});
  groups_ = w.add({"g_idx", Shape{rows}, initializer("zeros"), DType::float32, false, place});
}

ValueId DenseKernel::groups(Call& call) const { return call.builder().cast(call.weight(groups_), DType::int32); }

ValueId DenseKernel::multiply(Call& call, ValueId x, Summand summand) const {
  graph::Builder& b = call.builder();
  x = b.cast(x, call.compute_dtype());  // integers are not yet cast to the compute dtype
  switch (how_->mode) {
    case QuantizationMode::int8:
      return product_of_int8(call, x, summand);
    case QuantizationMode::float8:
      return product_of_floats(call, through_float8(call, x, inputs_scale_),
                               through_float8(call, call.weight(kernel_), scale_), summand);
    case QuantizationMode::int4:
    case QuantizationMode::gptq:
    case QuantizationMode::awq:
      break;
  }
  return product_of_matrix(call, x, summand);
}

/// Returns whether the bias can be fused into the matrix product: not if another term is added before it.
bool DenseKernel::takes_bias(Summand summand) const { return floats_.bias && *floats_.bias == columns_ && !summand; }

/// Adds the remaining terms to a product. `has_bias` means that the product already includes the bias.
ValueId DenseKernel::with_rest(Call& call, ValueId y, Summand summand, bool has_bias) const {
  graph::Builder& b = call.builder();
  if (summand) y = b.binary(BinaryFn::add, y, *summand);
  if (!floats_.bias || has_bias) return y;
  ValueId bias = call.weight(bias_);
  // Keras rounds the bias, so that a GPU can fuse it into the product.
  if (how_->mode == QuantizationMode::float8 && call.compute_dtype() == DType::float32)
    bias = b.cast(b.cast(bias, DType::bfloat16), DType::float32);
  return b.binary(BinaryFn::add, y, bias);
}

ValueId DenseKernel::product_of_int8(Call& call, ValueId x, Summand summand) const {
  graph::Builder& b = call.builder();
  const EinsumLetters& letters = floats_.letters;
  const std::string summed = without(letters.kernel, letters.out), units = without(letters.kernel, summed);
  const std::string rest = without(letters.in, summed);
  // The product is a dense map unless letters in both operands are also in the output (batch axes), or letters only in
  // the input are summed.
  const bool is_dense_map = shared(units, letters.in).empty() && shared(rest, letters.out) == rest &&
                            shared(summed, letters.in) == summed && letters.out.size() == rest.size() + units.size();
  if (!is_dense_map) return sums_of_int8(call, x, summand);
  graph::QuantizedLinear op;
  op.contracted = static_cast<int>(summed.size());
  op.units = columns_;
  op.inputs = inputs_;
  op.bias = takes_bias(summand) && letters.out == rest + units;
  ValueId kernel = call.raw_weight(kernel_), scale = call.weight(scale_);
  if (const auto order = places_of(summed + units, letters.kernel); !is_order(order))
    kernel = b.transpose(kernel, order);
  if (const auto order = places_of(rest + summed, letters.in); !is_order(order)) x = b.transpose(x, order);
  // Scales have the axis order of the output.
  const std::string scale_letters = shared(letters.out, units);
  Shape in_order;
  for (const int axis : places_of(scale_letters, units)) in_order.push_back(columns_[axis]);
  scale = b.reshape(scale, in_order);
  if (const auto order = places_of(units, scale_letters); !is_order(order)) scale = b.transpose(scale, order);
  std::vector<ValueId> inputs = {x, kernel, scale};
  if (op.bias) inputs.push_back(call.weight(bias_));
  ValueId y = b.apply(op, inputs);
  if (const auto order = places_of(letters.out, rest + units); !is_order(order)) y = b.transpose(y, order);
  return with_rest(call, y, summand, op.bias);
}

/// Adds an einsum of integers, for products that are not a dense map.
ValueId DenseKernel::sums_of_int8(Call& call, ValueId x, Summand summand) const {
  graph::Builder& b = call.builder();
  const EinsumLetters& letters = floats_.letters;
  const DType compute = call.compute_dtype();
  // Returns the shape that broadcasts over the output: axes that `letters_of` lacks have size 1.
  const auto aligned = [&](const std::string& letters_of, const Shape& sizes) {
    Shape out;
    for (const char letter : letters.out) {
      const auto axis = letters_of.find(letter);
      out.push_back(axis == std::string::npos ? 1 : sizes[static_cast<int>(axis)]);
    }
    return out;
  };
  ValueId scale = b.reshape(call.weight(scale_), aligned(letters.kernel, floats_.kernel));
  ValueId sums = graph::kNone;
  if (inputs_) {
    const std::string kept = shared(letters.out, letters.in), summed = without(letters.in, letters.out);
    std::vector<int> axes = places_of(summed, letters.in), order = places_of(kept + summed, letters.in);
    std::sort(axes.begin(), axes.end());
    const Shape sizes = b.shape(x);
    const auto parts = b.apply_all(graph::Quantize{axes, *inputs_}, {x});
    ValueId of_x = is_order(order) ? parts[1] : b.transpose(parts[1], order);
    of_x = b.reshape(of_x, aligned(letters.in, sizes));
    sums = b.apply(graph::Einsum{letters.equation()},
                   {b.cast(parts[0], DType::int32), b.cast(call.raw_weight(kernel_), DType::int32)});
    scale = b.binary(BinaryFn::multiply, of_x, scale);
  } else {
    sums = b.apply(graph::Einsum{letters.equation()}, {x, b.cast(call.raw_weight(kernel_), compute)});
  }
  return with_rest(call, b.binary(BinaryFn::divide, b.cast(sums, compute), scale), summand, false);
}

ValueId DenseKernel::product_of_matrix(Call& call, ValueId x, Summand summand) const {
  graph::Builder& b = call.builder();
  const int contracted = floats_.letters.contracted();
  const Dim rows = rows_.size();
  // Keras dequantizes a kernel first if its memory is interpreted with other axes.
  const bool fits = contracted > 0 && how_->mode != QuantizationMode::awq &&
                    (how_->mode == QuantizationMode::int4 || b.shape(call.raw_weight(groups_))[0] == rows);
  if (!fits) return product_of_floats(call, x, dequantized(call), summand);
  graph::QuantizedLinear op;
  op.contracted = contracted;
  op.units = columns_;
  op.grouped = how_->is_grouped();
  op.transposed = is_calibrated();
  op.pairs = how_->bits == 4 ? graph::Pairs::outputs : graph::Pairs::none;
  op.rounded = floats_.by_einsum;
  op.inputs = how_->mode == QuantizationMode::int4 && !op.grouped ? inputs_ : std::nullopt;
  op.bias = takes_bias(summand);
  std::vector<ValueId> inputs = {x, call.raw_weight(kernel_), call.weight(scale_)};
  if (op.grouped) inputs.insert(inputs.end(), {call.raw_weight(zero_), groups(call)});
  if (op.bias) inputs.push_back(call.weight(bias_));
  return with_rest(call, b.apply(op, inputs), summand, op.bias);
}

/// Returns the kernel dequantized to the compute dtype, in its own shape.
ValueId DenseKernel::dequantized(Call& call) const {
  graph::Builder& b = call.builder();
  const bool first = is_calibrated();  // then the first axis of the integers has the columns
  const Shape stored = b.shape(call.raw_weight(kernel_));
  graph::Dequantize op;
  const Dim columns =
      b.shape(call.raw_weight(scale_)).rank() == 1 ? columns_.size() : b.shape(call.raw_weight(scale_))[first ? 0 : 1];
  if (how_->bits == 4) op.nibbles = graph::Nibbles{first ? 0 : 1, columns};
  std::vector<ValueId> inputs = {call.raw_weight(kernel_), call.weight(scale_)};
  if (how_->is_grouped()) {
    op.group_axis = first ? 1 : 0;
    inputs.insert(inputs.end(), {call.raw_weight(zero_), groups(call)});
  }
  ValueId kernel = b.apply(op, inputs);
  if (first) kernel = b.transpose(kernel, {1, 0});
  if (awq_ >= 0) kernel = b.binary(BinaryFn::divide, kernel, b.expand_dims(call.weight(awq_), -1));
  return b.reshape(kernel, floats_.kernel);
}

ValueId DenseKernel::product_of_floats(Call& call, ValueId x, ValueId kernel, Summand summand) const {
  graph::Builder& b = call.builder();
  const EinsumLetters& letters = floats_.letters;
  std::optional<ValueId> scale;
  if (inputs_) {
    // For int4 with a quantizer of inputs: multiplies integers by floats, then by the scale of x.
    const std::string kept = shared(letters.out, letters.in), summed = without(letters.in, letters.out);
    std::vector<int> axes = places_of(summed, letters.in), order = places_of(kept + summed, letters.in);
    std::sort(axes.begin(), axes.end());
    const Shape sizes = b.shape(x);
    const auto parts = b.apply_all(graph::Quantize{axes, *inputs_}, {x});
    Shape wide;
    for (const char letter : letters.out) {
      const auto axis = letters.in.find(letter);
      wide.push_back(axis == std::string::npos ? 1 : sizes[static_cast<int>(axis)]);
    }
    scale = b.reshape(is_order(order) ? parts[1] : b.transpose(parts[1], order), wide);
    x = b.cast(parts[0], call.compute_dtype());
  }
  const int contracted = letters.contracted();
  ValueId y = contracted > 0 ? b.apply(graph::Linear{contracted}, {x, kernel})
                             : b.apply(graph::Einsum{letters.equation()}, {x, kernel});
  if (scale) y = b.binary(BinaryFn::divide, y, *scale);
  return with_rest(call, y, summand, false);
}

ValueId DenseKernel::through_float8(Call& call, ValueId x, int scale) const {
  constexpr double kLargest = 448.0;
  graph::Builder& b = call.builder();
  const ValueId of = b.cast(call.raw_weight(scale), call.compute_dtype());
  const ValueId clipped = b.unary(graph::UnaryFn::clip, b.binary(BinaryFn::divide, x, of), -kLargest, kLargest);
  return b.binary(BinaryFn::multiply, b.unary(graph::UnaryFn::float8_e4m3fn, clipped), of);
}

}  // namespace attn::keras
