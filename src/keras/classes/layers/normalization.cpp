// Normalization layers. All except RMSNormalization and UnitNormalization use their variables without a cast. All
// except UnitNormalization compute in float32 or higher.
#include <algorithm>
#include <array>

#include "classes/layers/axes.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"
#include "classes/training.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

/// Returns keras.backend.result_type(dtype, "float32") for the input's dtype.
DType at_least_float32(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }

/// Computes (x − mean)/√(variance + ε)·gamma + beta, with the statistics of each sample over `axis`.
class LayerNormalization : public Layer {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("epsilon", epsilon);
    f("center", center);
    f("scale", scale);
    f("rms_scaling", rms_scaling, 304);
    f("beta_initializer", beta_initializer);
    f("gamma_initializer", gamma_initializer);
    f("beta_regularizer", beta_regularizer);
    f("gamma_regularizer", gamma_regularizer);
    f("beta_constraint", beta_constraint);
    f("gamma_constraint", gamma_constraint);
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("inputs");
    auto axes = listed(axis);
    std::sort(axes.begin(), axes.end());
    Shape sizes;
    for (const std::int64_t at : axes) sizes.push_back(in[axis_of(at, in.rank())]);
    if (has_gamma()) w.add("gamma", sizes, gamma_initializer);
    if (has_beta()) w.add("beta", sizes, beta_initializer);
    axis = std::move(axes);  // Keras stores the list, and writes it instead of the integer
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const DType given = b.dtype(x), computed = at_least_float32(given);
    const auto axes = axes_of(axis, b.shape(x).rank());
    Shape sizes;
    for (const int at : axes) sizes.push_back(b.shape(x)[at]);
    const auto variable = [&](int index) { return b.reshape(b.cast(call.raw_weight(index), computed), sizes); };

    std::vector<ValueId> inputs = {b.cast(x, computed)};
    if (has_gamma()) inputs.push_back(variable(0));
    if (has_beta()) inputs.push_back(variable(has_gamma() ? 1 : 0));
    const auto kind = rms_scaling ? graph::NormKind::rms_layer : graph::NormKind::layer;
    const ValueId out = b.apply(graph::LayerNorm{kind, axes, epsilon, has_gamma(), has_beta()}, inputs);
    return Call::result(b.cast(b.cast(out, given), call.compute_dtype()));
  }

 private:
  [[nodiscard]] bool has_gamma() const { return scale || rms_scaling; }
  [[nodiscard]] bool has_beta() const { return center && !rms_scaling; }

  Axes axis = std::int64_t{-1};
  Number epsilon = 1e-3;
  bool center = true, scale = true, rms_scaling = false;
  Initializer beta_initializer{"zeros"}, gamma_initializer{"ones"};
  Regularizer beta_regularizer, gamma_regularizer;
  Constraint beta_constraint, gamma_constraint;
};

/// Computes x/√(mean(x²) + ε)·scale over `axis`.
class RMSNormalization : public Layer {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("epsilon", epsilon);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("x");
    auto axes = listed(axis);
    std::sort(axes.begin(), axes.end());
    Shape sizes;
    for (const std::int64_t at : axes) sizes.push_back(in[axis_of(at, in.rank())]);
    w.add("scale", sizes, Initializer("ones"));
    axis = std::move(axes);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const DType given = b.dtype(x), computed = at_least_float32(given);
    const int rank = b.shape(x).rank();
    const auto axes = axes_of(axis, rank);
    Shape sizes;
    for (const int at : axes) sizes.push_back(b.shape(x)[at]);
    const ValueId scale = b.cast(call.weight(0), computed);
    // Keras multiplies by the scale with NumPy broadcasting. Unless the axes are the last ones, the scale is therefore
    // not a gamma.
    const bool gamma = axes.front() == rank - static_cast<int>(axes.size()) && b.shape(scale) == sizes;
    std::vector<ValueId> inputs = {b.cast(x, computed)};
    if (gamma) inputs.push_back(scale);
    ValueId out = b.apply(graph::LayerNorm{graph::NormKind::rms, axes, epsilon, gamma, false}, inputs);
    if (!gamma) out = b.binary(BinaryFn::multiply, out, scale);
    return Call::result(b.cast(out, given));
  }

  /// Keras assumes that the shape does not change, even if the scale broadcasts it.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override { return {{call.shape("x")}}; }

 private:
  Axes axis = std::int64_t{-1};
  Number epsilon = 1e-6;
};

