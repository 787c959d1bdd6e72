#include "classes/layers/preprocessing/categories.h"

#include <algorithm>
#include <array>

#include "attn/base/text.h"
#include "classes/layers/layers.h"
#include "classes/layers/numbers.h"
#include "classes/layers/preprocessing/vocabulary.h"
#include "classes/ops/expression.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::ValueId;

void read_field(const Ref& ref, LookupMode& mode, std::vector<std::string>& /*warnings*/) {
  mode.value = ref.text();
  if (mode.value == "binary") mode.value = "multi_hot";
  if (mode.value == "tf-idf") mode.value = "tf_idf";
  if (std::find(std::begin(kModes), std::end(kModes), mode.value) == std::end(kModes))
    ref.fail(fmt::format("expected one of {}, got '{}'", fmt::join(kModes, ", "), printable(ref.text())));
}

Json write_field(const LookupMode& mode, Version /*version*/) { return mode.value; }

/// Encodes indices in an output mode. They stay indices, or become vectors of `depth` numbers: one-hot for each index,
/// multi-hot or counts for a row.
ValueId encoded(graph::Builder& b, ValueId index, std::string_view mode, Dim depth, DType dtype,
                std::optional<ValueId> weights) {
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
    throw bad_input("output_mode '{}' is not supported for an input {}; expected (batch, length)", mode,
                    b.shape(index).str());
  if (weights) hot = b.binary(BinaryFn::multiply, hot, b.expand_dims(b.cast(*weights, dtype), rank));
  const auto fn = mode == "count" ? graph::ReduceFn::sum : graph::ReduceFn::max;
  return b.apply(graph::Reduce{fn, {rank - 1}, false}, {hot});
}

void refuse_sparse(Fields& f, bool sparse) {
  if (f.reading() && sparse) f.config()["sparse"].fail("sparse tensors are not supported");
}

