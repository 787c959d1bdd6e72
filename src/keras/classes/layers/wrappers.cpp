// Bidirectional, TimeDistributed (keras/src/layers/rnn) and SpectralNormalization.
#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "classes/layers/layers.h"
#include "classes/layers/recurrent/rnn.h"
#include "classes/reading.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

std::string without_prefix(const std::string& text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// A recurrent layer for the sequence, and one for the reversed sequence.
class Bidirectional : public Layer {
 public:
  void fields(Fields& f) override {
    f("merge_mode", merge_mode);
    if (!f.reading()) {
      f("layer", forward_);
      f("backward_layer", backward_);
      return;
    }
    f.required("layer", forward_);
    if (!forward_) return;
    const std::string given = forward_->name;
    forward_->name = "forward_" + without_prefix(given, "forward_");
    if (const auto ref = f.take("backward_layer"); ref && !ref->is_null()) {
      f("backward_layer", backward_);
      return;
    }
    std::vector<std::string> again;  // repeats the warnings about the same config, so they are dropped
    backward_ = read_layer(f.config()["layer"], again);
    backward_->name = "backward_" + without_prefix(given, "backward_");
    if (auto* backward = dynamic_cast<Recurrent*>(backward_.get())) backward->go_backwards = true;
  }

  void check(const Ref& config) override {
    static constexpr std::array<std::string_view, 4> kModes = {"concat", "sum", "ave", "mul"};
    if (merge_mode && std::find(kModes.begin(), kModes.end(), *merge_mode) == kModes.end())
      config["merge_mode"].fail("expected one of concat, sum, ave, mul, or null, got " + config["merge_mode"].kind());
    const Ref first = config["layer"];
    if (dynamic_cast<Recurrent*>(forward_.get()) == nullptr || dynamic_cast<Recurrent*>(backward_.get()) == nullptr)
      first.fail(fmt::format("Bidirectional wraps recurrent layers, got {} and {}", forward_->class_name(),
                             backward_->class_name()));
    if (forward().go_backwards == backward().go_backwards) first.fail("one of the two layers must go backwards");
    if (forward().return_sequences != backward().return_sequences ||
        forward().return_state != backward().return_state || forward().stateful != backward().stateful)
      first.fail("both layers must have the same return_sequences, return_state and stateful");
    // The outputs of the two directions are merged, so a masked step must not repeat an earlier output of its own
    // direction.
    for (Recurrent* layer : {&forward(), &backward()}) layer->zero_output_for_mask = layer->return_sequences;
  }

  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"sequences", "initial_state", "mask", "training"};
    return kNames;
  }
  [[nodiscard]] std::vector<Sublayer> sublayers() override {
    return {{forward_.get(), forward_->name + "/", "forward_layer/"},
            {backward_.get(), backward_->name + "/", "backward_layer/"}};
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    std::vector<TensorPtr> initial;
    if (call.has("initial_state")) initial = tensors_of(call.arg("initial_state"));
    const auto half = static_cast<std::ptrdiff_t>(initial.size() / 2);
    const LayerScope scope(call.lowering(), name);
    const auto run = [&](Recurrent& layer, auto first, auto last) {
      ArgDict kwargs;
      if (call.has("mask")) kwargs.emplace_back("mask", call.arg("mask"));
      if (first != last) kwargs.emplace_back("initial_state", ArgList(first, last));
      return tensors_of(call.lowering().apply(layer, ArgList{call.arg("sequences")}, kwargs));
    };
    auto results = run(forward(), initial.begin(), initial.begin() + half);
    auto reversed = run(backward(), initial.begin() + half, initial.end());

    const ValueId y = b.cast(results.front()->id, call.compute_dtype());
    ValueId z = b.cast(reversed.front()->id, call.compute_dtype());
    if (forward().return_sequences) {
      graph::Slice flip;
      flip.ranges.resize(3);
      flip.ranges[1].step = -1;
      z = b.apply(flip, {z});
    }
    ArgList out;
    if (!merge_mode) {
      out = {Call::result(y), Call::result(z)};
    } else if (*merge_mode == "concat") {
      out = {Call::result(b.apply(graph::Concat{b.shape(y).rank() - 1}, {y, z}))};
    } else if (*merge_mode == "mul") {
      out = {Call::result(b.binary(BinaryFn::multiply, y, z))};
    } else {
      ValueId sum = b.binary(BinaryFn::add, y, z);
      if (*merge_mode == "ave") sum = b.binary(BinaryFn::divide, sum, b.scalar_like(sum, 2.0));
      out = {Call::result(sum)};
    }
    for (const auto* states : {&results, &reversed}) out.insert(out.end(), states->begin() + 1, states->end());
    return out.size() == 1 ? Arg(out.front()) : Arg(out);
  }

  /// Keras's Bidirectional.compute_output_shape uses only the forward layer.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("sequences");
    Shape out = {in[0]};
    if (forward().return_sequences) out.push_back(in[1]);
    out.push_back(forward().cell().output_size());
    if (merge_mode == "concat") out[-1] *= 2;
    std::vector<Shape> shapes(merge_mode ? 1 : 2, out);
    if (forward().return_state)
      for (int direction = 0; direction < 2; ++direction)
        for (const Dim units : forward().cell().state_sizes()) shapes.push_back({in[0], units});
    return shapes;
  }

  Masks compute_mask(Call&, const Masks& previous) override {
    if (!forward().return_sequences || previous.empty()) return {};
    const Masks one = {previous.front()};
    return merge_mode ? one : Masks{previous.front(), previous.front()};
  }

 private:
  [[nodiscard]] Recurrent& forward() { return static_cast<Recurrent&>(*forward_); }
  [[nodiscard]] Recurrent& backward() { return static_cast<Recurrent&>(*backward_); }

  std::optional<std::string> merge_mode = "concat";
  LayerPtr forward_, backward_;
};

