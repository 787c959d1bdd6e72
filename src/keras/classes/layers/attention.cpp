// MultiHeadAttention and GroupedQueryAttention.
//
// Letters: B batch, T query length, S key/value length, N query heads, K key/value heads, H head size, D width.
#include <algorithm>
#include <array>
#include <cmath>

#include "classes/layers/dot_attention.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

constexpr std::array<std::string_view, 10> kArguments = {"query",
                                                         "value",
                                                         "key",
                                                         "query_mask",
                                                         "value_mask",
                                                         "key_mask",
                                                         "attention_mask",
                                                         "return_attention_scores",
                                                         "training",
                                                         "use_causal_mask"};

/// What both layers share: projections with their variables, the masks, and the choice of Keras's two computations.
class HeadAttention : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kArguments; }
  [[nodiscard]] bool supports_masking() const override { return true; }

 protected:
  struct Projection {
    int kernel = 0, bias = 0;
  };

  [[nodiscard]] Heads heads_of(std::int64_t count, std::int64_t size) const { return {count, size, dropout == 0.0}; }

  /// `seed_since`: the Keras that began to write the seed.
  void common_fields(Fields& f, Version seed_since) {
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("kernel_regularizer", kernel_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("activity_regularizer", activity);
    f("kernel_constraint", kernel_constraint);
    f("bias_constraint", bias_constraint);
    f("seed", seed, seed_since);
    f.ignored({"flash_attention"});
    f.foreign({"query_shape", "key_shape", "value_shape", "softmax_robust_masking"});
  }

  void check(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
    if (sliding_window && *sliding_window < 1) config["sliding_window"].fail("expected an integer > 0 or null");
  }

  /// kernel (in…, out…) and bias (out…) of an EinsumDense called `sublayer`.
  Projection declare(Weights& w, std::string_view sublayer, std::string_view attribute, const Shape& in,
                     const Shape& out) const {
    w.set_trainable(true);
    Projection projection;
    Shape kernel = in;
    kernel.append(out);
    std::vector<int> in_axes, out_axes;
    for (int axis = 0; axis < kernel.rank(); ++axis) (axis < in.rank() ? in_axes : out_axes).push_back(axis);
    w.scope(sublayer, attribute, [&] {
      projection.kernel = w.add("kernel", kernel, kernel_initializer.with_axes(in_axes, out_axes));
      if (use_bias) projection.bias = w.add("bias", out, bias_initializer);
    });
    return projection;
  }

  ValueId project(Call& call, ValueId x, const Projection& projection, int contracted = 1) const {
    // Integers come as they are.
    std::vector<ValueId> inputs = {call.builder().cast(x, call.compute_dtype()), call.weight(projection.kernel)};
    if (use_bias) inputs.push_back(call.weight(projection.bias));
    return call.builder().apply(graph::Linear{contracted, use_bias, {}, false}, inputs);
  }

  [[nodiscard]] graph::AttentionPath path(Call& call, int projected_rank) const {
    // Keras 2 knows one computation; its rows without an unmasked score average the values as the fused one's do.
    if (follows_keras2()) return graph::AttentionPath::fused;
    const bool fused = dropout == 0.0 && !call.flag("return_attention_scores") && projected_rank == 4;
    return fused ? graph::AttentionPath::fused : graph::AttentionPath::explicit_;
  }

  /// `mask` as bool, with axes of size 1 put in at `position` (from the back) until its rank is `rank`.
  static ValueId expanded(graph::Builder& b, ValueId mask, int position, int rank) {
    mask = b.cast(mask, DType::boolean);
    while (b.shape(mask).rank() < rank) mask = b.expand_dims(mask, position);
    return mask;
  }

  /// The masks of a rank-3 call, each (B,N,T,S) or broadcasting to it: the operation combines them.
  static std::vector<ValueId> masks(Call& call, const std::optional<ValueId>& query_mask) {
    graph::Builder& b = call.builder();
    std::vector<ValueId> out;
    if (query_mask)
      out.push_back(expanded(b, b.expand_dims(b.cast(*query_mask, DType::boolean), -1), -3, 4));  // (B,1,T,1)
    for (const char* argument : {"value_mask", "key_mask"})
      if (const TensorPtr mask = call.optional_tensor(argument))
        out.push_back(expanded(b, b.expand_dims(b.cast(mask->id, DType::boolean), -2), -3, 4));  // (B,1,1,S)
    if (const TensorPtr mask = call.optional_tensor("attention_mask")) {
      if (call.shape(mask).rank() < 2 || call.shape(mask).rank() > 4)
        throw bad_input("attention_mask must have rank 2, 3 or 4, got {}", call.shape(mask).str());
      out.push_back(expanded(b, mask->id, -3, 4));
    }
    return out;
  }

  /// Who sees whom along the only attended axis, the first after the batch.
  struct Sight {
    bool causal = false;
    std::optional<std::int64_t> window;
  };
  [[nodiscard]] Sight sight(Call& call) const {
    return {call.flag("use_causal_mask"), plain_ ? std::nullopt : sliding_window};
  }

  /// Context, and the probabilities (kNone unless asked for) with the mask that Keras's softmax leaves on them.
  struct Attended {
    ValueId context = graph::kNone, scores = graph::kNone;
    std::optional<ValueId> scores_mask;
  };

  /// All masks of the scores as one; nothing where none hides anything.
  static std::optional<ValueId> combined(graph::Builder& b, std::vector<ValueId> masks, const Sight& sight, Dim targets,
                                         Dim sources, int rank) {
    if (sight.causal || sight.window) {
      Shape square(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
      square[rank - 2] = targets;
      square[rank - 1] = sources;
      const Expression target{b, b.apply(graph::Iota{square, DType::int64, rank - 2}, {})};
      const Expression source{b, b.apply(graph::Iota{square, DType::int64, rank - 1}, {})};
      if (sight.causal) masks.push_back(source <= target);
      if (sight.window) masks.push_back(abs(target - source) < static_cast<double>(*sight.window));
    }
    std::optional<ValueId> all;
    for (const ValueId mask : masks) all = all ? b.binary(graph::BinaryFn::logical_and, *all, mask) : mask;
    return all;
  }
  /// Does a later layer get the probabilities, with a mask? Not symbolically, where their shape may be another, unless
  /// the masks are what is asked for.
  [[nodiscard]] bool masks_scores(Call& call) const {
    const bool follows_masks = !call.lowering().symbolic() || call.lowering().watches_masks();
    return call.flag("return_attention_scores") && !follows_keras2() && follows_masks;
  }

  /// The attention operation on (B,T,N,H) projections.
  Attended attend(Call& call, ValueId q, ValueId k, ValueId v, const std::vector<ValueId>& masks,
                  std::int64_t head_size, graph::AttentionPath path, const Sight& sight) const {
    graph::Attention op;
    op.scale = 1.0 / std::sqrt(static_cast<double>(head_size));
    op.path = path;
    op.masks = static_cast<int>(masks.size());
    op.causal = sight.causal;
    op.window = sight.window;
    op.scores = call.flag("return_attention_scores") || call.lowering().want_scores;
    std::vector<ValueId> inputs = {q, k, v};
    inputs.insert(inputs.end(), masks.begin(), masks.end());
    const auto out = call.builder().apply_all(op, inputs);
    if (!op.scores) return {out[0], graph::kNone, {}};
    Attended attended{out[0], out[1], {}};
    if (masks_scores(call)) {
      graph::Builder& b = call.builder();
      attended.scores_mask = combined(b, masks, sight, b.shape(q)[1], b.shape(k)[1], 4);
    }
    return attended;
  }

  /// The results of call(), with the query's mask on the first.
  static Arg results(Call& call, ValueId output, const Attended& attended, const std::optional<ValueId>& query_mask) {
    const TensorPtr out = Call::result(output);
    out->mask = query_mask;
    if (call.lowering().want_scores) call.lowering().add_scores(attended.scores);
    if (!call.flag("return_attention_scores")) return out;
    const TensorPtr scores = Call::result(attended.scores);
    scores->mask = attended.scores_mask;
    return ArgList{out, scores};
  }

  Number dropout;
  bool use_bias = true, use_gate = false;
  std::optional<std::int64_t> sliding_window;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, bias_regularizer, activity;
  Constraint kernel_constraint, bias_constraint;
  Opaque seed;
  Projection query_, key_, gate_, value_, output_;
  bool plain_ = false;  ///< computes neither gate nor window, whatever the config says
};

class MultiHeadAttention : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("key_dim", key_dim);
    f("value_dim", value_dim);
    if (f.reading() && !value_dim) value_dim = key_dim;
    f("dropout", dropout);
    f("use_bias", use_bias);
    f("use_gate", use_gate, 314);
    f("output_shape", output_shape);
    if (built && !attention_axes_.empty()) attention_axes = Tuple{{attention_axes_.begin(), attention_axes_.end()}};
    f("attention_axes", attention_axes);
    f("sliding_window", sliding_window, 315);
    common_fields(f, 304);
  }

  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (output_shape)
      for (const std::int64_t dim : output_shape->items)
        if (dim < 1) config["output_shape"].fail("expected integers > 0");
  }

  [[nodiscard]] std::optional<Heads> heads() const override { return heads_of(num_heads, key_dim); }

  void build(Weights& w, Call& call) override {
    const Shape query = call.shape("query"), value = call.shape("value");
    const Shape key = call.has("key") ? call.shape("key") : value;
    if (query.rank() < 3) throw bad_input("expected a query of rank 3 or more, got {}", query.str());
    if (value.rank() != query.rank() || key.rank() != query.rank())
      throw bad_input("query, value and key must have one rank, got {}, {} and {}", query.str(), value.str(),
                      key.str());
    for (int axis = 1; axis + 1 < value.rank(); ++axis)
      if (value[axis] != kUnknown && key[axis] != kUnknown && value[axis] != key[axis])
        throw bad_input("all dimensions of value and key except the last must be equal, got {} and {}", value.str(),
                        key.str());
    const int rank = query.rank();
    attention_axes_.clear();
    if (attention_axes) {
      for (const std::int64_t axis : attention_axes->items) {
        // Counted in the projected tensor, whose heads axis replaces the features (since Keras 3.12).
        const std::int64_t at = axis < 0 ? rank + axis : axis;
        if (at < 1 || at > rank - 2) throw bad_input("attention axis {} is outside of {}", axis, query.str());
        attention_axes_.push_back(static_cast<int>(at));
      }
    } else {
      for (int axis = 1; axis < rank - 1; ++axis) attention_axes_.push_back(axis);
    }
    const Shape heads{num_heads, key_dim}, value_heads{num_heads, *value_dim};
    query_ = declare(w, "query", "query_dense", {query.back()}, heads);
    key_ = declare(w, "key", "key_dense", {key.back()}, heads);
    if (use_gate) gate_ = declare(w, "gate", "_gate_dense", {query.back()}, value_heads);
    value_ = declare(w, "value", "value_dense", {value.back()}, value_heads);
    output_ = declare(w, "attention_output", "output_dense", value_heads, output_dims(query));
  }

  Arg call(Call& call) override {
    const TensorPtr query = call.tensor("query"), value = call.tensor("value");
    const TensorPtr key = call.has("key") ? call.tensor("key") : value;
    // Keras takes the query's own mask, whatever query_mask was given, and since Keras 3 the masks off its inputs.
    const std::optional<ValueId> query_mask = query->mask;
    if (!follows_keras2()) {
      query->mask.reset();
      value->mask.reset();
      key->mask.reset();
    }
    return attend_to(call, query, value, key, query_mask);
  }

  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape query = call.shape("query");
    Shape out = query.slice(0, query.rank() - 1);
    out.append(output_dims(query));
    if (!call.flag("return_attention_scores")) return std::vector<Shape>{out};
    // compute_output_spec takes the query's length for both sides, also in cross attention.
    return std::vector<Shape>{out, {query[0], num_heads, query[1], query[1]}};
  }

 protected:
  Arg attend_to(Call& call, const TensorPtr& query, const TensorPtr& value, const TensorPtr& key,
                const std::optional<ValueId>& query_mask) {
    graph::Builder& b = call.builder();
    const ValueId q = project(call, query->id, query_);  // (B,T…,N,H)
    const ValueId k = project(call, key->id, key_);
    const bool gated = use_gate && !plain_;
    const ValueId gate = gated ? b.unary(graph::UnaryFn::sigmoid, project(call, query->id, gate_)) : graph::kNone;
    const ValueId v = project(call, value->id, value_);
    const int rank = b.shape(q).rank();
    Attended attended = rank == 4
                            ? attend(call, q, k, v, masks(call, query_mask), key_dim, path(call, rank), sight(call))
                            : attend_axes(call, q, k, v, query_mask);
    if (gated) attended.context = b.binary(BinaryFn::multiply, attended.context, gate);
    return results(call, project(call, attended.context, output_, 2), attended, query_mask);
  }

 private:
  [[nodiscard]] Shape output_dims(const Shape& query) const {
    return output_shape && !output_shape->items.empty() ? Shape(output_shape->items) : Shape{query.back()};
  }

  /// Attention over several axes, or not over all: the other axes join the batch, the attended ones become one length.
  /// Layouts are those of _build_attention_equation: context as the query, scores (batch…, N, T…, S…).
  Attended attend_axes(Call& call, ValueId q, ValueId k, ValueId v, const std::optional<ValueId>& query_mask) {
    graph::Builder& b = call.builder();
    const int rank = b.shape(q).rank();
    std::vector<int> order;  // batch axes, attended axes, heads, head size
    for (int axis = 0; axis < rank - 2; ++axis)
      if (std::find(attention_axes_.begin(), attention_axes_.end(), axis) == attention_axes_.end())
        order.push_back(axis);
    const auto batch_axes = static_cast<int>(order.size());
    order.insert(order.end(), attention_axes_.begin(), attention_axes_.end());
    order.push_back(rank - 2);
    order.push_back(rank - 1);

    const auto flat = [&](ValueId x) {  // (batch, length, N, H)
      x = b.transpose(x, order);
      const Shape& s = b.shape(x);
      return b.reshape(
          x, {product(s.slice(0, batch_axes)), product(s.slice(batch_axes, rank - 2)), s[rank - 2], s[rank - 1]});
    };
    const auto ordered_shape = [&](ValueId x) {
      Shape s;
      for (const int axis : order) s.push_back(b.shape(x)[axis]);
      return s;
    };
    const Shape qs = ordered_shape(q), ks = ordered_shape(k), vs = ordered_shape(v);
    const Shape batch = qs.slice(0, batch_axes), lengths = qs.slice(batch_axes, rank - 2),
                sources = ks.slice(batch_axes, rank - 2);
    if (call.flag("use_causal_mask") && attention_axes_.size() > 1)
      throw bad_input("a causal mask over several attention axes has no meaning in Keras");
    if (sliding_window && attention_axes_.size() > 1)
      throw bad_input("a sliding window over several attention axes has no meaning in Keras");

    Shape full = batch;  // of the scores
    full.push_back(num_heads);
    full.append(lengths);
    full.append(sources);
    std::vector<ValueId> full_masks, flat_masks;
    const auto add_mask = [&](ValueId mask) {
      mask = expanded(b, mask, -2 * static_cast<int>(attention_axes_.size()) - 1, full.rank());
      full_masks.push_back(mask);
      if (call.lowering().symbolic()) {  // no shape that a summary shows depends on it
        call.lowering().note_mask_use();
        return;
      }
      Shape wide = full;
      wide[batch_axes] = b.shape(mask)[batch_axes];
      mask = b.apply(graph::Broadcast{wide}, {mask});
      flat_masks.push_back(b.reshape(mask, {product(batch), wide[batch_axes], product(lengths), product(sources)}));
    };
    if (query_mask) add_mask(b.expand_dims(b.cast(*query_mask, DType::boolean), -1));
    for (const char* argument : {"value_mask", "key_mask"})
      if (const TensorPtr mask = call.optional_tensor(argument))
        add_mask(b.expand_dims(b.cast(mask->id, DType::boolean), -2));
    if (const TensorPtr mask = call.optional_tensor("attention_mask")) add_mask(mask->id);

    // Keras counts the positions of these two along the first axis, whichever is attended; there they broadcast.
    Sight seen = sight(call);
    if (attention_axes_.front() != 1) {
      const Shape square{1, b.shape(q)[1], b.shape(k)[1]};
      const Expression target{b, b.apply(graph::Iota{square, DType::int64, 1}, {})};
      const Expression source{b, b.apply(graph::Iota{square, DType::int64, 2}, {})};
      if (seen.causal) add_mask(source <= target);
      if (seen.window) add_mask(abs(target - source) < static_cast<double>(*seen.window));
      seen = {};
    }
    Attended attended = attend(call, flat(q), flat(k), flat(v), flat_masks, key_dim, path(call, rank), seen);
    Shape out = batch;
    out.append(lengths);
    out.push_back(num_heads);
    out.push_back(vs.back());
    std::vector<int> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    attended.context = b.transpose(b.reshape(attended.context, out), back);
    if (attended.scores != graph::kNone) attended.scores = b.reshape(attended.scores, full);
    if (masks_scores(call)) attended.scores_mask = combined(b, full_masks, seen, lengths[0], sources[0], full.rank());
    return attended;
  }

  static Dim product(const Shape& shape) { return shape.elements().value_or(kUnknown); }

  Positive num_heads, key_dim;
  std::optional<Positive> value_dim;
  std::optional<Tuple> output_shape, attention_axes;
  std::vector<int> attention_axes_;  // counted from the front
};

