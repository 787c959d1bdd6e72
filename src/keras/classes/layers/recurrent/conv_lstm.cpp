// ConvLSTM1D, ConvLSTM2D and ConvLSTM3D: an LSTM with convolutions instead of matrix products
// (keras/src/layers/rnn/conv_lstm.py).
//
// Letters: B batch, T steps, C channels, F filters; the spatial axes are between B and C.
#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "attn/base/text.h"
#include "classes/layers/layers.h"
#include "classes/layers/spatial.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// The holder of the variables, whose name is part of their paths.
class ConvLSTMCell : public Layer {
 public:
  Arg call(Call&) override { throw internal_error("the cell of a ConvLSTM is not called"); }
};
constexpr std::string_view kSymbols =
    "recurrent_kernel: k f 4·f; recurrent_kernel: k_h k_w f 4·f; recurrent_kernel: k_d k_h k_w f 4·f; "
    "kernel: k c_in 4·f; kernel: k_h k_w c_in 4·f; kernel: k_d k_h k_w c_in 4·f; bias: 4·f";
constexpr ClassInfo kCellInfo{
    .name = "ConvLSTMCell", .make = make_layer<ConvLSTMCell>, .since = 300, .role = Role::kernel, .symbols = kSymbols};

class ConvLSTM : public Layer {
 public:
  explicit ConvLSTM(int rank)
      : rank_(rank), kernel_size(window(rank)), strides(window(rank)), dilation_rate(window(rank)) {
    cell_.info = &kCellInfo;
    cell_.name = "conv_lstm_cell";
  }
  void fields(Fields& f) override {
    f("return_sequences", return_sequences);
    f("return_state", return_state);
    f("go_backwards", go_backwards);
    f("stateful", stateful);
    f("unroll", unroll);
    f("zero_output_for_mask", zero_output_for_mask);
    f.required("filters", filters);
    f.required("kernel_size", kernel_size);
    f("strides", strides);
    f("padding", padding);
    format.field(f);
    f("dilation_rate", dilation_rate);
    f("activation", activation);
    f("recurrent_activation", recurrent_activation);
    f("use_bias", use_bias);
    f("kernel_initializer", kernel_initializer);
    f("recurrent_initializer", recurrent_initializer);
    f("bias_initializer", bias_initializer);
    f("unit_forget_bias", unit_forget_bias);
    f("kernel_regularizer", kernel_regularizer);
    f("recurrent_regularizer", recurrent_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("activity_regularizer", activity);
    f("kernel_constraint", kernel_constraint);
    f("recurrent_constraint", recurrent_constraint);
    f("bias_constraint", bias_constraint);
    f("dropout", dropout);
    f("recurrent_dropout", recurrent_dropout);
    f("seed", seed);
  }
  void check(const Ref& config) override {
    const auto above_one = [](const Window& steps) {
      return std::any_of(steps.items.begin(), steps.items.end(), [](std::int64_t step) { return step > 1; });
    };
    if (above_one(strides) && above_one(dilation_rate))
      config["strides"].fail("strides > 1 and dilation_rate > 1 cannot be used together");
    for (const char* key : {"activation", "recurrent_activation"})
      if ((key[0] == 'a' ? activation : recurrent_activation).whole == WholeActivation::glu)
        config[key].fail("a recurrent layer needs an activation that keeps the shape, got " + config[key].kind());
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"sequences", "initial_state", "mask", "training"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] Masks compute_mask(Call&, const Masks& previous) override {
    if (!return_sequences || previous.empty()) return {};
    return {previous.front()};
  }
  [[nodiscard]] std::vector<Sublayer> sublayers() override { return {{&cell_, cell_.name + "/", "cell/"}}; }

  void build(Weights&, Call& call) override {
    const Shape in = call.shape("sequences");
    expect_rank(in, rank_ + 3);
    // The images of a sequence are (C, …) or (…, C); a step has no time axis.
    const Dim channels = in[format.channels_first() ? 2 : in.rank() - 1];
    if (channels == kUnknown) throw bad_input("the channels of the input must be known, got {}", in.str());
    const auto gates = checked_mul(filters, std::int64_t{4});
    if (!gates) throw bad_input("{} filters are too many", filters.value);
    cell_.policy = policy;
    cell_.trainable = trainable;
    Weights own(cell_.weights, policy.variable, trainable);
    Shape kernel(kernel_size.items), recurrent = kernel;
    kernel.append({channels, *gates});
    recurrent.append({filters, *gates});
    own.add("kernel", kernel, kernel_initializer);
    own.add("recurrent_kernel", recurrent, recurrent_initializer);
    if (use_bias) {
      graph::Initializer bias = bias_initializer.value;
      bias.unit_forget = unit_forget_bias;
      own.add("bias", {*gates}, bias);
    }
    cell_.built = true;
  }

  Arg call(Call& call) override {
    if (call.lowering().training != nullptr && (dropout > 0.0 || recurrent_dropout > 0.0))
      throw bad_input("the dropout of a ConvLSTM is not supported in training; set it to 0");
    Builder& b = call.builder();
    const LayerScope scope(call.lowering(), name);
    const Expression projected = projections(call);
    const Shape shape = projected.shape();  // (B, T, spatial…, 4F)
    if (shape[1] == kUnknown || !shape.slice(2, shape.rank()).known()) return only_shapes(b, shape);
    return over_time(call, projected);
  }

 private:
  static Window window(int rank) { return {std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1)}; }
  static constexpr Dim kMaxUnrolled = 4096;