/// Applies a layer to each step of (B, T, …): steps become part of the batch, (B·T, …).
class TimeDistributed : public Layer {
 public:
  void fields(Fields& f) override { f.required("layer", layer_); }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"inputs", "training", "mask"};
    return kNames;
  }
  [[nodiscard]] std::vector<Sublayer> sublayers() override {
    // A functional model is built before it is wrapped, so its paths do not include the wrapper.
    const bool detached = layer_->is_functional();
    return {{layer_.get(), detached ? "" : layer_->name + "/", "layer/", detached}};
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const Shape in = b.shape(x);
    if (in.rank() < 3) throw bad_input("expected an input (batch, time, …), got {}", in.str());
    ArgDict kwargs;
    const TensorPtr mask = call.optional_tensor("mask");
    if (mask) {
      const Shape shape = b.shape(mask->id);
      if (shape.rank() < 2 || !agrees(shape[0], in[0]) || !agrees(shape[1], in[1]))
        throw bad_input("a mask {} does not fit the input {}", shape.str(), in.str());
      const auto names = layer_->arguments();
      if (std::find(names.begin(), names.end(), "mask") != names.end())
        kwargs.emplace_back("mask", Call::result(b.reshape(mask->id, merged(shape))));
    }
    const LayerScope scope(call.lowering(), name);
    const TensorPtr steps = Call::result(b.reshape(x, merged(in)));
    const auto results = tensors_of(call.lowering().apply(*layer_, ArgList{steps}, kwargs));
    if (results.size() != 1) throw bad_input("TimeDistributed needs a layer with one result, got {}", results.size());
    const Shape result = b.shape(results.front()->id);
    Shape out = in.slice(0, 2);
    out.append(result.slice(1, result.rank()));
    return Call::result(b.reshape(results.front()->id, out));
  }

 private:
  static bool agrees(Dim a, Dim b) { return a == kUnknown || b == kUnknown || a == b; }
  /// Merges the first two axes: (B, T, …) → (B·T, …).
  static Shape merged(const Shape& shape) {
    Shape out = {kUnknown};
    if (shape[0] != kUnknown && shape[1] != kUnknown) {
      const auto both = checked_mul(shape[0], shape[1]);
      if (!both) throw bad_input("{} samples of {} steps are too many", shape[0], shape[1]);
      out[0] = *both;
    }
    out.append(shape.slice(2, shape.rank()));
    return out;
  }

  LayerPtr layer_;
};

/// Divides a kernel by its largest singular value in training; a run uses the kernel unchanged.
class SpectralNormalization : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("layer", layer_);
    f("power_iterations", power_iterations);
  }
  [[nodiscard]] std::vector<Sublayer> sublayers() override { return {{layer_.get(), layer_->name + "/", "layer/"}}; }
  [[nodiscard]] std::optional<int> borrowed_weight() const override { return kernel_; }

  void build(Weights& w, Call& call) override {
    if (!layer_->built) {
      Weights own(layer_->weights, layer_->policy.variable, layer_->trainable);
      Call inner(call.lowering(), *layer_, {{std::string(layer_->arguments().front()), call.arg("inputs")}});
      layer_->build(own, inner);
      layer_->built = true;
    }
    for (std::size_t i = 0; i < layer_->weights.size(); ++i) {
      const graph::WeightSpec& spec = layer_->weights[i];
      if (spec.path != "kernel" && spec.path != "embeddings") continue;
      kernel_ = static_cast<int>(i);
      w.count_borrowed();
      Initializer initializer("truncated_normal");
      initializer.value.stddev = 0.02;
      w.set_dtype(spec.dtype);
      w.add("vector_u", {1, spec.shape.back()}, initializer, false);
      return;
    }
    throw bad_input("the layer {} has neither a kernel nor embeddings to normalize", layer_->class_name());
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr input = call.tensor("inputs");
    const auto results = tensors_of(call.lowering().apply(*layer_, ArgList{input}, ArgDict{}));
    if (results.size() != 1) throw bad_input("SpectralNormalization needs a layer with one result");
    return Call::result(call.builder().cast(results.front()->id, call.builder().dtype(input->id)));
  }

 private:
  LayerPtr layer_;
  Positive power_iterations = 1;
  std::optional<int> kernel_;  // the normalized variable, as an index in the layer's weights
};

constexpr std::array kBidirectionalKeras2 = {Keras2Key{"num_constants", {}, "0"}};

constexpr std::array kWrapperClasses = {
    ClassInfo{
        .name = "Bidirectional", .make = make_layer<Bidirectional>, .since = 300, .keras2_keys = kBidirectionalKeras2},
    ClassInfo{.name = "TimeDistributed", .make = make_layer<TimeDistributed>, .since = 300},
    ClassInfo{.name = "SpectralNormalization",
              .make = make_layer<SpectralNormalization>,
              .since = 300,
              .role = Role::normalization},
};

}  // namespace

Family wrapper_classes() { return kWrapperClasses; }

}  // namespace attn::keras