/// KerasHub's: the masks of its inputs neither act nor go away, and it computes neither gate nor window.
class CachedMultiHeadAttention : public MultiHeadAttention {
 public:
  CachedMultiHeadAttention() { plain_ = true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last is ours: TransformerDecoder says by it what kernels need not compute, instead of giving a mask.
    static constexpr std::array<std::string_view, 9> kNames = {
        "query",    "value",          "key", "attention_mask", "cache", "cache_update_index", "return_attention_scores",
        "training", "use_causal_mask"};
    return kNames;
  }
  Arg call(Call& call) override {
    for (const char* argument : {"cache", "cache_update_index"})
      if (call.has(argument)) throw bad_input("the argument '{}' is not supported: runs keep no cache", argument);
    const TensorPtr value = call.tensor("value");
    return attend_to(call, call.tensor("query"), value, call.has("key") ? call.tensor("key") : value, std::nullopt);
  }
};

class GroupedQueryAttention : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("use_bias", use_bias);
    f("use_gate", use_gate, 314);
    f("sliding_window", sliding_window, 315);
    f("dropout", dropout);
    common_fields(f, 307);
  }

  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_query_heads"].fail("expected a multiple of num_key_value_heads, got " +
                                     config["num_query_heads"].kind());
  }

  [[nodiscard]] std::optional<Heads> heads() const override { return heads_of(num_query_heads, head_dim); }

  void build(Weights& w, Call& call) override {
    const Shape query = call.shape("query"), value = call.shape("value");
    const Shape key = call.has("key") ? call.shape("key") : value;
    if (query.rank() != 3 || value.rank() != 3 || key.rank() != 3)
      throw bad_input("expected a query, value and key of rank 3, got {}, {} and {}", query.str(), value.str(),
                      key.str());
    const Shape heads{num_query_heads, head_dim}, shared{num_key_value_heads, head_dim};
    query_ = declare(w, "query", "_query_dense", {query.back()}, heads);
    key_ = declare(w, "key", "_key_dense", {key.back()}, shared);
    if (use_gate) gate_ = declare(w, "gate", "_gate_dense", {query.back()}, heads);
    value_ = declare(w, "value", "_value_dense", {value.back()}, shared);
    output_ = declare(w, "attention_output", "_output_dense", heads, {query.back()});
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const TensorPtr query = call.tensor("query"), value = call.tensor("value");
    const TensorPtr key = call.has("key") ? call.tensor("key") : value;
    std::optional<ValueId> query_mask;
    if (const TensorPtr mask = call.optional_tensor("query_mask")) query_mask = mask->id;
    if (const TensorPtr mask = call.optional_tensor("attention_mask")) {
      // Alone it goes to the explicit softmax as it is, which keeps what is over 0.5; else all that is not 0 is kept.
      const bool alone = !query_mask && !call.has("value_mask") && !call.has("key_mask") &&
                         !call.flag("use_causal_mask") && !sliding_window;
      if (alone && path(call, 4) == graph::AttentionPath::explicit_ && b.dtype(mask->id) != DType::boolean)
        call.set("attention_mask", Call::result(b.binary(BinaryFn::greater, mask->id, b.scalar_like(mask->id, 0.5))));
    }
    const ValueId q = project(call, query->id, query_), k = project(call, key->id, key_);
    const ValueId gate = use_gate ? b.unary(graph::UnaryFn::sigmoid, project(call, query->id, gate_)) : graph::kNone;
    const ValueId v = project(call, value->id, value_);
    Attended attended = attend(call, q, k, v, masks(call, query_mask), head_dim, path(call, 4), sight(call));
    if (use_gate) attended.context = b.binary(BinaryFn::multiply, attended.context, gate);
    return results(call, project(call, attended.context, output_, 2), attended, std::nullopt);
  }

  /// The batch is the query's.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape query = call.shape("query"), key = call.shape(call.has("key") ? "key" : "value");
    return {{query, {query[0], num_query_heads, query[1], key[1]}}};
  }

 private:
  Positive head_dim, num_query_heads, num_key_value_heads;
};