  [[nodiscard]] ValueId variable(Call& call, int index) {
    return call.builder().cast(call.lowering().weight(cell_, index), policy.compute);
  }

  /// The contribution of all inputs to the gates: one convolution of B·T images.
  [[nodiscard]] Expression projections(Call& call) {
    Builder& b = call.builder();
    const ValueId x = b.cast(call.tensor("sequences")->id, policy.compute);
    const Shape in = b.shape(x);
    Shape images{in[0] == kUnknown || in[1] == kUnknown ? kUnknown : times(in[0], in[1])};
    images.append(in.slice(2, in.rank()));
    graph::Conv conv;
    conv.strides = strides.items;
    conv.dilation = dilation_rate.items;
    if (padding.value == "same") conv.padding = graph::Padding::same;
    conv.bias = use_bias;
    std::vector<ValueId> inputs = {format.channels_last(b, b.apply(graph::Reshape{images}, {x})), variable(call, 0)};
    if (use_bias) inputs.push_back(variable(call, 2));
    const ValueId out = b.apply(conv, inputs);
    Shape apart{in[0], in[1]};
    apart.append(b.shape(out).slice(1, b.shape(out).rank()));
    return {b, b.apply(graph::Reshape{apart}, {out})};
  }

  [[nodiscard]] ValueId given_format(Builder& b, ValueId image) const { return format.as_given(b, image); }

  /// Stacks images in the data format to (B, T, …).
  [[nodiscard]] ValueId stacked(Builder& b, const std::vector<ValueId>& images) const {
    std::vector<ValueId> steps;
    for (const ValueId image : images) steps.push_back(b.expand_dims(given_format(b, image), 1));
    return steps.size() == 1 ? steps.front() : b.apply(graph::Concat{1}, steps);
  }

  /// For summaries with an unknown length.
  [[nodiscard]] Arg only_shapes(Builder& b, const Shape& projected) const {
    Shape image{projected[0]};
    image.append(projected.slice(2, projected.rank()));
    image[image.rank() - 1] = filters;
    const ValueId one = given_format(b, b.apply(graph::Fill{image, policy.compute, 0.0}, {}));
    Shape all = b.shape(one).slice(0, 1);
    all.push_back(projected[1]);
    all.append(b.shape(one).slice(1, b.shape(one).rank()));
    const ValueId output = return_sequences ? b.apply(graph::Fill{all, policy.compute, 0.0}, {}) : one;
    if (!return_state) return Call::result(output);
    return ArgList{Call::result(output), Call::result(one), Call::result(one)};
  }

