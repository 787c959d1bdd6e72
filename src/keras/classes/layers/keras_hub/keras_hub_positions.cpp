// KerasHub's position layers. Values that depend only on lengths are computed here, and rounded after every step to the
// dtype of that step in Keras, because in half precision the rounding dominates the values of such a table.
//
// Letters: B batch, T length, D features, N heads, S length of the keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "classes/decoding.h"
#include "classes/layers/attention/alibi.h"
#include "classes/layers/attention/rotary.h"
#include "classes/layers/axes.h"
#include "classes/layers/layers.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "classes/rounding.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::array<std::string_view, 3> kArguments = {"inputs", "start_index", "positions"};

constexpr std::int64_t kHighestStart = std::int64_t{1} << 31;

/// The position of the first step of a call.
std::int64_t start_index(Call& call) {
  if (!call.has("start_index")) return 0;
  const auto* start = call.arg("start_index").as<std::int64_t>();
  if (start == nullptr || *start < 0 || *start > kHighestStart)
    throw bad_input("start_index must be an integer from 0 to {}; a tensor is not supported", kHighestStart);
  return *start;
}

/// The positions of a call as (1,T) or (B,T), if they are given or if it is a decode step.
std::optional<ValueId> given_positions(Call& call) {
  const TensorPtr positions = call.optional_tensor("positions");
  if (!positions && call.lowering().decoding != nullptr) return call.lowering().decoding->positions;
  if (!positions) return std::nullopt;
  const Shape shape = call.shape(positions);
  if (shape.rank() != 1 && shape.rank() != 2)
    throw bad_input("positions must be (length) or (batch, length), got {}", shape.str());
  return shape.rank() == 1 ? call.builder().expand_dims(positions->id, 0) : positions->id;
}

/// A result for summaries, which need only its shape. A table may exceed any memory, and its length may be unknown.
Arg shape_only(Call& call, const Shape& shape) {
  return Call::result(call.builder().apply(graph::Fill{shape, call.compute_dtype(), 0.0}, {}));
}

/// A trained row for each position, (B,T,D) like the input.
class PositionEmbedding : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("sequence_length", sequence_length);
    f("initializer", initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kArguments; }
  [[nodiscard]] std::optional<std::int64_t> most_positions() const override { return sequence_length.value; }
  void build(Weights& w, Call& call) override {
    const Shape& in = call.shape("inputs");
    if (in.rank() < 2 || in.back() == kUnknown) throw bad_input("expected an input (…, T, D), got {}", in.str());
    w.add("embeddings", {sequence_length, in.back()}, initializer);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Shape in = call.shape("inputs");
    const auto positions = given_positions(call);
    const std::int64_t start = start_index(call);
    const std::int64_t stop = start + std::max<Dim>(in[-2], 0);
    if (!positions && stop > sequence_length)
      throw bad_input("the input has {} positions, but the layer has {}", stop, sequence_length.value)
          .about("sequence_length");
    if (call.lowering().symbolic()) return shape_only(call, in);
    ValueId rows = call.weight(0);
    if (positions) {
      rows = b.apply(graph::Gather{0}, {rows, b.cast(*positions, DType::int32)});
    } else {
      graph::Slice some;
      some.ranges = {{start, stop, 1}, {}};
      rows = b.apply(some, {rows});
    }
    return Call::result(b.apply(graph::Broadcast{in}, {rows}));
  }

 private:
  Positive sequence_length;
  Initializer initializer{"glorot_uniform"};
};

