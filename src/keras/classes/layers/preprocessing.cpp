// Fixed numbers applied to an input, and categories as numbers (keras/src/layers/preprocessing).
#include <algorithm>
#include <array>

#include "classes/layers/axes.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;
using graph::ValueId;

/// A number, or a rectangular list of lists of numbers, as a config holds it.
struct Numbers {
  Json json;
  Shape shape;
  std::vector<double> values;

  void read(const Ref& ref) {
    json = ref.json();
    // NumPy arrays are objects around their list.
    const Ref list = ref.is_object() ? ref["config"]["value"] : ref;
    for (Ref level = list; level.is_array() && level.size() > 0; level = level[0])
      shape.push_back(static_cast<Dim>(level.size()));
    collect(list, 0);
  }
  /// The numbers as a constant; `shape` has as many elements.
  [[nodiscard]] ValueId constant(graph::Builder& b, DType dtype, const Shape& as) const {
    Tensor tensor(dtype, as);
    for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
    return b.constant(std::move(tensor));
  }

 private:
  void collect(const Ref& ref, int axis) {
    if (axis == shape.rank()) {
      values.push_back(ref.number());
      return;
    }
    if (!ref.is_array() || static_cast<Dim>(ref.size()) != shape[axis])
      ref.fail(fmt::format("expected a list of {} here, as next to it", shape[axis]));
    for (const Ref& item : ref.elements()) collect(item, axis + 1);
  }
};

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

/// (inputs − mean)/√variance per element of `axis`, or the way back.
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

  /// The given numbers, else the variable, with axes of 1 where the input is not kept apart.
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

// ---- categories (keras/src/utils/numerical_utils.py, encode_categorical_inputs)

constexpr std::string_view kModes[] = {"int", "one_hot", "multi_hot", "count"};

/// Indices as they are, or as rows of `depth` numbers: 1 at each index, at all of a row, or how often they occur in it.
ValueId encoded(graph::Builder& b, ValueId index, std::string_view mode, Dim depth, DType dtype,
                std::optional<ValueId> weights = {}) {
  if (mode == "int") return b.cast(index, dtype);
  const int rank = b.shape(index).rank();
  if (mode == "one_hot" && rank > 1 && b.shape(index)[-1] == 1)
    return encoded(b, b.apply(graph::Reduce{graph::ReduceFn::max, {rank - 1}, false}, {index}), mode, depth, dtype);
  Shape classes(std::vector<Dim>(static_cast<std::size_t>(rank) + 1, 1));
  classes[rank] = depth;
  const Expression counted{b, b.apply(graph::Iota{classes, b.dtype(index), rank, 0.0, 1.0}, {})};
  ValueId hot = (Expression{b, b.expand_dims(index, rank)} == counted).cast(dtype);
  if (mode == "one_hot") return hot;
  if (rank != 2)
    throw bad_input("output_mode '{}' of an input {} is not supported; it is of rows (batch, length)", mode,
                    b.shape(index).str());
  if (weights) hot = b.binary(BinaryFn::multiply, hot, b.expand_dims(b.cast(*weights, dtype), rank));
  const auto fn = mode == "count" ? graph::ReduceFn::sum : graph::ReduceFn::max;
  return b.apply(graph::Reduce{fn, {rank - 1}, false}, {hot});
}

void refuse_sparse(Fields& f, bool sparse) {
  if (f.reading() && sparse) f.config()["sparse"].fail("sparse tensors are not supported");
}

class CategoryEncoding : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("num_tokens", num_tokens);
    f("output_mode", output_mode);
    f.ignored({"sparse"});
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "count_weights"};
    return kNames;
  }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    std::optional<ValueId> counts;
    if (const TensorPtr given = call.optional_tensor("count_weights")) counts = given->id;
    if (counts && output_mode.value != "count") throw bad_input("count_weights are for the output_mode 'count'");
    const ValueId index = b.cast(call.tensor("inputs")->id, DType::int64);
    return Call::result(encoded(b, index, output_mode.value, num_tokens, call.compute_dtype(), counts));
  }

 private:
  Positive num_tokens;
  Choice output_mode{"multi_hot", {kModes[1], kModes[2], kModes[3]}};
};

/// The number of boundaries that are not above the input.
class Discretization : public Layer {
 public:
  void config(Fields& f) override {  // Keras writes no `trainable`
    if (f.reading()) {
      if (const auto ref = f.take("bin_boundaries"); ref && !ref->is_null()) boundaries.emplace().read(*ref);
    } else {
      f.put("bin_boundaries", boundaries ? boundaries->json : Json());
    }
    f("num_bins", num_bins);
    f("epsilon", epsilon);
    f("output_mode", output_mode);
    f("sparse", sparse);
    refuse_sparse(f, sparse);
    f("name", name);
    if (f.reading()) {
      f("dtype", policy);
      f.ignored({"trainable"});
    } else {
      f.put("dtype", std::string(name_of(policy.variable)));
    }
  }
  void check(const Ref& config) override {
    if (!boundaries) config.fail("'bin_boundaries' are missing: the layer was never adapted to data");
    if (boundaries->shape.rank() != 1) config["bin_boundaries"].fail("expected a list of numbers");
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = b.cast(call.tensor("inputs")->id, DType::float32);
    const int rank = b.shape(x).rank();
    const Dim count = boundaries->shape[0];
    Shape row(std::vector<Dim>(static_cast<std::size_t>(rank) + 1, 1));
    row[rank] = count;
    const Expression bins{b, boundaries->constant(b, DType::float32, row)};
    const Expression reached = (bins <= Expression{b, b.expand_dims(x, rank)}).cast(DType::int64);
    const ValueId index = b.apply(graph::Reduce{graph::ReduceFn::sum, {rank}, false}, {reached});
    const DType out = output_mode.value == "int" ? DType::int32 : call.compute_dtype();
    return Call::result(encoded(b, index, output_mode.value, count + 1, out));
  }

