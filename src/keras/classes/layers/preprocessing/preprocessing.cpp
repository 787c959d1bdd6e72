// Preprocessing with fixed numbers (keras/src/layers/preprocessing).
#include <array>

#include "classes/layers/axes.h"
#include "classes/layers/layers.h"
#include "classes/layers/numbers.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;
using graph::ValueId;

/// inputs · scale + offset
class Rescaling : public Layer {
 public:
  void fields(Fields& f) override {
    if (!f.reading()) {
      f.put("scale", scale.json);
      f.put("offset", offset.json);
      return;
    }
    const auto given = f.take("scale");
    if (!given) f.config().fail("the key 'scale' is missing");
    scale.read(*given);
    if (const auto ref = f.take("offset")) {
      offset.read(*ref);
    } else {
      offset = {0.0, {}, {0.0}};
    }
  }
  [[nodiscard]] bool supports_masking() const override { return !follows_keras2(); }
  [[nodiscard]] std::vector<std::pair<std::string_view, double>> constants() const override {
    std::vector<std::pair<std::string_view, double>> out;
    for (const auto& [key, value] : {std::pair(std::string_view("scale"), &scale), {"offset", &offset}})
      if (value->json.is_number()) out.emplace_back(key, value->json.get<double>());
    return out;
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const DType dtype = call.compute_dtype();
    const ValueId scaled =
        b.binary(BinaryFn::multiply, b.cast(call.tensor("inputs")->id, dtype), scale.constant(b, dtype, scale.shape));
    return Call::result(b.binary(BinaryFn::add, scaled, offset.constant(b, dtype, offset.shape)));
  }

 private:
  Numbers scale, offset;
};

/// (inputs − mean)/√variance for each element of `axis`, or the inverse.
class Normalization : public Layer {
 public:
  void fields(Fields& f) override {
    if (!f.reading()) {
      f.put("axis", python_tuple(Json(axis)));
      f.put("invert", invert);
      f.put("mean", mean ? mean->json : Json());
      f.put("variance", variance ? variance->json : Json());
      return;
    }
    if (const auto ref = f.take("axis")) {
      axis.clear();
      if (ref->is_array()) {
        for (const Ref& item : ref->elements()) axis.push_back(item.integer());
      } else if (!ref->is_null()) {
        axis.push_back(ref->integer());
      }
    }
    f("invert", invert);
    if (const auto ref = f.take("mean"); ref && !ref->is_null()) mean.emplace().read(*ref);
    if (const auto ref = f.take("variance"); ref && !ref->is_null()) variance.emplace().read(*ref);
  }
  void check(const Ref& config) override {
    if (mean.has_value() != variance.has_value()) config.fail("'mean' and 'variance' are needed together");
    if (mean && mean->shape != variance->shape)
      config["variance"].fail(
          fmt::format("the mean has the shape {}, the variance {}", mean->shape.str(), variance->shape.str()));
    if (mean && mean->shape.rank() > static_cast<int>(axis.size()))
      config["mean"].fail(fmt::format("expected a list of rank {} or less, for as many axes", axis.size()));
  }
  [[nodiscard]] bool supports_masking() const override { return !follows_keras2(); }

  void build(Weights& w, Call& call) override {
    const Shape in = call.shape("inputs");
    Shape kept;
    for (const int at : kept_axes(in.rank())) kept.push_back(in[at]);
    if (!kept.known()) throw bad_input("the axes that are kept must be known in the input {}", in.str());
    if (mean) return;
    w.add("mean", kept, Initializer("zeros"), false);
    w.add("variance", kept, Initializer("ones"), false);
    w.set_dtype(DType::int64);
    w.add("count", {}, Initializer("zeros"), false);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const DType dtype = call.compute_dtype();
    const ValueId x = b.cast(call.tensor("inputs")->id, dtype);
    const Shape in = b.shape(x);
    const ValueId center = statistic(call, mean, 0, in), spread = statistic(call, variance, 1, in);
    const ValueId root = b.unary(UnaryFn::sqrt, spread);
    const ValueId deviation = b.binary(BinaryFn::maximum, root, b.scalar_like(root, kEpsilon));
    if (invert) return Call::result(b.binary(BinaryFn::add, center, b.binary(BinaryFn::multiply, x, deviation)));
    return Call::result(b.binary(BinaryFn::divide, b.binary(BinaryFn::subtract, x, center), deviation));
  }

 private:
  static constexpr double kEpsilon = 1e-7;  // keras.backend.epsilon()

  [[nodiscard]] std::vector<int> kept_axes(int rank) const {
    return axis.empty() ? std::vector<int>() : axes_of(axis, rank);
  }

  /// Returns the given numbers, or else the variable, with size 1 for axes that share a statistic.
  [[nodiscard]] ValueId statistic(Call& call, const std::optional<Numbers>& given, int index, const Shape& in) const {
    const auto kept = kept_axes(in.rank());
    Shape shape(std::vector<Dim>(static_cast<std::size_t>(in.rank()), 1));
    if (!given) {
      for (const int at : kept) shape[at] = in[at];
      return call.builder().reshape(call.weight(index), shape);
    }
    for (int i = 1; i <= given->shape.rank(); ++i)
      shape[kept[kept.size() - static_cast<std::size_t>(i)]] = given->shape[-i];
    return given->constant(call.builder(), call.compute_dtype(), shape);
  }

  std::vector<std::int64_t> axis = {-1};
  bool invert = false;
  std::optional<Numbers> mean, variance;
};

constexpr std::string_view kNumbersInConfig = "its numbers are in its config";

constexpr std::array kPreprocessingClasses = {
    ClassInfo{.name = "Rescaling", .make = make_layer<Rescaling>, .since = 300, .no_params = kNumbersInConfig},
    ClassInfo{.name = "Normalization",
              .make = make_layer<Normalization>,
              .since = 300,
              .role = Role::normalization,
              .no_params = kNumbersInConfig},
};

}  // namespace

Family preprocessing_classes() { return kPreprocessingClasses; }

}  // namespace attn::keras