/// Computes (x − moving_mean)/√(moving_variance + ε)·gamma + beta for each channel.
class BatchNormalization : public Layer {
 public:
  void fields(Fields& f) override {
    f("axis", axis);
    f("momentum", momentum);
    f("epsilon", epsilon);
    f("center", center);
    f("scale", scale);
    f("beta_initializer", beta_initializer);
    f("gamma_initializer", gamma_initializer);
    f("moving_mean_initializer", moving_mean_initializer);
    f("moving_variance_initializer", moving_variance_initializer);
    f("beta_regularizer", beta_regularizer);
    f("gamma_regularizer", gamma_regularizer);
    f("beta_constraint", beta_constraint);
    f("gamma_constraint", gamma_constraint);
    f("synchronized", synchronized);
    f("renorm", renorm, 314);
    f("renorm_clipping", renorm_clipping, 314);
    f("renorm_momentum", renorm_momentum, 314);
    f.foreign({"fused", "virtual_batch_size", "adjustment"});
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"inputs", "training", "mask"};
    return kNames;
  }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("inputs");
    const Shape channels = {in[axis_of(axis, in.rank())]};
    if (scale) gamma_ = w.add("gamma", channels, gamma_initializer);
    if (center) beta_ = w.add("beta", channels, beta_initializer);
    mean_ = w.add("moving_mean", channels, moving_mean_initializer, false);
    variance_ = w.add("moving_variance", channels, moving_variance_initializer, false);
    if (renorm) {
      // A statistic for training, which a run does not read. Keras initializes the deviations with the initializer of
      // the variances.
      moving_stddev_ = w.add("moving_stddev", channels, moving_variance_initializer, false);
      renorm_mean_ = w.add("renorm_mean", channels, moving_mean_initializer, false);
      renorm_stddev_ = w.add("renorm_stddev", channels, moving_variance_initializer, false);
    }
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    if (const TensorPtr mask = call.optional_tensor("mask"); mask && b.shape(mask->id).rank() != b.shape(x).rank() - 1)
      throw bad_input("a mask {} does not fit the input {}: it needs one axis less", b.shape(mask->id).str(),
                      b.shape(x).str());
    const DType computed = at_least_float32(b.dtype(x));
    const auto variable = [&](int index) { return b.cast(call.raw_weight(index), computed); };
    const bool trains = call.lowering().training != nullptr && trainable;
    std::vector<ValueId> inputs = {b.cast(x, computed)};
    if (!trains) inputs.insert(inputs.end(), {variable(mean_), variable(variance_)});
    if (scale) inputs.push_back(variable(gamma_));
    if (center) inputs.push_back(variable(beta_));
    const int channels = axis_of(axis, b.shape(x).rank());
    const ValueId out = trains ? by_batch(call, std::move(inputs), channels)
                               : b.apply(graph::BatchNorm{channels, epsilon, scale, center}, inputs);
    return Call::result(b.cast(out, call.compute_dtype()));
  }

 private:
  /// Normalizes by the statistics of the batch, and updates the moving averages.
  graph::ValueId by_batch(Call& call, std::vector<ValueId> inputs, int channels) {
    graph::Builder& b = call.builder();
    const TensorPtr mask = call.optional_tensor("mask");
    const ValueId x = inputs[0];
    const bool affine = !renorm;
    if (renorm) inputs.resize(1);
    if (mask) inputs.push_back(b.cast(mask->id, DType::boolean));
    const auto out =
        b.apply_all(graph::BatchNormTraining{channels, epsilon, scale && affine, center && affine, mask != nullptr},
                    std::move(inputs));
    if (renorm) return renormalized(call, x, out, channels);
    move(call, mean_, out[1], momentum);
    move(call, variance_, out[2], momentum);
    return out[0];
  }

  /// Updates a moving statistic, and returns its new value.
  ValueId move(Call& call, int index, ValueId statistic, double kept) {
    const Expression before(call.builder(), call.raw_weight(index));
    const Expression now(call.builder(), call.builder().cast(statistic, before.dtype()));
    const Expression after = before * kept + now * (1.0 - kept);
    set(call, index, after);
    return after;
  }
  void set(Call& call, int index, ValueId value) { call.lowering().training->updates.push_back({this, index, value}); }

  /// Batch renormalization (Ioffe, 2017): x̂·r + d. Without gradients, r and d correct the batch statistics to the
  /// moving ones.
  ValueId renormalized(Call& call, ValueId x, const std::vector<ValueId>& out, int channels) {
    graph::Builder& b = call.builder();
    const DType dtype = b.dtype(x);
    const auto variable = [&](int index) { return Expression(b, b.cast(call.raw_weight(index), dtype)); };
    const Expression mean(b, out[1]), variance(b, out[2]);  // no gradient passes through these outputs
    const Expression stddev = sqrt(variance + epsilon);
    const Expression slow = variable(renorm_stddev_), floor = sqrt(slow.number(epsilon));
    const Expression divisor = max(slow, floor);
    Expression r = stddev / divisor, d = (mean - variable(renorm_mean_)) / divisor;
    if (const auto bound = clipping("rmin")) r = max(r, r.number(*bound));
    if (const auto bound = clipping("rmax")) r = min(r, r.number(*bound));
    if (const auto bound = clipping("dmax")) d = max(min(d, d.number(*bound)), d.number(-*bound));
    move(call, renorm_mean_, mean, renorm_momentum);
    move(call, renorm_stddev_, stddev, renorm_momentum);
    move(call, mean_, mean, momentum);
    const Expression moved(b, move(call, moving_stddev_, stddev, momentum));
    set(call, variance_, max(moved * moved + -epsilon, moved.number(0.0)));

    Shape along(std::vector<Dim>(static_cast<std::size_t>(b.shape(x).rank()), 1));
    along[channels] = b.shape(x)[channels];
    const auto spread = [&](const Expression& value) { return Expression(b, b.reshape(value, along)); };
    Expression factor = r, shift = d;
    if (scale) {
      factor = factor * variable(gamma_);
      shift = shift * variable(gamma_);
    }
    if (center) shift = shift + variable(beta_);
    return Expression(b, out[0]) * spread(factor) + spread(shift);
  }
  [[nodiscard]] std::optional<double> clipping(const char* key) const {
    const Json& json = renorm_clipping.json;
    if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return std::nullopt;
    return json[key].get<double>();
  }

  std::int64_t axis = -1;
  double momentum = 0.99, epsilon = 1e-3;
  bool center = true, scale = true, synchronized = false, renorm = false;
  Initializer beta_initializer{"zeros"}, gamma_initializer{"ones"};
  Initializer moving_mean_initializer{"zeros"}, moving_variance_initializer{"ones"};
  Regularizer beta_regularizer, gamma_regularizer;
  Constraint beta_constraint, gamma_constraint;
  Opaque renorm_clipping;
  Number renorm_momentum = 0.99;
  int gamma_ = 0, beta_ = 0, mean_ = 0, variance_ = 0, moving_stddev_ = 0, renorm_mean_ = 0, renorm_stddev_ = 0;
};