const std::array kAttentionClasses = {
    ClassInfo{.name = "MultiHeadAttention",
              .make = make_layer<MultiHeadAttention>,
              .since = 300,
              .role = Role::attention,
              .symbols = kHeadSymbols,
              .keras2_keys = kMultiHeadKeras2},
    ClassInfo{.name = "CachedMultiHeadAttention",
              .make = make_layer<CachedMultiHeadAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.cached_multi_head_attention",
              .role = Role::attention,
              .package = "keras_hub",
              .symbols = kHeadSymbols},
    ClassInfo{.name = "GroupQueryAttention",
              .make = make_layer<GroupedQueryAttention>,
              .since = 300,
              .role = Role::attention,
              .shown = "GroupedQueryAttention",
              .symbols = "query/kernel: d_model h d_head; query/bias: h d_head;"
                         " key/kernel: d_model|d_key g d_head; key/bias: g d_head;"
                         " value/kernel: d_model|d_value g d_head; value/bias: g d_head;"
                         " gate/kernel: d_model h d_head; gate/bias: h d_head;"
                         " attention_output/kernel: h d_head d_model|d_out; attention_output/bias: d_model|d_out"},
    ClassInfo{
        .name = "Attention",
        .make = make_dot_attention,
        .since = 300,
        .role = Role::dot_attention,
        .symbols = "scale: d_model",
        .no_params =
            "query, key and value come as they are: it has no projections, and use_scale is off (on, it is one number)",
        .keras2_keys = kDotAttentionKeras2},
    ClassInfo{.name = "AdditiveAttention",
              .make = make_additive_attention,
              .since = 300,
              .role = Role::dot_attention,
              .symbols = "scale: d_model",
              .no_params = "query and key are added as they come, and use_scale is off (on, it is d_model numbers)",
              .keras2_keys = kDotAttentionKeras2},
};

}  // namespace

Family attention_classes() { return kAttentionClasses; }

}  // namespace attn::keras
