// MultiHeadAttention, and KerasHub's CachedMultiHeadAttention.
//
// Letters: see head_attention.h.
#include <algorithm>
#include <array>

#include "classes/decoding.h"
#include "classes/layers/attention/cached_attention.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

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
    const int least = attention_axes && !attention_axes->items.empty() ? 2 : 3;
    if (query.rank() < least) throw bad_input("expected a query of rank {} or more, got {}", least, query.str());
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
        // Since Keras 3.12, negative axes are counted as if the axis of heads had the place of the features.
        const std::int64_t at = axis < 0 ? rank + axis : axis;
        if (at < 0 || at > rank - 2) throw bad_input("attention axis {} is outside of {}", axis, query.str());
        attention_axes_.push_back(static_cast<int>(at));
      }
    } else {
      for (int axis = 1; axis < rank - 1; ++axis) attention_axes_.push_back(axis);
    }
    const Shape heads{num_heads, key_dim}, value_heads{num_heads, *value_dim};
    query_ = declare(w, "query", "query_dense", {query.back()}, heads, rank - 1);
    key_ = declare(w, "key", "key_dense", {key.back()}, heads, use_bias && key_bias_, rank - 1);
    if (use_gate) gate_ = declare(w, "gate", "_gate_dense", {query.back()}, value_heads, rank - 1);
    value_ = declare(w, "value", "value_dense", {value.back()}, value_heads, rank - 1);
    output_ = declare(w, "attention_output", "output_dense", value_heads, output_dims(query), rank - 1);
  }

  Arg call(Call& call) override {
    const TensorPtr query = call.tensor("query"), value = call.tensor("value");
    const TensorPtr key = call.has("key") ? call.tensor("key") : value;
    // Keras uses the query's own mask even if query_mask is given; Keras 3 also removes the masks of the inputs.
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
    // Keras's compute_output_spec uses the query's length for both sides, even for cross-attention.
    return std::vector<Shape>{out, {query[0], num_heads, query[1], query[1]}};
  }

 protected:
  Arg attend_to(Call& call, const TensorPtr& query, const TensorPtr& value, const TensorPtr& key,
                const std::optional<ValueId>& query_mask) {
    graph::Builder& b = call.builder();
    ValueId q = project(call, query->id, query_);  // (B,T…,N,H)
    ValueId k = project(call, key->id, key_);
    const int rank = b.shape(q).rank();
    // Keras's fused computation ignores attention_axes: it attends to axis 1.
    const bool over_rows = std::ranges::count(attention_axes_, 0) > 0;
    const bool is_explicit = path(call, rank) == graph::AttentionPath::explicit_ || follows_keras2();
    const bool by_axes = rank != 4 || (over_rows && is_explicit);
    const bool rows_attend = over_rows && by_axes;
    const Dim batch = b.shape(q)[0] == 1 && !rows_attend ? b.shape(k)[0] : b.shape(q)[0];
    if (!rows_attend) {
      q = over_batch(b, q, batch);
      k = over_batch(b, k, batch);
    }
    const bool gated = use_gate && !plain_;
    const ValueId gate = gated ? b.unary(graph::UnaryFn::sigmoid, project(call, query->id, gate_)) : graph::kNone;
    ValueId v = project(call, value->id, value_);
    if (!rows_attend) v = over_batch(b, v, batch);
    MaskedAttended attended =
        by_axes ? attend_axes(call, q, k, v, query_mask)
                : attend(call, q, k, v, masks(call, query_mask), key_dim, path(call, rank), causality(call));
    if (gated) attended.context = b.binary(BinaryFn::multiply, attended.context, gate);
    return results(call, project(call, attended.context, output_, 2), attended, query_mask);
  }

  /// Adds attention of new tokens to an encoder's sequence. In the call that reads the sequence, it is the argument
  /// `value`.
  Arg attend_to_encoder(Call& call, const EncoderSequences& encoder) {
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(key_dim.value));
    how.path = path(call, 4);
    how.masks = masks(call, std::nullopt);
    std::optional<EncodedKeys> read;
    if (encoder.input) {
      const ValueId encoded = call.tensor("value")->id;
      read = EncodedKeys{project(call, encoded, key_), project(call, encoded, value_)};
    }
    const ValueId query = project(call, call.tensor("query")->id, query_);
    const ValueId context = attend_encoded(call, query, read, num_heads, key_dim, how);
    return results(call, project(call, context, output_, 2), {{context, graph::kNone}, {}}, std::nullopt);
  }

 private:
  /// Broadcasts x from a batch of one to all batch entries.
  static ValueId over_batch(graph::Builder& b, ValueId x, Dim batch) {
    Shape wide = b.shape(x);
    if (wide[0] != 1 || batch == 1 || batch == kUnknown) return x;
    wide[0] = batch;
    return b.apply(graph::Broadcast{wide}, {x});
  }

  [[nodiscard]] Shape output_dims(const Shape& query) const {
    return output_shape && !output_shape->items.empty() ? Shape(output_shape->items) : Shape{query.back()};
  }

  /// Adds attention over several axes, or over an inner one. The other axes become batch axes, and the attended axes
  /// are flattened to one. Layouts follow _build_attention_equation: the context has the layout of the query, and
  /// scores are (batch…, N, T…, S…).
  MaskedAttended attend_axes(Call& call, ValueId q, ValueId k, ValueId v, const std::optional<ValueId>& query_mask) {
    graph::Builder& b = call.builder();
    const int rank = b.shape(q).rank();
    std::vector<int> order;  // order of axes: batch, attended, heads, head size
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

    Shape full = batch;  // the shape of the scores
    full.push_back(num_heads);
    full.append(lengths);
    full.append(sources);
    std::vector<ValueId> full_masks, flat_masks;
    const auto add_mask = [&](ValueId mask) {
      mask = expanded(b, mask, -2 * static_cast<int>(attention_axes_.size()) - 1, full.rank());
      full_masks.push_back(mask);
      if (call.lowering().symbolic()) {  // the mask does not change shapes in summaries
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

    // Keras counts the positions for causality and window along the first axis, even if another axis is attended; the
    // masks are broadcast then.
    Causality seen = causality(call);
    if (attention_axes_.front() != 1) {
      const Shape square{1, call.shape("query")[1], call.shape("value")[1]};
      const Expression target{b, b.apply(graph::Iota{square, DType::int64, 1}, {})};
      const Expression source{b, b.apply(graph::Iota{square, DType::int64, 2}, {})};
      if (seen.causal) add_mask(source <= target);
      if (seen.window) add_mask(abs(target - source) < static_cast<double>(*seen.window));
      seen = {};
    }
    MaskedAttended attended = attend(call, flat(q), flat(k), flat(v), flat_masks, key_dim, path(call, rank), seen);
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

 protected:
  bool key_bias_ = true;
};

/// KerasHub's variant. Masks of the inputs are ignored but kept, and gate and window are not computed.
class CachedMultiHeadAttention : public MultiHeadAttention {
 public:
  explicit CachedMultiHeadAttention(bool key_bias = true) {
    plain_ = true;
    key_bias_ = key_bias;
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own. With it, TransformerDecoder requests causality instead of passing a mask, so
    // that kernels can skip hidden parts.
    static constexpr std::array<std::string_view, 9> kNames = {
        "query",    "value",          "key", "attention_mask", "cache", "cache_update_index", "return_attention_scores",
        "training", "use_causal_mask"};
    return kNames;
  }
  Arg call(Call& call) override {
    for (const char* argument : {"cache", "cache_update_index"})
      if (call.has(argument)) throw bad_input("the argument '{}' is not supported: runs keep no cache", argument);
    const Decoding* decoding = call.lowering().decoding;
    if (decoding != nullptr && decoding->encoder && !call.flag("use_causal_mask"))
      return attend_to_encoder(call, *decoding->encoder);
    const TensorPtr value = call.tensor("value");
    return attend_to(call, call.tensor("query"), value, call.has("key") ? call.tensor("key") : value, std::nullopt);
  }
};

constexpr std::array kKeras2 = {Keras2Key{"query_shape"}, Keras2Key{"key_shape"}, Keras2Key{"value_shape"},
                                Keras2Key{"softmax_robust_masking"}};

constexpr std::array kMultiHeadAttentionClasses = {
    ClassInfo{.name = "MultiHeadAttention",
              .make = make_layer<MultiHeadAttention>,
              .since = 300,
              .role = Role::attention,
              .symbols = kMultiHeadSymbols,
              .keras2_keys = kKeras2},
    ClassInfo{.name = "CachedMultiHeadAttention",
              .make = make_layer<CachedMultiHeadAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.layers.modeling.cached_multi_head_attention",
              .role = Role::attention,
              .package = "keras_hub",
              .symbols = kMultiHeadSymbols},
};

}  // namespace

LayerPtr make_cached_attention_without_key_bias() { return std::make_unique<CachedMultiHeadAttention>(false); }

Family multi_head_attention_classes() { return kMultiHeadAttentionClasses; }

}  // namespace attn::keras