/// Layer normalization over each of `groups` groups of channels, with gamma and beta for each channel.
class GroupNormalization : public Layer {
 public:
  void fields(Fields& f) override {
    f("groups", groups);
    f("axis", axis);
    f("epsilon", epsilon);
    f("center", center);
    f("scale", scale);
    f("beta_initializer", beta_initializer);
    f("gamma_initializer", gamma_initializer);
    f("beta_regularizer", beta_regularizer);
    f("gamma_regularizer", gamma_regularizer);
    f("beta_constraint", beta_constraint);
    f("gamma_constraint", gamma_constraint);
  }
  void check(const Ref& config) override {
    if (groups <= 0 && groups != -1)
      config["groups"].fail("expected an integer > 0, or -1 for a group per channel, got " + config["groups"].kind());
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("inputs");
    const Dim channels = in[axis_of(axis, in.rank())];
    if (channels == kUnknown) throw bad_input("axis {} of the input must be known, got {}", axis, in.str());
    if (groups == -1) groups = channels;
    if (channels < groups || channels % groups != 0)
      throw bad_input("{} channels cannot be divided into {} groups", channels, groups);
    if (scale) w.add("gamma", {channels}, gamma_initializer);
    if (center) w.add("beta", {channels}, beta_initializer);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const DType given = b.dtype(x), computed = at_least_float32(given);
    const Shape in = b.shape(x);
    const int channels = axis_of(axis, in.rank());

    // The channel axis C becomes (G, C/G); statistics are over all axes except the batch and G.
    Shape grouped = in.slice(0, channels);
    grouped.push_back(groups);
    grouped.push_back(in[channels] == kUnknown ? kUnknown : in[channels] / groups);
    grouped.append(in.slice(channels + 1, in.rank()));
    std::vector<int> group_axes;
    for (int at = 1; at < grouped.rank(); ++at)
      if (at != channels) group_axes.push_back(at);
    const graph::LayerNorm norm{graph::NormKind::layer, group_axes, epsilon, false, false};
    ValueId out = b.reshape(b.apply(norm, {b.reshape(b.cast(x, computed), grouped)}), in);

    const Shape trailing(std::vector<Dim>(static_cast<std::size_t>(in.rank() - 1 - channels), 1));
    const auto variable = [&](int index) {
      Shape shape = {in[channels]};
      shape.append(trailing);
      return b.reshape(b.cast(call.raw_weight(index), computed), shape);
    };
    if (scale) out = b.binary(BinaryFn::multiply, out, variable(0));
    if (center) out = b.binary(BinaryFn::add, out, variable(scale ? 1 : 0));
    return Call::result(b.cast(b.cast(out, given), call.compute_dtype()));
  }

