// Dense, embeddings, and layers that pass their input on.
#include <array>

#include "classes/layers/layers.h"
#include "classes/layers/lora.h"
#include "classes/ops/promotion.h"
#include "classes/training.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;

/// output = activation(inputs · kernel + bias) over the last axis.
class Dense : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("units", units);
    f("activation", activation);
    f("use_bias", use_bias);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("kernel_regularizer", kernel_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("kernel_constraint", kernel_constraint);
    f("bias_constraint", bias_constraint);
    f("quantization_config", quantization_config, 313);
    lora.fields(f);
  }
  void check(const Ref& config) override { lora.check(config); }
  [[nodiscard]] bool supports_masking() const override { return true; }

  void build(Weights& w, Call& call) override {
    const Shape& in = call.shape("inputs");
    if (in.rank() < 2) throw bad_input("expected an input of rank 2 or more, got {}", in.str());
    if (in.back() == kUnknown) throw bad_input("the last dimension of the input must be known, got {}", in.str());
    w.add("kernel", {in.back(), units}, kernel_initializer, !lora.is_on());
    if (use_bias) w.add("bias", {units}, bias_initializer);
    lora.declare(w, "kernel", {in.back(), units});
  }

  Arg call(Call& call) override {
    // Integers come as they are.
    const graph::ValueId x = call.builder().cast(call.tensor("inputs")->id, call.compute_dtype());
    std::vector<graph::ValueId> inputs = {x, lora.added(call, call.weight(0))};
    if (use_bias) inputs.push_back(call.weight(1));
    return Call::result(
        activation.apply(call.builder(), call.builder().apply(graph::Linear{1, use_bias, {}, false}, inputs)));
  }

  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    // compute_output_shape knows nothing of an activation that halves the axis (glu).
    Shape shape = call.shape("inputs");
    shape[-1] = units;
    return std::vector<Shape>{shape};
  }

 private:
  Positive units;
  Activation activation;
  bool use_bias = true;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, bias_regularizer;
  Constraint kernel_constraint, bias_constraint;
  Opaque quantization_config;
  Lora lora;
};

/// Rows of a table by index; with `mask_zero`, index 0 is padding.
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
    w.add("embeddings", {input_dim, output_dim}, embeddings_initializer, !lora.is_on());
    lora.declare(w, "embeddings", {input_dim, output_dim});
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    graph::ValueId indices = call.tensor("inputs")->id;
    if (!is_integer(b.dtype(indices))) indices = b.cast(indices, DType::int32);
    const graph::ValueId table = lora.added(call, call.weight(0));
    return Call::result(b.cast(b.apply(graph::Gather{0}, {table, indices}), call.compute_dtype()));
  }

  Masks compute_mask(Call& call, const Masks&) override {
    const graph::ValueId indices = call.tensor("inputs")->id;
    graph::Builder& b = call.builder();
    return {b.binary(BinaryFn::not_equal, indices, b.scalar_like(indices, 0.0))};
  }

 protected:
  Positive input_dim, output_dim;
  Initializer embeddings_initializer{"uniform"};
  Regularizer embeddings_regularizer, activity;
  Constraint embeddings_constraint;
  Opaque quantization_config;
  bool mask_zero = false;
  Lora lora;
};

/// An embedding that is also called in reverse: x · tableᵀ, or x · a table of its own where they are not tied.
class ReversibleEmbedding : public Embedding {
 public:
  void fields(Fields& f) override {
    Embedding::fields(f);
    f("tie_weights", tie_weights);
    f("reverse_dtype", reverse_dtype);
    f("logit_soft_cap", logit_soft_cap);
  }
  void check(const Ref& config) override {
    if (lora.is_on()) config["lora_rank"].fail("a low-rank addition to an embedding that is reversed is not known");
    if (reverse_dtype && !dtype_of(*reverse_dtype))
      config["reverse_dtype"].fail("expected the name of a dtype, got " + config["reverse_dtype"].kind());
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "reverse"};
    return kNames;
  }

  void build(Weights& w, Call& call) override {
    Embedding::build(w, call);
    if (!tie_weights) w.add("reverse_embeddings", {output_dim, input_dim}, embeddings_initializer);
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
    // The layer does not cast its variables: half features meet a float32 table in float32.
    graph::ValueId table = call.raw_weight(tie_weights ? 0 : 1);
    const DType dtype = reverse_dtype ? *dtype_of(*reverse_dtype) : result_type({b.dtype(x), b.dtype(table)});
    x = b.cast(x, dtype);
    table = b.cast(table, dtype);
    graph::ValueId out = b.apply(graph::MatMul{false, tie_weights}, {x, table});
    if (logit_soft_cap) {
      const graph::ValueId cap = b.scalar_like(out, *logit_soft_cap);
      const graph::ValueId bounded = b.unary(graph::UnaryFn::tanh, b.binary(BinaryFn::divide, out, cap));
      out = b.binary(BinaryFn::multiply, bounded, cap);
    }
    return Call::result(out);
  }

  bool tie_weights = true;
  std::optional<std::string> reverse_dtype;
  std::optional<Number> logit_soft_cap;
};