  [[nodiscard]] Arg over_time(Call& call, const Expression& projected) {
    Builder& b = call.builder();
    const Shape shape = projected.shape();
    const Dim length = shape[1];
    if (length < 1 || length > kMaxUnrolled)
      throw bad_input("{} steps cannot be run; from 1 to {} can", length, kMaxUnrolled);
    Shape gates{shape[0]};
    gates.append(shape.slice(2, shape.rank()));
    Shape state = gates;
    state[state.rank() - 1] = filters;

    const Expression zeros{b, b.apply(graph::Fill{state, policy.compute, 0.0}, {})};
    Expression h = zeros, c = zeros, output = zeros;
    if (call.has("initial_state")) {
      const std::vector<TensorPtr> initial = tensors_of(call.arg("initial_state"));
      if (initial.size() != 2) throw bad_input("expected 2 initial states, got {}", initial.size());
      h = {b, format.channels_last(b, b.cast(initial[0]->id, policy.compute))};
      c = {b, format.channels_last(b, b.cast(initial[1]->id, policy.compute))};
    }
    std::optional<ValueId> mask;
    if (const TensorPtr given = call.optional_tensor("mask")) mask = b.cast(given->id, DType::boolean);

    const Expression kernel{b, variable(call, 1)};
    graph::Conv conv;
    conv.strides = conv.dilation = std::vector<std::int64_t>(static_cast<std::size_t>(rank_), 1);
    conv.padding = graph::Padding::same;
    const auto act = [&](const Activation& function, const Expression& x) {
      // The activation is applied in the layer's data format, because softmax works on its last axis.
      return Expression{b, format.channels_last(b, function.apply(b, given_format(b, x)))};
    };
    std::vector<ValueId> outputs;
    for (Dim step = 0; step < length; ++step) {
      const Dim at = go_backwards ? length - 1 - step : step;
      const Expression x{b, b.apply(graph::Reshape{gates}, {sliced(b, projected, 1, {at, at + 1, 1})})};
      const Expression z = x + Expression{b, b.apply(conv, {h, kernel})};
      const auto gate = [&](std::int64_t index) {
        return Expression{b, sliced(b, z, z.shape().rank() - 1, {index * filters, (index + 1) * filters, 1})};
      };
      const Expression next_c =
          act(recurrent_activation, gate(1)) * c + act(recurrent_activation, gate(0)) * act(activation, gate(2));
      const Expression next_h = act(recurrent_activation, gate(3)) * act(activation, next_c);
      if (mask) {
        Shape ones{state[0]};
        for (int axis = 1; axis < state.rank(); ++axis) ones.push_back(1);
        const Expression kept{b, b.apply(graph::Reshape{ones}, {sliced(b, *mask, 1, {at, at + 1, 1})})};
        output = where(kept, next_h, zero_output_for_mask ? zeros : output);
        h = where(kept, next_h, h);
        c = where(kept, next_c, c);
      } else {
        output = h = next_h;
        c = next_c;
      }
      if (return_sequences) outputs.push_back(output);
    }
    const TensorPtr out = Call::result(return_sequences ? stacked(b, outputs) : given_format(b, output));
    if (!return_state) return out;
    return ArgList{out, Call::result(given_format(b, h)), Call::result(given_format(b, c))};
  }

  int rank_;
  ConvLSTMCell cell_;
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false;
  bool zero_output_for_mask = false;
  Positive filters;
  Window kernel_size, strides, dilation_rate;
  Choice padding{"valid", {"valid", "same"}};
  DataFormat format;
  Activation activation = *Activation::named("tanh"), recurrent_activation = *Activation::named("sigmoid");
  bool use_bias = true, unit_forget_bias = true;
  Initializer kernel_initializer{"glorot_uniform"}, recurrent_initializer{"orthogonal"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer, activity;
  Constraint kernel_constraint, recurrent_constraint, bias_constraint;
  Number dropout, recurrent_dropout;
  Opaque seed;
};

constexpr std::array kConvLstmClasses = {
    ClassInfo{
        .name = "ConvLSTM1D", .make = make_with<ConvLSTM, 1>, .since = 300, .role = Role::kernel, .symbols = kSymbols},
    ClassInfo{
        .name = "ConvLSTM2D", .make = make_with<ConvLSTM, 2>, .since = 300, .role = Role::kernel, .symbols = kSymbols},
    ClassInfo{
        .name = "ConvLSTM3D", .make = make_with<ConvLSTM, 3>, .since = 300, .role = Role::kernel, .symbols = kSymbols},
};

}  // namespace

Family conv_lstm_classes() { return kConvLstmClasses; }

}  // namespace attn::keras