 private:
  std::int64_t groups = 32, axis = -1;
  Number epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer{"zeros"}, gamma_initializer{"ones"};
  Regularizer beta_regularizer, gamma_regularizer;
  Constraint beta_constraint, gamma_constraint;
};

/// Computes x/‖x‖₂ over `axis`.
class UnitNormalization : public Layer {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    return Call::result(l2_normalize(b, x, axes_of(axis, b.shape(x).rank()), kEpsilon));
  }

 private:
  static constexpr double kEpsilon = 1e-12;
  Axes axis = std::int64_t{-1};
};

constexpr std::string_view kOff = "scale and center are off";
constexpr std::array kBatchKeras2 = {Keras2Key{"fused"}, Keras2Key{"virtual_batch_size"}, Keras2Key{"adjustment"}};

constexpr std::array kNormalizationClasses = {
    ClassInfo{.name = "LayerNormalization",
              .make = make_layer<LayerNormalization>,
              .since = 300,
              .role = Role::normalization,
              .symbols = "gamma: d_model; beta: d_model",
              .no_params = kOff},
    ClassInfo{.name = "RMSNormalization",
              .make = make_layer<RMSNormalization>,
              .since = 309,
              .role = Role::normalization,
              .symbols = "gamma: d_model; scale: d_model"},
    ClassInfo{.name = "BatchNormalization",
              .make = make_layer<BatchNormalization>,
              .since = 300,
              .role = Role::normalization,
              .symbols = "gamma: c; beta: c; moving_mean: c; moving_variance: c",
              .no_params = kOff,
              .keras2_keys = kBatchKeras2,
              .keras2_names = "BatchNormalizationV1 BatchNormalizationV2 SyncBatchNormalization"},
    ClassInfo{.name = "GroupNormalization",
              .make = make_layer<GroupNormalization>,
              .since = 300,
              .role = Role::normalization,
              .symbols = "gamma: c; beta: c",
              .no_params = kOff},
    ClassInfo{.name = "UnitNormalization",
              .make = make_layer<UnitNormalization>,
              .since = 300,
              .role = Role::normalization,
              .no_params = "it divides each vector by its own length"},
};

}  // namespace

ValueId l2_normalize(graph::Builder& b, ValueId x, const std::vector<int>& axes, double epsilon) {
  const ValueId squares = b.apply(graph::Reduce{ReduceFn::sum, axes, true}, {b.unary(UnaryFn::square, x)});
  const ValueId inverse = b.unary(UnaryFn::rsqrt, squares);
  const ValueId bounded = b.binary(BinaryFn::minimum, inverse, b.scalar_like(inverse, 1.0 / epsilon));
  return b.binary(BinaryFn::multiply, x, bounded);
}

Family normalization_classes() { return kNormalizationClasses; }

}  // namespace attn::keras