class ActivationLayer : public Layer {
 public:
  void fields(Fields& f) override { f.required("activation", activation); }
  [[nodiscard]] bool supports_masking() const override { return true; }
  Arg call(Call& call) override {
    const TensorPtr input = call.tensor("inputs");
    const graph::ValueId out = activation.apply(call.builder(), input->id);
    return out == input->id ? input : Call::result(out);
  }

 private:
  Activation activation;
};

/// Layers that act in training only return their input: the same object, mask and all.
class PassThrough : public Layer {
 public:
  [[nodiscard]] bool supports_masking() const override { return true; }
  Arg call(Call& call) override { return call.arg("inputs"); }
};

class Identity : public PassThrough {
 public:
  [[nodiscard]] bool supports_masking() const override { return !follows_keras2(); }
  Arg call(Call& call) override {
    return follows_keras2() ? Arg(Call::result(call.tensor("inputs")->id)) : PassThrough::call(call);
  }
};

class Dropout : public PassThrough {
 public:
  void fields(Fields& f) override {
    f.required("rate", rate);
    f("seed", seed);
    f("noise_shape", noise_shape);
  }
  void check(const Ref& config) override {
    if (rate < 0.0 || rate > 1.0) config["rate"].fail("expected a number from 0 to 1, got " + config["rate"].kind());
  }
  Arg call(Call& call) override {
    if (!drops(call, rate)) return PassThrough::call(call);
    const graph::ValueId inputs = call.tensor("inputs")->id;
    return Call::result(dropped(call, inputs, rate, seed.json, noise_of(noise_shape.json, call.shape("inputs"))));
  }

 private:
  Number rate;
  Opaque seed, noise_shape;
};

/// x, with the steps masked whose features are all `mask_value`; their features become 0.
class Masking : public Layer {
 public:
  void fields(Fields& f) override { f("mask_value", mask_value); }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const graph::ValueId x = call.tensor("inputs")->id;
    const int last = b.shape(x).rank() - 1;
    const auto differs = b.binary(BinaryFn::not_equal, x, b.scalar_like(x, mask_value));
    const auto kept = b.apply(graph::Reduce{graph::ReduceFn::any, {last}, true}, {differs});
    const TensorPtr out = Call::result(b.binary(BinaryFn::multiply, x, b.cast(kept, b.dtype(x))));
    out->mask = b.apply(graph::Reduce{graph::ReduceFn::any, {last}, false}, {differs});
    return out;
  }

 private:
  Number mask_value;
};

constexpr std::string_view kEmbeddingSymbols = "reverse_embeddings: d_model V; embeddings: V d_model";
constexpr std::array kEmbeddingKeras2 = {Keras2Key{"input_length"}};

constexpr std::array kCoreClasses = {
    ClassInfo{.name = "Dense",
              .make = make_layer<Dense>,
              .since = 300,
              .role = Role::kernel,
              .symbols = "kernel: d_in d_out; bias: d_out"},
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
    ClassInfo{.name = "Activation", .make = make_layer<ActivationLayer>, .since = 300, .role = Role::activation},
    ClassInfo{.name = "Identity", .make = make_layer<Identity>, .since = 300, .role = Role::pass_through},
    ClassInfo{.name = "Dropout", .make = make_layer<Dropout>, .since = 300, .role = Role::training},
    ClassInfo{.name = "Masking", .make = make_layer<Masking>, .since = 300, .role = Role::pass_through},
};

}  // namespace

Family core_classes() { return kCoreClasses; }

}  // namespace attn::keras
