// The shape rules of training operations. A gradient has the type of its value.
#include "attn/base/error.h"
#include "attn/graph/range.h"
#include "infer.h"

namespace attn::graph {

Types infer_types(const UnaryGrad& op, Inputs in) {
  expect_inputs(in, 2);
  expect_floating(in[0].dtype, "a gradient");
  static_cast<void>(result_of_activation(op.forward, in[0].dtype));
  expect_type(in[1], in[0], "dy");
  return {in[0]};
}

Types infer_types(const LayerNormGrad& op, Inputs in) {
  expect_inputs(in, op.forward.scale ? 3 : 2);
  LayerNorm forward = op.forward;
  forward.center = false;
  expect_type(in.back(), infer_types(forward, in.first(in.size() - 1))[0], "dy");
  Types out(in.begin(), in.end() - 1);
  if (!op.forward.center) return out;
  Shape sizes;
  for (const int axis : op.forward.axes) sizes.push_back(in[0].shape[axis]);
  out.push_back({out.back().dtype, sizes});
  return out;
}

namespace {

/// Resolves `axis`, and checks the mask against x.
int channel_axis(const BatchNormTraining& op, const Shape& x) {
  const auto axis = normalize_axis(op.axis, x.rank());
  if (!axis) throw bad_input("axis {} is outside of its input, whose shape is {}", op.axis, x.str());
  return *axis;
}

void expect_batch_mask(const TensorType& mask, const Shape& x) {
  expect_bool(mask.dtype, "the mask");
  expect_shape(mask.shape, x.slice(0, x.rank() - 1), "the mask");
}

}  // namespace

Types infer_types(const BatchNormTraining& op, Inputs in) {
  expect_inputs(in, 1U + (op.scale ? 1U : 0U) + (op.center ? 1U : 0U) + (op.mask ? 1U : 0U));
  expect_floating(in[0].dtype, name_of(op));
  const TensorType channels{in[0].dtype, Shape{in[0].shape[channel_axis(op, in[0].shape)]}};
  std::size_t next = 1;
  if (op.scale) expect_type(in[next++], channels, "gamma");
  if (op.center) expect_type(in[next++], channels, "beta");
  if (op.mask) expect_batch_mask(in[next], in[0].shape);
  return {in[0], channels, channels};
}

Types infer_types(const BatchNormGrad& op, Inputs in) {
  const BatchNormTraining& forward = op.forward;
  expect_inputs(in, 4U + (forward.scale ? 1U : 0U) + (forward.mask ? 1U : 0U));
  expect_floating(in[0].dtype, name_of(op));
  const TensorType channels{in[0].dtype, Shape{in[0].shape[channel_axis(forward, in[0].shape)]}};
  std::size_t next = 1;
  if (forward.scale) expect_type(in[next++], channels, "gamma");
  if (forward.mask) expect_batch_mask(in[next++], in[0].shape);
  expect_type(in[next], channels, "the mean");
  expect_type(in[next + 1], channels, "the variance");
  expect_type(in[next + 2], in[0], "dy");
  Types out{in[0]};
  out.insert(out.end(), (forward.scale ? 1U : 0U) + (forward.center ? 1U : 0U), channels);
  return out;
}

Types infer_types(const Scatter& op, Inputs in) {
  expect_inputs(in, 1);
  expect_dims(op.shape);
  expect_shape(in[0].shape, infer_types(Slice{op.ranges}, std::vector<TensorType>{{in[0].dtype, op.shape}})[0].shape,
               "the scattered array");
  return {{in[0].dtype, op.shape}};
}

Types infer_types(const ScatterAdd& op, Inputs in) {
  expect_inputs(in, 2);
  if (!is_integer(in[1].dtype)) throw bad_input("indices must be integers, they are {}", name_of(in[1].dtype));
  expect_number(in[0].dtype, name_of(op));
  expect_dims(Shape{op.size});
  const Shape& updates = in[0].shape;
  const Shape& indices = in[1].shape;
  const int behind = op.axis + indices.rank();
  if (op.axis < 0 || behind > updates.rank())
    throw bad_input("updates {} have no axes {} from axis {} on", updates.str(), indices.str(), op.axis);
  expect_shape(updates.slice(op.axis, behind), indices, "the updates' indices");
  Shape table = updates.slice(0, op.axis);
  table.push_back(op.size);
  table.append(updates.slice(behind, updates.rank()));
  return {{in[0].dtype, table}};
}

namespace {

void expect_plain(const Conv& op) {
  if (op.bias || op.activation.fn != UnaryFn::linear)
    throw internal_error("the gradient of a convolution covers only its product");
}

}  // namespace

Types infer_types(const ConvInputGrad& op, Inputs in) {
  expect_inputs(in, 2);
  expect_plain(op.forward);
  const TensorType x{in[0].dtype, op.input};
  expect_type(in[1], infer_types(op.forward, std::vector<TensorType>{x, in[0]})[0], "dy");
  return {x};
}

Types infer_types(const ConvKernelGrad& op, Inputs in) {
  expect_inputs(in, 2);
  expect_plain(op.forward);
  const TensorType kernel{in[0].dtype, op.kernel};
  expect_type(in[1], infer_types(op.forward, std::vector<TensorType>{in[0], kernel})[0], "dy");
  return {kernel};
}

Types infer_types(const PoolGrad& op, Inputs in) {
  expect_inputs(in, op.forward.average ? 1 : 2);
  const TensorType x{in.back().dtype, op.input};
  expect_floating(x.dtype, name_of(op));
  if (!op.forward.average) expect_type(in[0], x, "x");
  expect_type(in.back(), infer_types(op.forward, std::vector<TensorType>{x})[0], "dy");
  return {x};
}

Types infer_types(const RnnGrad& op, Inputs in) {
  const Rnn& forward = op.forward;
  const std::size_t states = forward.cell == RnnCell::lstm ? 2 : 1;
  const std::size_t given =
      3U + (forward.bias ? 1U : 0U) + (forward.mask ? 1U : 0U) + (forward.initial_state ? states : 0U);
  expect_inputs(in, given + 1U + (forward.return_state ? states : 0U));
  const Types out = infer_types(forward, in.first(given));
  for (std::size_t i = 0; i < out.size(); ++i) expect_type(in[given + i], out[i], "the gradient of an output");
  Types gradients;
  for (const TensorType& type : in.first(given))
    if (is_floating(type.dtype)) gradients.push_back(type);
  return gradients;
}

namespace {

/// Infers the type of one number per row of logits.
TensorType rows_of(const TensorType& logits, const TensorType& labels) {
  expect_floating(logits.dtype, "cross-entropy");
  const int rank = logits.shape.rank();
  if (rank < 1) throw bad_input("logits must have an axis of classes");
  const Shape rows = logits.shape.slice(0, rank - 1);
  if (is_integer(labels.dtype)) {
    expect_shape(labels.shape, rows, "the labels");
  } else {
    expect_type(labels, logits, "the probabilities");
  }
  return {logits.dtype, rows};
}

}  // namespace

Types infer_types(const SoftmaxCrossEntropy&, Inputs in) {
  expect_inputs(in, 2);
  return {rows_of(in[0], in[1])};
}

Types infer_types(const SoftmaxCrossEntropyGrad&, Inputs in) {
  expect_inputs(in, 3);
  expect_type(in[2], rows_of(in[0], in[1]), "dy");
  return {in[0]};
}

Types infer_types(const Dropout& op, Inputs in) {
  expect_inputs(in, 2);
  expect_floating(in[0].dtype, name_of(op));
  if (!(op.rate >= 0.0 && op.rate < 1.0)) throw bad_input("a rate of {} is not in [0, 1)", op.rate);
  if (in[1].dtype != DType::int64) throw bad_input("the count must be int64, it is {}", name_of(in[1].dtype));
  expect_rank(in[1].shape, 0, "the count");
  const auto shape = broadcast(op.noise, in[0].shape);
  if (!shape || shape->rank() != in[0].shape.rank())
    throw bad_input("the noise {} does not broadcast to {}", op.noise.str(), in[0].shape.str());
  expect_shape(*shape, in[0].shape, "the broadcast noise");
  return {in[0]};
}

}  // namespace attn::graph