 private:
  std::optional<Numbers> boundaries;
  std::optional<std::int64_t> num_bins;
  double epsilon = 0.01;
  Choice output_mode{"int", {kModes[0], kModes[1], kModes[2], kModes[3]}};
  bool sparse = false;
};

/// Integers as their places in a vocabulary, which stands in the config: a path or URL in its place is never opened.
class IntegerLookup : public Layer {
 public:
  void fields(Fields& f) override {
    constexpr Version kHashing = 314;
    f("invert", invert);
    f("max_tokens", max_tokens);
    f("num_oov_indices", num_oov_indices);
    f("oov_token", oov_token);
    f("mask_token", mask_token);
    f("output_mode", output_mode);
    f("sparse", sparse);
    f("pad_to_max_tokens", pad_to_max_tokens);
    f("vocabulary_dtype", vocabulary_dtype);
    f("idf_weights", idf_weights);
    if (!f.reading()) {
      f.put("vocabulary", vocabulary.json);
    } else if (const auto ref = f.take("vocabulary"); ref && !ref->is_null()) {
      if (ref->is_string()) ref->fail("a vocabulary's path or URL is never opened; give the list of its numbers");
      vocabulary.read(*ref);
    }
    f("vocabulary_size", vocabulary_size);
    f("oov_method", oov_method, kHashing);
    f("salt", salt, kHashing);
  }
  void check(const Ref& config) override {
    if (vocabulary.shape.rank() != 1)
      config.fail("the layer's vocabulary is not in its config: a list of numbers is expected under 'vocabulary'");
    const std::pair<const char*, bool> unknown[] = {{"invert", invert},
                                                    {"sparse", sparse},
                                                    {"pad_to_max_tokens", pad_to_max_tokens},
                                                    {"num_oov_indices", num_oov_indices < 1},
                                                    {"mask_token", mask_token && output_mode.value != "int"},
                                                    {"oov_method", oov_method != "floormod"}};
    for (const auto& [key, wrong] : unknown)
      if (wrong) config[key].fail("this value is not supported here");
  }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression x{b, b.cast(call.tensor("inputs")->id, DType::int64)};
    const int rank = x.shape().rank();
    const double oov = mask_token ? 1 : 0;  // the place of the first number that is not in the vocabulary
    const auto count = static_cast<Dim>(vocabulary.values.size());
    Shape row(std::vector<Dim>(static_cast<std::size_t>(rank) + 1, 1));
    row[rank] = count;
    const Expression tokens{b, vocabulary.constant(b, DType::int64, row)};
    const Expression places{
        b, b.apply(graph::Iota{row, DType::int64, rank, oov + static_cast<double>(num_oov_indices), 1.0}, {})};
    const Expression found = (Expression{b, b.expand_dims(x, rank)} == tokens).cast(DType::int64) * places;
    const Expression known = found.reduced(graph::Reduce{graph::ReduceFn::max, {rank}, false});
    Expression index =
        where(known == 0.0, x.binary(BinaryFn::mod, x.number(static_cast<double>(num_oov_indices))) + oov, known);
    if (mask_token) index = where(x == static_cast<double>(*mask_token), index.number(0.0), index);
    const bool plain = output_mode.value == "int";
    const Dim depth = count + num_oov_indices + static_cast<Dim>(oov);
    return Call::result(encoded(b, index, output_mode.value, depth, plain ? DType::int64 : call.compute_dtype()));
  }

 private:
  bool invert = false, sparse = false, pad_to_max_tokens = false;
  std::optional<std::int64_t> max_tokens, mask_token, vocabulary_size;
  std::int64_t num_oov_indices = 1, oov_token = -1;
  Choice output_mode{"int", {kModes[0], kModes[1], kModes[2], kModes[3]}};
  std::string vocabulary_dtype = "int64", oov_method = "floormod";
  Opaque idf_weights, salt;
  Numbers vocabulary;
};

constexpr std::string_view kInConfig = "the numbers that it takes stand in its config";

constexpr std::array kPreprocessingClasses = {
    ClassInfo{.name = "Rescaling", .make = make_layer<Rescaling>, .since = 300, .no_params = kInConfig},
    ClassInfo{.name = "Normalization",
              .make = make_layer<Normalization>,
              .since = 300,
              .role = Role::normalization,
              .no_params = kInConfig},
    ClassInfo{.name = "CategoryEncoding",
              .make = make_layer<CategoryEncoding>,
              .since = 300,
              .no_params = "it counts, and learns nothing",
              .later_arguments = "count_weights 3.1"},
    ClassInfo{.name = "IntegerLookup", .make = make_layer<IntegerLookup>, .since = 300, .no_params = kInConfig},
    ClassInfo{.name = "Discretization", .make = make_layer<Discretization>, .since = 300, .no_params = kInConfig},
};

}  // namespace

Family preprocessing_classes() { return kPreprocessingClasses; }

}  // namespace attn::keras