/// "Attention Is All You Need", 3.5: even features are sin, odd ones cos of position · max_wavelength^(−2⌊i/2⌋/D).
class SinePositionEncoding : public Layer {
 public:
  void fields(Fields& f) override { f("max_wavelength", max_wavelength); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kArguments; }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Shape in = call.shape("inputs");
    if (in.rank() < 2) throw bad_input("expected an input (…, T, D), got {}", in.str());
    if (call.lowering().symbolic()) return shape_only(call, in);
    const auto positions = given_positions(call);
    const ValueId encoded = positions ? at(b, b.cast(*positions, call.compute_dtype()), in.back())
                                      : b.constant(table(call, in[-2], in.back()));
    return Call::result(b.apply(graph::Broadcast{in}, {encoded}));
  }

 private:
  /// (D): the angle of each feature per position.
  [[nodiscard]] Tensor timescales(DType dtype, Dim width) const {
    const Rounding rounded(dtype);
    Tensor out = keras::table(dtype, {width}, "the angles of features");
    const double lowest = rounded(1.0 / max_wavelength);
    for (Dim i = 0; i < width; ++i) {
      const auto even = static_cast<double>(i - i % 2);
      out.set(i, std::pow(lowest, rounded(rounded(even) / rounded(static_cast<double>(width)))));
    }
    return out;
  }
  /// (T,D) for positions from start_index on.
  [[nodiscard]] Tensor table(Call& call, Dim length, Dim width) const {
    const DType dtype = call.compute_dtype();
    const Rounding rounded(dtype);
    const Tensor scales = timescales(dtype, width);
    const std::int64_t start = start_index(call);
    Tensor out = keras::table(dtype, {length, width}, "the angles of positions");
    for (Dim t = 0; t < length; ++t) {
      const double position = rounded(static_cast<double>(start + t));
      for (Dim i = 0; i < width; ++i) {
        const double angle = rounded(position * scales.at(i));
        out.set(t * width + i, i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    return out;
  }
  /// (B,T,D) for the positions (B,T).
  [[nodiscard]] ValueId at(Builder& b, ValueId positions, Dim width) const {
    const DType dtype = b.dtype(positions);
    const Expression angles =
        Expression(b, b.expand_dims(positions, -1)) * Expression(b, b.constant(timescales(dtype, width)));
    Tensor odd(DType::boolean, {width});
    for (Dim i = 0; i < width; ++i) odd.set(i, static_cast<double>(i % 2));
    return where({b, b.constant(odd)}, angles.unary(graph::UnaryFn::cos), angles.unary(graph::UnaryFn::sin));
  }

  Number max_wavelength = 10000;
};

/// RoFormer: rotates pairs of features (i, i + D/2) by an angle proportional to the position.
class RotaryEmbedding : public Layer {
 public:
  void fields(Fields& f) override {
    f("max_wavelength", max_wavelength);
    f("scaling_factor", scaling_factor);
    f("rope_type", rope_type);
    f("beta_fast", beta_fast);
    f("beta_slow", beta_slow);
    f("original_max_position_embeddings", original_max_position_embeddings);
    f("truncate", truncate);
    f("sequence_axis", sequence_axis);
    f("feature_axis", feature_axis);
    f("denominator_dim", denominator_dim);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kArguments; }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const TensorPtr inputs = call.tensor("inputs");
    const Shape in = call.shape(inputs);
    const int rank = in.rank();
    if (rank < 3) throw bad_input("expected an input of rank 3 or more, got {}", in.str());
    const int sequence = axis_of(sequence_axis, rank), feature = axis_of(feature_axis, rank);
    if (sequence == feature) throw bad_input("sequence_axis and feature_axis must differ");
    const Dim width = in[feature];
    if (width == kUnknown || width % 2 != 0)
      throw bad_input("expected an even number of features for rotary positions, got {}", in.str());
    if (call.lowering().symbolic()) return shape_only(call, in);

    std::vector<int> order;  // (B,T,…,D)
    for (int axis = 0; axis < rank; ++axis)
      if (axis != sequence && axis != feature) order.push_back(axis);
    order.insert(order.begin() + 1, sequence);
    order.push_back(feature);
    std::vector<int> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);

    const Expression x(b, b.transpose(inputs->id, order));
    const auto positions = given_positions(call);
    const Rotary rotary = rotary_of(width, call.compute_dtype());
    const Angles angles = positions ? angles_at(call, rotary, *positions, rank)
                                    : angles_from(call, rotary, start_index(call), in[sequence], rank);
    return Call::result(b.transpose(turned(x, angles), back));
  }

 private:
  [[nodiscard]] Rotary rotary_of(Dim width, DType dtype) const {
    if (rope_type.value == "yarn")
      return yarn_rotary(max_wavelength, width, scaling_factor,
                         {beta_fast, beta_slow, original_max_position_embeddings, truncate}, dtype);
    return {frequencies(width)};
  }

  /// The angle per position of each pair, in float32 for any policy.
  [[nodiscard]] std::vector<float> frequencies(Dim width) const {
    const auto base = static_cast<float>(max_wavelength), scaling = static_cast<float>(scaling_factor);
    const auto size = static_cast<float>(width);
    check_turning(width);
    const float denominator = denominator_dim ? static_cast<float>(*denominator_dim) : size;
    std::vector<float> out;
    for (Dim i = 0; i < width; i += 2) {
      const float inverse = std::pow(base, -static_cast<float>(i) / denominator);
      const bool dynamic = rope_type.value == "dynamic";
      const float divisor =
          dynamic ? std::pow(scaling, size / static_cast<float>(std::max<Dim>(1, width - 2))) : scaling;
      out.push_back(inverse / divisor);
    }
    return out;
  }

  Number max_wavelength = 10000, scaling_factor{1.0}, beta_fast{32.0}, beta_slow{1.0};
  Number original_max_position_embeddings = 4096;
  Choice rope_type{"linear", {"linear", "dynamic", "yarn"}};
  bool truncate = true;
  std::int64_t sequence_axis = 1, feature_axis = -1;
  std::optional<Positive> denominator_dim;
};

