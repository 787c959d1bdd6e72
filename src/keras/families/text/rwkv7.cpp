// RWKV-7 (keras_hub/src/models/rwkv7): a decoder whose blocks carry a state instead of keys and values (Peng et al.,
// "RWKV-7 'Goose' with Expressive Dynamic State Evolution", arxiv.org/abs/2503.14456).
//
// Letters: B batch, T tokens, D width, H heads, N head size.
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "classes/composite.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/recurrence.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::rwkv7 {
namespace {

using graph::Builder;
using graph::UnaryFn;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.rwkv7.rwkv7_layer";

Json kernels() { return normal_initializer("TruncatedNormal", 0.02); }

Expression sigmoid(const Expression& x) { return x.unary(UnaryFn::sigmoid); }

/// The parts that both mixing layers have.
class Mixing : public Composite {
 protected:
  /// Returns a bias-free dense layer.
  Layer& dense(std::string_view called, std::string_view attribute, std::int64_t units) {
    return make("Dense", called, attribute,
                {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
  }
  /// Returns the tokens before those of x (B,T,D), minus x. Zeros precede the first token.
  static Expression shifted(Call& call, const Expression& x) {
    Builder& b = call.builder();
    graph::Slice earlier;
    earlier.ranges = {{}, {0, -1, 1}, {}};
    return Expression(b, b.apply(earlier, {behind_earlier(call, x, 1)})) - x;
  }
  static TensorPtr through(Call& call, Layer& layer, const Expression& x) {
    return apply(call, layer, {Call::result(x)});
  }

  Initializer kernel_initializer{"glorot_uniform"};
};

/// relu(k·W)²·V, where k mixes a token with the one before it.
class RWKV7ChannelMix final : public Mixing {
 public:
  void fields(Fields& f) override {
    f.required("dim_ffn", dim_ffn);
    f("kernel_initializer", kernel_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override {
    const Dim width = call.shape("x").back();
    mix_ = w.add("time_mix_k", {width}, kernel_initializer);
    key_ = &dense("dense_k", "key", dim_ffn);
    value_ = &dense("dense_v", "value", width);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const Expression x(call.builder(), call.tensor("x")->id);
    const Expression mix(call.builder(), call.weight(mix_));
    const Expression hidden(call.builder(), through(call, *key_, x + shifted(call, x) * mix)->id);
    return through(call, *value_, square(max(hidden, hidden.number(0.0))));
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{call.shape("x")};
  }

 private:
  Positive dim_ffn;
  int mix_ = 0;
  Layer* key_ = nullptr;
  Layer* value_ = nullptr;
};

/// The sizes of a block, apart from that of the feed-forward layer.
struct Sizes {
  Positive hidden_size, head_size, gate_lora = 128, mv_lora = 32, aaa_lora = 64, decay_lora = 64;

  void fields(Fields& f) {
    f.required("hidden_size", hidden_size);
    f.required("head_size", head_size);
    ranks(f);
  }
  void ranks(Fields& f) {
    f("gate_lora", gate_lora);
    f("mv_lora", mv_lora);
    f("aaa_lora", aaa_lora);
    f("decay_lora", decay_lora);
  }
  void check(const Ref& config) const {
    if (hidden_size % head_size != 0)
      config["head_size"].fail(
          fmt::format("{} features cannot be divided into heads of {}", hidden_size.value, head_size.value));
  }
  [[nodiscard]] Json arguments() const {
    return {{"hidden_size", hidden_size.value}, {"head_size", head_size.value}, {"gate_lora", gate_lora.value},
            {"mv_lora", mv_lora.value},         {"aaa_lora", aaa_lora.value},   {"decay_lora", decay_lora.value}};
  }
};

/// (B,T,D) → (B,T,D), and the values of the first block, which later blocks blend with their own.
class RWKV7TimeMix final : public Mixing {
 public:
  void fields(Fields& f) override {
    sizes_.fields(f);
    f("add_v_first", add_v_first);
    f("kernel_initializer", kernel_initializer);
  }
  void check(const Ref& config) override { sizes_.check(config); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"x", "v_first", "padding_mask"};
    return kNames;
  }

  void build(Weights& w, Call& call) override {
    const Dim width = sizes_.hidden_size, heads = width / sizes_.head_size;
    if (call.shape("x").back() != width) throw bad_input("expected {} features, got {}", width, call.shape("x").str());
    const auto add = [&](const char* called, Shape shape) {
      return w.add(called, std::move(shape), kernel_initializer);
    };
    for (const char* called : {"x_r", "x_w", "x_k", "x_v", "x_a", "x_g"}) mixes_.push_back(add(called, {width}));
    const auto low_rank = [&](const char* bias, const char* down, const char* up, Dim rank) {
      return LowRank{add(bias, {width}), add(down, {width, rank}), add(up, {rank, width})};
    };
    decay_ = low_rank("w0", "w1", "w2", sizes_.decay_lora);
    rate_ = low_rank("a0", "a1", "a2", sizes_.aaa_lora);
    if (add_v_first) blend_ = low_rank("v0", "v1", "v2", sizes_.mv_lora);
    gate_down_ = add("g1", {width, sizes_.gate_lora});
    gate_up_ = add("g2", {sizes_.gate_lora, width});
    key_scale_ = add("k_k", {width});
    key_rate_ = add("k_a", {width});
    bonus_ = add("r_k", {heads, sizes_.head_size});
    for (const char* called : {"receptance", "key", "value", "output_layer"})
      dense_.push_back(&dense(called, called, width));
    norm_ = &make("GroupNormalization", call.lowering().automatic_name("GroupNormalization"), "ln_x",
                  {{"groups", heads}, {"epsilon", 64e-5}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const auto weight = [&](int index) { return Expression(b, call.weight(index)); };
    Expression x(b, call.tensor("x")->id);
    const TensorPtr mask = call.optional_tensor("padding_mask");
    if (mask) x = x * Expression(b, mask->id);
    Expression difference = shifted(call, x);
    if (mask) difference = difference * Expression(b, mask->id);
    std::vector<Expression> mixed;  // for r, w, k, v, a, g
    for (const int mix : mixes_) mixed.push_back(x + difference * weight(mix));
    const auto projected = [&](std::size_t which, std::size_t of) {
      return Expression(b, through(call, *dense_[which], mixed[of])->id);
    };
    const auto product = [&](const Expression& y, int kernel) {
      return Expression(b, b.apply(graph::MatMul{}, {y, call.weight(kernel)}));
    };

    const Expression query = projected(0, 0);
    const Expression decay_steps = product(product(mixed[1], decay_.down).unary(UnaryFn::tanh), decay_.up);
    Expression decay = -(-(weight(decay_.bias) + decay_steps)).unary(UnaryFn::softplus) + -0.5;
    Expression key = projected(1, 2), value = projected(2, 3);
    const auto rate_of = [&](const LowRank& part, const Expression& y) {
      return sigmoid(weight(part.bias) + product(product(y, part.down), part.up));
    };
    const TensorPtr first = add_v_first ? call.optional_tensor("v_first") : nullptr;
    const Expression value_of_first = first ? Expression(b, first->id) : value;
    if (first) value = value + (value_of_first - value) * rate_of(blend_, mixed[3]);
    const Expression rate = rate_of(rate_, mixed[4]);
    const Expression gate = product(sigmoid(product(mixed[5], gate_down_)), gate_up_);
    const Expression removal = normalized(by_head(key * weight(key_scale_)));
    key = key * ((rate + -1.0) * weight(key_rate_) + 1.0);
    if (mask) decay = where(Expression(b, mask->id).cast(DType::boolean), decay, decay.number(-1e9));

    const Expression mixed_values = recurrence(
        call, {by_head(query), by_head(decay), by_head(key), by_head(value), -removal, removal * by_head(rate)});
    const Shape in = x.shape();
    const bool is_known = in[0] != kUnknown && in[1] != kUnknown;
    const ValueId rows = b.reshape(mixed_values, {is_known ? in[0] * in[1] : kUnknown, in[2]});
    Expression out(b, b.reshape(apply(call, *norm_, {Call::result(rows)})->id, in));
    const Expression bonus =
        (by_head(query) * by_head(key) * weight(bonus_)).reduced({graph::ReduceFn::sum, {3}, true}) * by_head(value);
    out = out + Expression(b, b.reshape(bonus, in));
    return ArgList{through(call, *dense_[3], out * gate), Call::result(value_of_first)};
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{call.shape("x"), call.shape("x")};
  }

 private:
  /// A bias, and a product with two small matrices.
  struct LowRank {
    int bias = 0, down = 0, up = 0;
  };

  /// (B,T,D) → (B,T,H,N)
  [[nodiscard]] Expression by_head(const Expression& x) const {
    const Shape in = x.shape();
    return {*x.builder, x.builder->reshape(x, {in[0], in[1], in[2] / sizes_.head_size, sizes_.head_size})};
  }
  /// Divides each vector by its length, as KerasHub does: by a reciprocal root that is at least ε.
  static Expression normalized(const Expression& x) {
    constexpr double kEpsilon = 1e-12;
    const Expression squares = square(x).reduced({graph::ReduceFn::sum, {3}, true});
    const Expression reciprocal = (squares + kEpsilon).unary(UnaryFn::rsqrt);
    return x * max(reciprocal, reciprocal.number(kEpsilon));
  }
  /// Runs the delta rule in float32 on query, log of −log of the decay, key, value, and the vectors that the state is
  /// read and written with: (B,T,H,N) → (B,T,H,N).
  [[nodiscard]] Expression recurrence(Call& call, const std::array<Expression, 6>& vectors) const {
    Builder& b = call.builder();
    std::array<ValueId, 6> inputs{};
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = vectors[i].cast(DType::float32);
    inputs[1] = exp(-exp(Expression(b, inputs[1])));
    return Expression(b, delta_rule(call, inputs)).cast(call.compute_dtype());
  }

  Sizes sizes_;
  bool add_v_first = true;
  std::vector<int> mixes_;
  LowRank decay_, rate_, blend_;
  int gate_down_ = 0, gate_up_ = 0, key_scale_ = 0, key_rate_ = 0, bonus_ = 0;
  std::vector<Layer*> dense_;
  Layer* norm_ = nullptr;
};

class RWKV7Block final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", sizes_.hidden_size);
    f.required("head_size", sizes_.head_size);
    f.required("intermediate_dim", intermediate_dim);
    sizes_.ranks(f);
    f("use_initial_norm", use_initial_norm);
    f("kernel_initializer", kernel_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"x", "v_first", "padding_mask"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const auto norm = [&](const char* called, const char* attribute) {
      return &make("LayerNormalization", called, attribute, {{"epsilon", 1e-5}});
    };
    if (use_initial_norm) initial_norm_ = norm("init_norm", "ln0");
    time_norm_ = norm("att_norm", "ln1");
    channel_norm_ = norm("ffn_norm", "ln2");
    Json arguments = sizes_.arguments();
    arguments["add_v_first"] = !use_initial_norm;
    arguments["kernel_initializer"] = kernel_initializer.json;
    time_mix_ = &make("RWKV7TimeMix", "RWKV_TIME_MIX", "att", std::move(arguments));
    channel_mix_ = &make("RWKV7ChannelMix", "RWKV_CMIX", "ffn",
                         {{"dim_ffn", intermediate_dim.value}, {"kernel_initializer", kernel_initializer.json}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    TensorPtr x = call.tensor("x");
    ArgDict more;
    if (const TensorPtr first = call.optional_tensor("v_first")) more.emplace_back("v_first", first);
    TensorPtr mask = call.optional_tensor("padding_mask");
    if (mask) {
      mask = Call::result(b.expand_dims(b.cast(mask->id, call.compute_dtype()), -1));
      more.emplace_back("padding_mask", mask);
    }
    if (use_initial_norm) x = apply(call, *initial_norm_, {x});
    const Arg mixed = call.lowering().apply(*time_mix_, ArgList{apply(call, *time_norm_, {x})}, more);
    const ArgList& parts = *mixed.as<ArgList>();
    x = sum(call, x, *parts[0].as<TensorPtr>());
    TensorPtr normed = apply(call, *channel_norm_, {x});
    if (mask) normed = Call::result(b.binary(graph::BinaryFn::multiply, normed->id, mask->id));
    return ArgList{sum(call, x, apply(call, *channel_mix_, {normed})), parts[1]};
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{call.shape("x"), call.shape("x")};
  }

 private:
  Sizes sizes_;
  Positive intermediate_dim;
  bool use_initial_norm = false;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* initial_norm_ = nullptr;
  Layer* time_norm_ = nullptr;
  Layer* channel_norm_ = nullptr;
  Layer* time_mix_ = nullptr;
  Layer* channel_mix_ = nullptr;
};

class RWKV7Backbone final : public TextBackbone {
 public:
  RWKV7Backbone() { dropout = Number(0.0); }
  void fields(Fields& f) override {
    sizes_.fields(f);
    f.required("vocabulary_size", vocabulary_size);
    f("dropout_rate", dropout);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_layers", num_layers);
  }

 protected:
  void check_fields(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    check_rate(config, "dropout_rate", dropout);
    sizes_.check(config);
  }
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    Layer& embedding = layer("Embedding", "token_embedding",
                             {{"input_dim", vocabulary_size.value},
                              {"output_dim", sizes_.hidden_size.value},
                              {"embeddings_initializer", kernels()}});
    Layer& norm = layer("LayerNormalization", "output_norm", {{"epsilon", 1e-5}});
    Layer& dropped = layer("Dropout", "dropout", {{"rate", dropout.value}});
    TensorRef x = call(embedding, {token_ids});
    const TensorRef mask = operation("Cast", {{"dtype", name_of(policy.compute)}}, {padding_mask});
    std::optional<TensorRef> first;
    for (std::int64_t i = 0; i < num_layers; ++i) {
      Json arguments = sizes_.arguments();
      arguments["intermediate_dim"] = intermediate_dim.value;
      arguments["use_initial_norm"] = i == 0;
      arguments["kernel_initializer"] = kernels();
      x = call("RWKV7_Block", fmt::format("rwkv_layer_{}", i), arguments, {x, first ? Arg(*first) : Arg(), mask});
      first = TensorRef{x.layer, x.node, 1};
      x = call(dropped, {x});
    }
    set_inputs({token_ids, padding_mask});
    const Json head = {{"units", vocabulary_size.value}, {"use_bias", false}, {"kernel_initializer", kernels()}};
    output_struct = call("Dense", "head", head, {call(norm, {x})});
  }

 private:
  Sizes sizes_;
};

/// The logits are the backbone's result.
class RWKV7CausalLM final : public CausalLM {
 public:
  [[nodiscard]] Decoded decode(Lowering& lowering, ValueId token_ids, bool every_position) override {
    const auto applied = [&](const std::string& called, ArgList args) {
      return tensors_of(lowering.apply(*backbone().find(called), std::move(args), ArgDict{}));
    };
    TensorPtr x = applied("token_embedding", {Call::result(token_ids)}).front();
    Arg first;
    for (std::int64_t i = 0; i < backbone_size("num_layers"); ++i) {
      const std::vector<TensorPtr> results = applied(fmt::format("rwkv_layer_{}", i), {x, first});
      x = results[0];
      first = results[1];
    }
    const ValueId hidden = applied("output_norm", {x}).front()->id;
    const ValueId asked = every_position ? hidden : last_position(lowering.builder(), hidden);
    return {applied("head", {Call::result(asked)}).front()->id, hidden};
  }

 protected:
  void assemble() override { assemble_backbone(); }
};

constexpr std::array kLayers = {
    ClassInfo{.name = "RWKV7ChannelMix",
              .make = make_layer<RWKV7ChannelMix>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::kernel,
              .symbols = "time_mix_k: d_model"},
    ClassInfo{.name = "RWKV7TimeMix",
              .make = make_layer<RWKV7TimeMix>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::kernel,
              .symbols = "r_k: h d_head"},
    ClassInfo{.name = "RWKV7_Block",
              .make = make_layer<RWKV7Block>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<RWKV7Backbone>("RWKV7Backbone", "keras_hub.src.models.rwkv7.rwkv7_backbone"),
    model_record<RWKV7CausalLM>("RWKV7CausalLM", "keras_hub.src.models.rwkv7.rwkv7_causal_lm"),
};

constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "RWKVTokenizer", .kind = tokenizers::TokenizerKind::longest_match},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "rwkv7", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers, .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::rwkv7
