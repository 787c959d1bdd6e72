// Embeddings: a table of rows, which can also be a projection (keras/src/layers/core/embedding.py,
// reversible_embedding.py).
#include <array>

#include "classes/dense_kernel.h"
#include "classes/layers/layers.h"
#include "classes/layers/lora.h"
#include "classes/ops/promotion.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using Kind = graph::QuantizedPart::Kind;

/// Looks up rows of a table by index; with `mask_zero`, index 0 is padding.
class Embedding : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("input_dim", input_dim);
    f.required("output_dim", output_dim);
    f("embeddings_initializer", embeddings_initializer);
    f("embeddings_regularizer", embeddings_regularizer);
    f("activity_regularizer", activity);
    f("embeddings_constraint", embeddings_constraint);
    f("mask_zero", mask_zero);
    f("quantization_config", quantization_config, 313);
    lora.fields(f);
    f.ignored({"sparse"});
    f.foreign({"input_length"});
  }
  void check(const Ref& config) override { lora.check(config); }
  [[nodiscard]] bool supports_masking() const override { return mask_zero; }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  void build(Weights& w, Call&) override {
    how_ = quantization_of(policy, quantization_config);
    if (!how_) {
      w.add("embeddings", {input_dim, output_dim}, embeddings_initializer, !lora.is_on());
      lora.declare(w, "embeddings", {input_dim, output_dim});
      return;
    }
    if (!is_int8() && how_->mode != QuantizationMode::int4)
      throw bad_input("the policy '{}' quantizes no embeddings; expected int8 or int4", policy.name);
    table_ = declare(w, "embeddings", {input_dim, output_dim}, 1, 0);
    lora.declare(w, "embeddings", {input_dim, output_dim});
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    graph::ValueId indices = call.tensor("inputs")->id;
    if (!is_integer(b.dtype(indices))) indices = b.cast(indices, DType::int32);
    if (how_) return Call::result(lora.added_to_rows(call, rows_of_integers(call, indices), indices));
    const graph::ValueId table = lora.added(call, call.weight(0));
    return Call::result(b.cast(b.apply(graph::Gather{0}, {table, indices}), call.compute_dtype()));
  }

  [[nodiscard]] bool quantizes() const override { return true; }
  void quantize(const Quantization& how) override {
    policy.quantize(how);
    quantization_config = QuantizationConfig::of(how);
  }

  Masks compute_mask(Call& call, const Masks&) override {
    const graph::ValueId indices = call.tensor("inputs")->id;
    graph::Builder& b = call.builder();
    return {b.binary(BinaryFn::not_equal, indices, b.scalar_like(indices, 0.0))};
  }

 protected:
  /// The variables of a quantized table, as indices in the layer; −1 if absent.
  struct Table {
    int integers = -1, scale = -1, zero = -1, groups = -1;
  };

  [[nodiscard]] bool is_int8() const { return how_->mode == QuantizationMode::int8; }

  /// Declares a table of `shape`. The output_dim numbers of a row along `axis` share scales. In .weights.h5 the
  /// variables are numbered from `place` on.
  Table declare(Weights& w, const std::string& called, const Shape& shape, int axis, int place) {
    const Dim others = shape[1 - axis];
    graph::QuantizedPart part;
    part.of = called;
    part.shape = shape;
    part.axes = {axis};
    part.bits = how_->bits;
    if (!is_int8()) {
      part.group = how_->group.value_or(0);
      part.packed = axis;
    }
    const auto of = [&](Kind kind) {
      part.kind = kind;
      return part;
    };
    Shape stored = shape, scale{others};
    if (!is_int8()) stored[axis] = (output_dim + 1) / 2;
    const bool grouped = !is_int8() && how_->group;
    if (grouped) {
      const Dim groups = how_->groups_of(output_dim);
      scale = axis == 0 ? Shape{groups, others} : Shape{others, groups};
    }
    const graph::Initializer zeros = Initializer("zeros").value, ones = Initializer("ones").value;
    Table out;
    out.integers = w.add({called, stored, zeros, DType::int8, false, place++, of(Kind::integers)});
    const std::string scale_name = called + "_scale", zero_name = called + "_zero";
    out.scale = w.add({scale_name, scale, ones, std::nullopt, false, place++, of(Kind::scale)});
    if (!grouped) return out;
    // In Keras, the zero points of the second table are floats, and it shares the groups of the first.
    const bool is_first = axis == 1;
    out.zero = w.add({zero_name, scale, zeros, is_first ? std::optional(DType::int8) : std::nullopt, false, place++,
                      of(Kind::zero)});
    if (!is_first) {
      out.groups = table_.groups;
      return out;
    }
    graph::Initializer numbers;
    numbers.class_name = "Constant";
    for (Dim i = 0; i < output_dim; ++i) numbers.values.push_back(static_cast<double>(i / *how_->group));
    out.groups = w.add({"g_idx", Shape{output_dim}, numbers, DType::float32, false, place, of(Kind::groups)});
    return out;
  }

  [[nodiscard]] graph::ValueId groups(Call& call) const {
    return call.builder().cast(call.raw_weight(table_.groups), DType::int32);
  }

  /// Looks up rows of a quantized table. The layer does not cast its variables, so rows have the dtype of the scale.
  [[nodiscard]] graph::ValueId rows_of_integers(Call& call, graph::ValueId indices) const {
    graph::Builder& b = call.builder();
    const auto rows = [&](int weight) { return b.apply(graph::Gather{0}, {call.raw_weight(weight), indices}); };
    const graph::ValueId q = rows(table_.integers);
    const int last = b.shape(q).rank() - 1;
    graph::Dequantize op;
    if (!is_int8()) op.nibbles = graph::Nibbles{last, output_dim};
    if (table_.zero < 0) return b.apply(op, {q, b.expand_dims(rows(table_.scale), -1)});
    op.group_axis = last;
    return b.apply(op, {q, rows(table_.scale), rows(table_.zero), groups(call)});
  }

  Positive input_dim, output_dim;
  Initializer embeddings_initializer{"uniform"};
  Regularizer embeddings_regularizer, activity;
  Constraint embeddings_constraint;
  QuantizationConfig quantization_config;
  bool mask_zero = false;
  Lora lora;
  std::optional<Quantization> how_;
  Table table_;
};

