// Layers that act only in training: a run returns their input, the same object with its mask.
#include <array>
#include <cmath>

#include "classes/layers/layers.h"
#include "classes/layers/spatial.h"
#include "classes/ops/expression.h"
#include "classes/training.h"

namespace attn::keras {
namespace {

class TrainingOnly : public Layer {
 public:
  [[nodiscard]] bool supports_masking() const override { return true; }
  Arg call(Call& call) override { return call.arg("inputs"); }

 protected:
  static void expect_share(const Ref& config, std::string_view key, double value) {
    if (!(value >= 0.0 && value <= 1.0)) config[key].fail("expected a number from 0 to 1, got " + config[key].kind());
  }
  /// Throws Error if the rate is 1 or more, because Keras divides by 1 − rate.
  static void expect_below_one(double rate) {
    if (rate >= 1.0) throw bad_input("training is not possible with a rate of 1");
  }
};

class GaussianNoise : public TrainingOnly {
 public:
  void fields(Fields& f) override {
    f.required("stddev", stddev);
    f("seed", seed);
  }
  void check(const Ref& config) override { expect_share(config, "stddev", stddev); }
  Arg call(Call& call) override {
    if (!drops(call, stddev)) return TrainingOnly::call(call);
    const Expression x(call.builder(), call.tensor("inputs")->id);
    const Expression noise(call.builder(), normal_noise(call, x.shape(), seed.json));
    return Call::result(x + noise * stddev.value);
  }

 private:
  Number stddev;
  Opaque seed;
};

class GaussianDropout : public TrainingOnly {
 public:
  void fields(Fields& f) override {
    f.required("rate", rate);
    f("seed", seed);
  }
  void check(const Ref& config) override { expect_share(config, "rate", rate); }
  Arg call(Call& call) override {
    if (!drops(call, rate)) return TrainingOnly::call(call);
    expect_below_one(rate);
    const Expression x(call.builder(), call.tensor("inputs")->id);
    const Expression noise(call.builder(), normal_noise(call, x.shape(), seed.json));
    return Call::result(x * (noise * std::sqrt(rate / (1.0 - rate)) + 1.0));
  }

 private:
  Number rate;
  Opaque seed;
};

class AlphaDropout : public TrainingOnly {
 public:
  void fields(Fields& f) override {
    f.required("rate", rate);
    f("seed", seed);
    f("noise_shape", noise_shape);
  }
  void check(const Ref& config) override { expect_share(config, "rate", rate); }
  /// In training, dropped elements become selu's lower limit. Then all elements are scaled and shifted to keep mean and
  /// variance.
  Arg call(Call& call) override {
    if (!drops(call, rate)) return TrainingOnly::call(call);
    expect_below_one(rate);
    graph::Builder& b = call.builder();
    const Expression x(b, call.tensor("inputs")->id);
    const Shape noise = noise_of(noise_shape.json, x.shape());
    const Expression ones(b, b.apply(graph::Fill{noise, DType::float32, 1.0}, {}));
    const Expression drawn(b, dropped(call, ones, rate, seed.json, noise));
    const Expression kept = drawn.binary(graph::BinaryFn::not_equal, drawn.number(0.0)).cast(x.dtype());
    constexpr double kLeast = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
    const double scale = std::pow((1.0 - rate) * (1.0 + rate * kLeast * kLeast), -0.5);
    return Call::result((x * kept + (1.0 - kept) * kLeast) * scale + -scale * kLeast * rate);
  }

 private:
  Number rate;
  Opaque seed, noise_shape;
};

class SpatialDropout : public TrainingOnly {
 public:
  explicit SpatialDropout(int rank) : rank_(rank) {}

  /// Keras writes only these keys, with the dtype name of the variables.
  void config(Fields& f) override {
    f.required("rate", rate);
    f("seed", seed);
    f("name", name);
    if (f.reading()) {
      f("dtype", policy);
      f.ignored({"trainable", "noise_shape"});
    } else {
      f.put("dtype", std::string(name_of(policy.variable)));
    }
    if (rank_ > 1) format.field(f);
  }
  void check(const Ref& config) override { expect_share(config, "rate", rate); }
  Arg call(Call& call) override {
    expect_rank(call.shape("inputs"), rank_ + 2);
    if (!drops(call, rate)) return call.arg("inputs");
    Shape noise = call.shape("inputs");  // whole channels are dropped
    for (int axis = 1; axis <= rank_; ++axis) noise[format.channels_first() ? axis + 1 : axis] = 1;
    return Call::result(dropped(call, call.tensor("inputs")->id, rate, seed.json, noise));
  }

 private:
  int rank_;
  Number rate;
  Opaque seed;
  DataFormat format;
};

class ActivityRegularization : public TrainingOnly {
 public:
  void fields(Fields& f) override {
    f("l1", l1);
    f("l2", l2);
  }

 private:
  Number l1 = 0.0, l2 = 0.0;
};

constexpr std::array kSpatialKeras2 = {Keras2Key{"noise_shape", {}, "null"}};

constexpr std::array kRegularizationClasses = {
    ClassInfo{.name = "GaussianNoise", .make = make_layer<GaussianNoise>, .since = 300, .role = Role::training},
    ClassInfo{.name = "GaussianDropout", .make = make_layer<GaussianDropout>, .since = 300, .role = Role::training},
    ClassInfo{.name = "AlphaDropout", .make = make_layer<AlphaDropout>, .since = 300, .role = Role::training},
    ClassInfo{.name = "SpatialDropout1D",
              .make = make_with<SpatialDropout, 1>,
              .since = 300,
              .role = Role::training,
              .keras2_keys = kSpatialKeras2},
    ClassInfo{.name = "SpatialDropout2D",
              .make = make_with<SpatialDropout, 2>,
              .since = 300,
              .role = Role::training,
              .keras2_keys = kSpatialKeras2},
    ClassInfo{.name = "SpatialDropout3D",
              .make = make_with<SpatialDropout, 3>,
              .since = 300,
              .role = Role::training,
              .keras2_keys = kSpatialKeras2},
    ClassInfo{.name = "ActivityRegularization",
              .make = make_layer<ActivityRegularization>,
              .since = 300,
              .role = Role::pass_through},
};

}  // namespace

Family regularization_classes() { return kRegularizationClasses; }

}  // namespace attn::keras
