// Activations as separate layers (keras/src/layers/activations).
#include <array>

#include "classes/any_number.h"
#include "classes/layers/axes.h"
#include "classes/layers/layers.h"
#include "config/activated.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;
using graph::ValueId;

void expect_not_negative(const Ref& config, std::string_view key, double value) {
  if (!(value >= 0.0)) config[key].fail("expected a number >= 0, got " + config[key].kind());
}

class ReLU : public Layer {
 public:
  void fields(Fields& f) override {
    f("max_value", max_value);
    f("negative_slope", negative_slope);
    f("threshold", threshold);
  }
  void check(const Ref& config) override {
    if (max_value) expect_not_negative(config, "max_value", *max_value);
    expect_not_negative(config, "negative_slope", negative_slope);
    expect_not_negative(config, "threshold", threshold);
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    const double greatest = max_value ? max_value->value : kInfinity;
    return Call::result(
        activated(call.builder(), {UnaryFn::relu, negative_slope, threshold, greatest}, call.tensor("inputs")->id));
  }

 private:
  std::optional<AnyNumber> max_value;
  Number negative_slope = 0.0, threshold = 0.0;
};

class LeakyReLU : public Layer {
 public:
  void fields(Fields& f) override {
    if (f.reading() && f.config().find("alpha")) f("alpha", negative_slope);  // the key in Keras 2
    f("negative_slope", negative_slope);
  }
  void check(const Ref& config) override {
    expect_not_negative(config, config.find("negative_slope") ? "negative_slope" : "alpha", negative_slope);
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    return Call::result(
        activated(call.builder(), {UnaryFn::relu, negative_slope, 0.0, kInfinity}, call.tensor("inputs")->id));
  }

 private:
  Number negative_slope = 0.3;
};

/// max(0, x) − alpha·max(0, −x). There is one alpha for each element of a sample; elements along `shared_axes` share
/// it.
class PReLU : public Layer {
 public:
  void fields(Fields& f) override {
    f("alpha_initializer", alpha_initializer);
    f("alpha_regularizer", alpha_regularizer);
    f("alpha_constraint", alpha_constraint);
    if (f.reading()) {
      if (const auto ref = f.take("shared_axes"); ref && !ref->is_null()) f("shared_axes", shared_axes.emplace());
    } else {
      f.put("shared_axes", shared_axes ? Json(listed(*shared_axes)) : Json());
    }
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("inputs");
    Shape alpha = in.slice(1, in.rank());
    for (const std::int64_t axis : shared_axes ? listed(*shared_axes) : std::vector<std::int64_t>()) {
      if (axis < 1 || axis > alpha.rank()) throw bad_input("shared_axes holds {}, the input is {}", axis, in.str());
      alpha[static_cast<int>(axis) - 1] = 1;
    }
    w.add("alpha", alpha, alpha_initializer);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const auto positive = [&](ValueId value) { return b.unary(UnaryFn::relu, value, 0.0, 0.0, kInfinity); };
    const ValueId below = b.binary(BinaryFn::multiply, call.weight(0), positive(b.unary(UnaryFn::negative, x)));
    return Call::result(b.binary(BinaryFn::subtract, positive(x), below));
  }

 private:
  Initializer alpha_initializer{"zeros"};
  Regularizer alpha_regularizer;
  Constraint alpha_constraint;
  std::optional<Axes> shared_axes;
};

class ELU : public Layer {
 public:
  /// Keras writes `alpha` from the constructor arguments, before the layer's own keys.
  void config(Fields& f) override {
    f("name", name);
    f("alpha", alpha, alpha == 1.0 ? 312 : kOldest);  // accepted before 3.12, but not written
    f("trainable", trainable);
    f("dtype", policy);
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    return Call::result(call.builder().unary(UnaryFn::elu, call.tensor("inputs")->id, alpha));
  }

 private:
  Number alpha = 1.0;
};

/// Softmax over `axis`. Masked elements become −1e9 (−3e4 in float16) before it, and 0 after it; in Keras 2 the results
/// are not set to 0.
class Softmax : public Layer {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "mask"};
    return kNames;
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    ValueId x = call.tensor("inputs")->id;
    const Shape in = b.shape(x);
    std::optional<ValueId> kept;
    const TensorPtr mask = call.optional_tensor("mask");
    if (mask && call.lowering().watches_masks()) {
      // The mask is not applied, because symbolic attention scores may have another shape than their mask.
      call.lowering().note_mask_use();
    } else if (mask) {
      const Shape shape = b.shape(mask->id);
      const auto fits = broadcast(shape, in);
      if (shape.rank() > in.rank() || !fits)
        throw bad_input("a mask {} does not fit the input {}", shape.str(), in.str());
      kept = mask->id;
      if (b.dtype(*kept) != DType::boolean) kept = b.binary(BinaryFn::greater, *kept, b.scalar_like(*kept, 0.5));
      const double excluded = b.dtype(x) == DType::float16 ? -3e4 : -1e9;
      x = b.apply(graph::Select{}, {*kept, x, b.scalar_like(x, excluded)});
    }
    ValueId y = b.apply(graph::Softmax{graph::SoftmaxKind::softmax, axes_of(axis, in.rank())}, {x});
    if (kept && !follows_keras2()) y = b.apply(graph::Select{}, {*kept, y, b.scalar_like(y, 0.0)});
    return Call::result(y);
  }

 private:
  Axes axis = std::int64_t{-1};
};

constexpr std::array kThresholdedKeras2 = {Keras2Key{"theta", "threshold"}};
constexpr std::array kLeakyKeras2 = {Keras2Key{"alpha", "negative_slope"}};
constexpr std::array kSoftmaxKeras2 = {Keras2Key{"robust_masking"}};

constexpr std::array kActivationClasses = {
    ClassInfo{.name = "ReLU",
              .make = make_layer<ReLU>,
              .since = 300,
              .role = Role::activation,
              .keras2_keys = kThresholdedKeras2,
              .keras2_names = "ThresholdedReLU"},
    ClassInfo{.name = "LeakyReLU",
              .make = make_layer<LeakyReLU>,
              .since = 300,
              .role = Role::activation,
              .keras2_keys = kLeakyKeras2},
    ClassInfo{.name = "PReLU", .make = make_layer<PReLU>, .since = 300, .role = Role::activation},
    ClassInfo{.name = "ELU", .make = make_layer<ELU>, .since = 300, .role = Role::activation},
    ClassInfo{.name = "Softmax",
              .make = make_layer<Softmax>,
              .since = 300,
              .role = Role::activation,
              .keras2_keys = kSoftmaxKeras2},
};

}  // namespace

Family activation_classes() { return kActivationClasses; }

}  // namespace attn::keras