/// Adds to scores (B,N,T,S) a bias that decreases with the distance of a key from the last one, with a slope for each
/// head.
class AlibiBias : public Layer {
 public:
  void fields(Fields& f) override { f("alibi_bias_max", alibi_bias_max); }
  void check(const Ref& config) override {
    if (!(alibi_bias_max > 0.0)) config["alibi_bias_max"].fail("expected a number > 0");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"attention_scores"};
    return kNames;
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const TensorPtr scores = call.tensor("attention_scores");
    const Shape in = call.shape(scores);
    if (in.rank() != 4) throw bad_input("expected scores (batch, heads, queries, keys), got {}", in.str());
    if (call.lowering().symbolic()) return shape_only(call, in);
    const Dim heads = in[1], keys = in[3];
    const Rounding rounded(call.compute_dtype());
    const std::vector<double> slopes = alibi_slopes(heads, alibi_bias_max);
    Tensor bias = keras::table(call.compute_dtype(), {1, heads, 1, keys}, "biases of heads and keys");
    for (Dim n = 0; n < heads; ++n)
      for (Dim s = 0; s < keys; ++s)
        bias.set(n * keys + s,
                 rounded(slopes[static_cast<std::size_t>(n)]) * rounded(static_cast<double>(s + 1 - keys)));
    return Call::result(b.binary(graph::BinaryFn::add, scores->id, b.constant(std::move(bias))));
  }

 private:
  Number alibi_bias_max = 8;
};

constexpr std::string_view kAngles = "its angles follow from the position by a formula";

constexpr std::array kKerasHubPositionClasses = {
    ClassInfo{.name = "PositionEmbedding",
              .make = make_layer<PositionEmbedding>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.position_embedding",
              .role = Role::embedding,
              .package = "keras_hub",
              .symbols = "embeddings: L d_model"},
    ClassInfo{.name = "SinePositionEncoding",
              .make = make_layer<SinePositionEncoding>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.sine_position_encoding",
              .role = Role::embedding,
              .package = "keras_hub",
              .counts_positions = true,
              .no_params = kAngles},
    ClassInfo{.name = "RotaryEmbedding",
              .make = make_layer<RotaryEmbedding>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.rotary_embedding",
              .role = Role::embedding,
              .package = "keras_hub",
              .no_params = kAngles},
    ClassInfo{.name = "AlibiBias",
              .make = make_layer<AlibiBias>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.alibi_bias",
              .package = "keras_hub",
              .no_params = "its slopes follow from the number of heads by a formula"},
};

}  // namespace

Family keras_hub_position_classes() { return kKerasHubPositionClasses; }

}  // namespace attn::keras