namespace {

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

/// Returns for each input the number of boundaries that are not above it.
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

/// Maps integers to vocabulary indices, or back.
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
    refuse_sparse(f, sparse);
    f("pad_to_max_tokens", pad_to_max_tokens);
    f("vocabulary_dtype", vocabulary_dtype);
    vocabulary.weights(f);
    vocabulary.list(f);
    vocabulary.size(f, rules());
    f("oov_method", oov_method, kHashing);
    f("salt", salt, kHashing);
    f.ignored({"has_input_vocabulary"});
  }
  void check(const Ref& config) override {
    vocabulary.settle(rules(), config);
    if (oov_method != "floormod" && num_oov_indices > 1)
      config["oov_method"].fail("integers are not hashed here; 'floormod' is supported");
    if (num_oov_indices < 1 && !invert)
      config["num_oov_indices"].fail("a vocabulary without an index for other integers is not supported");
    if (invert && output_mode.in_rows()) config["output_mode"].fail("with 'invert' it must be 'int'");
  }
  void take_assets(const Assets& assets) override { vocabulary.take(rules(), assets); }
  void state_assets() override { vocabulary.state(rules()); }
  [[nodiscard]] std::vector<NamedTensor> kept_arrays() const override { return vocabulary.arrays(); }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression x{b, b.cast(call.tensor("inputs")->id, DType::int64)};
    if (!vocabulary.known() && !call.lowering().symbolic()) throw bad_input("{}", vocabulary.missing());
    if (invert) return Call::result(vocabulary.known() ? inverted(x) : x);
    const std::string& mode = output_mode.value;
    const Expression index = vocabulary.known() ? looked_up(x) : x;
    if (mode == "int") return Call::result(index);
    const auto depth = vocabulary.depth(rules());
    if (!depth) throw bad_input("{}", vocabulary.missing());
    const ValueId rows = encoded(b, index, mode == "tf_idf" ? "count" : mode, *depth, DType::float32);
    return Call::result(mode == "tf_idf" ? vocabulary.weighed(b, rows, call.lowering().symbolic()) : rows);
  }

 private:
  [[nodiscard]] Vocabulary::Rules rules() const {
    Vocabulary::Rules out;
    if (mask_token) out.mask = std::to_string(*mask_token);
    out.other = std::to_string(oov_token);
    out.others = num_oov_indices;
    out.in_rows = output_mode.in_rows();
    out.invert = invert;
    out.weighs = output_mode.value == "tf_idf";
    out.most = max_tokens;
    out.pads = pad_to_max_tokens;
    out.integers = true;
    return out;
  }
  /// Returns the terms as a tensor of this shape.
  [[nodiscard]] ValueId terms(graph::Builder& b, const Shape& shape) const {
    Tensor tensor(DType::int64, shape);
    for (std::size_t i = 0; i < vocabulary.terms().size(); ++i)
      tensor.as<std::int64_t>()[i] = std::stoll(vocabulary.terms()[i]);
    return b.constant(std::move(tensor));
  }

  [[nodiscard]] Expression looked_up(const Expression& x) const {
    graph::Builder& b = *x.builder;
    const Vocabulary::Rules how = rules();
    const int rank = x.shape().rank();
    Shape row(std::vector<Dim>(static_cast<std::size_t>(rank) + 1, 1));
    row[rank] = static_cast<Dim>(vocabulary.terms().size());
    const auto at = [&](std::int64_t number) { return static_cast<double>(number); };
    // Positions are index + 1, so that 0 means not found.
    const Expression places{b, b.apply(graph::Iota{row, DType::int64, rank, at(how.first() + 1), 1.0}, {})};
    const Expression same = Expression{b, b.expand_dims(x, rank)} == Expression{b, terms(b, row)};
    const Expression known =
        (same.cast(DType::int64) * places).reduced(graph::Reduce{graph::ReduceFn::max, {rank}, false});
    const Expression other = x.binary(BinaryFn::mod, x.number(at(num_oov_indices))) + at(how.first_other());
    const Expression index = where(known == 0.0, other, known + -1.0);
    if (!mask_token) return index;
    const Expression mask{b, b.constant(number(*mask_token))};
    return where(x == mask, index.number(how.in_rows ? -1.0 : 0.0), index);
  }
  [[nodiscard]] Expression inverted(const Expression& x) const {
    graph::Builder& b = *x.builder;
    const auto at = [&](std::int64_t number) { return static_cast<double>(number); };
    const std::int64_t first = rules().first();
    const auto count = static_cast<std::int64_t>(vocabulary.terms().size());
    const Expression place = x + at(-first);
    const Expression inside = min(max(place, x.number(0.0)), x.number(at(std::max<std::int64_t>(count - 1, 0))));
    const Expression other{b, b.constant(number(oov_token))};
    Expression found = other;
    if (count > 0) {
      const Expression term{b, b.apply(graph::Gather{0}, {terms(b, {count}), inside})};
      found = where(place == inside, term, other);
    } else {
      found = where(x == x, other, x);
    }
    if (!mask_token) return found;
    return where(x == 0.0, Expression{b, b.constant(number(*mask_token))}, found);
  }
  [[nodiscard]] static Tensor number(std::int64_t value) {
    Tensor tensor(DType::int64, {});
    tensor.as<std::int64_t>()[0] = value;
    return tensor;
  }

  bool invert = false, sparse = false, pad_to_max_tokens = false;
  std::optional<std::int64_t> max_tokens, mask_token;
  std::int64_t num_oov_indices = 1, oov_token = -1;
  LookupMode output_mode;
  std::string vocabulary_dtype = "int64", oov_method = "floormod";
  Opaque salt;
  Vocabulary vocabulary;
};

constexpr std::string_view kInConfig = "its numbers are in its config";

constexpr std::array kCategoryClasses = {
    ClassInfo{.name = "CategoryEncoding",
              .make = make_layer<CategoryEncoding>,
              .since = 300,
              .no_params = "it counts, and learns nothing",
              .later_arguments = "count_weights 3.1"},
    ClassInfo{.name = "IntegerLookup",
              .make = make_layer<IntegerLookup>,
              .since = 300,
              .no_params = "its vocabulary is not a variable"},
    ClassInfo{.name = "Discretization", .make = make_layer<Discretization>, .since = 300, .no_params = kInConfig},
};

}  // namespace

Family category_classes() { return kCategoryClasses; }

}  // namespace attn::keras