/// An embedding that can also be called in reverse: x · tableᵀ, or x · a second table if they are not tied.
class ReversibleEmbedding : public Embedding {
 public:
  void fields(Fields& f) override {
    Embedding::fields(f);
    f("tie_weights", tie_weights);
    f("reverse_dtype", reverse_dtype);
    f("logit_soft_cap", logit_soft_cap);
  }
  void check(const Ref& config) override {
    if (lora.is_on()) config["lora_rank"].fail("LoRA is not supported for a reversible embedding");
    if (reverse_dtype && !dtype_of(*reverse_dtype))
      config["reverse_dtype"].fail("expected the name of a dtype, got " + config["reverse_dtype"].kind());
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "reverse"};
    return kNames;
  }

  void build(Weights& w, Call& call) override {
    Embedding::build(w, call);
    if (how_ && !tie_weights)
      reverse_ = declare(w, "reverse_embeddings", {output_dim, input_dim}, 0, table_.zero < 0 ? 2 : 4);
    else if (!tie_weights)
      w.add("reverse_embeddings", {output_dim, input_dim}, embeddings_initializer);
  }

  Arg call(Call& call) override {
    if (call.flag("reverse")) return logits(call);
    const TensorPtr rows = tensors_of(Embedding::call(call)).front();
    if (mask_zero) rows->mask = Embedding::compute_mask(call, {}).front();
    return rows;
  }
  Masks compute_mask(Call&, const Masks&) override { return {}; }

 private:
  Arg logits(Call& call) const {
    graph::Builder& b = call.builder();
    graph::ValueId x = call.tensor("inputs")->id;
    if (how_) return Call::result(capped(b, by_integers(call, x)));
    // The layer does not cast its variables, so half-precision features are multiplied by a float32 table in float32.
    graph::ValueId table = call.raw_weight(tie_weights ? 0 : 1);
    const DType dtype = reverse_dtype ? *dtype_of(*reverse_dtype) : result_type({b.dtype(x), b.dtype(table)});
    x = b.cast(x, dtype);
    table = b.cast(table, dtype);
    return Call::result(capped(b, b.apply(graph::MatMul{false, tie_weights}, {x, table})));
  }

  [[nodiscard]] graph::ValueId capped(graph::Builder& b, graph::ValueId logits) const {
    if (!logit_soft_cap) return logits;
    const graph::ValueId cap = b.scalar_like(logits, *logit_soft_cap);
    const graph::ValueId bounded = b.unary(graph::UnaryFn::tanh, b.binary(BinaryFn::divide, logits, cap));
    return b.binary(BinaryFn::multiply, bounded, cap);
  }

  /// Multiplies x by a quantized table. x is quantized unless a config disables it; the config of a preset has only the
  /// policies.
  [[nodiscard]] graph::ValueId by_integers(Call& call, graph::ValueId x) const {
    graph::Builder& b = call.builder();
    const Table& table = tie_weights ? table_ : reverse_;
    graph::QuantizedLinear op;
    op.units = {input_dim};
    op.transposed = tie_weights;
    op.pairs = is_int8() ? graph::Pairs::none : graph::Pairs::inputs;
    op.grouped = table.zero >= 0;
    op.inputs = quantization_config.inputs(graph::IntegerRange{});
    std::vector<graph::ValueId> inputs = {x, call.raw_weight(table.integers), call.raw_weight(table.scale)};
    if (op.grouped) inputs.insert(inputs.end(), {call.raw_weight(table.zero), groups(call)});
    return b.apply(op, inputs);
  }

  bool tie_weights = true;
  std::optional<std::string> reverse_dtype;
  std::optional<Number> logit_soft_cap;
  Table reverse_;
};

constexpr std::string_view kEmbeddingSymbols = "reverse_embeddings: d_model V; embeddings: V d_model";
constexpr std::array kEmbeddingKeras2 = {Keras2Key{"input_length"}};

constexpr std::array kEmbeddingClasses = {
    ClassInfo{.name = "Embedding",
              .make = make_layer<Embedding>,
              .since = 300,
              .role = Role::tokens,
              .symbols = kEmbeddingSymbols,
              .keras2_keys = kEmbeddingKeras2},
    ClassInfo{.name = "ReversibleEmbedding",
              .make = make_layer<ReversibleEmbedding>,
              .since = 312,
              .role = Role::tokens,
              .symbols = kEmbeddingSymbols},
};

}  // namespace

Family embedding_classes() { return kEmbeddingClasses; }

}  // namespace attn::keras
