// Letters: see gemma3n_processor.h.
#include "families/blocks/decoders/gemma3n_processor.h"

#include <algorithm>
#include <utility>

#include "classes/reading.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Rows of the text model's width (B,T,D): for tokens (B,T), or for features (B,T,E) of another model.
class Gemma3nMultimodalEmbedder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("multimodal_hidden_size", multimodal_hidden_size);
    f.required("text_hidden_size", text_hidden_size);
    f.required("rms_norm_eps", rms_norm_eps);
    f.required("vocab_offset", vocab_offset);
    f.required("vocab_size", vocab_size);
  }
  void build(Weights&, Call&) override {
    const auto norm = [&](const char* called, std::int64_t dim, bool with_scale) {
      return &make("Gemma3nRMSNorm", called, called,
                   {{"dim", dim}, {"eps", rms_norm_eps.value}, {"with_scale", with_scale}});
    };
    embedding_ = &make("Embedding", "embedding", "embedding",
                       {{"input_dim", vocab_size.value}, {"output_dim", multimodal_hidden_size.value}});
    hard_norm_ = norm("hard_embedding_norm", multimodal_hidden_size, true);
    soft_norm_ = norm("soft_embedding_norm", multimodal_hidden_size, true);
    projection_ = &make_unbiased("embedding_projection", text_hidden_size);
    last_norm_ = norm("embedding_post_projection_norm", text_hidden_size, false);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("inputs");
    const Expression x(call.builder(), in->id);
    TensorPtr rows;
    if (is_floating(x.dtype())) {
      rows = apply(call, *soft_norm_, {in});
    } else {
      const Expression numbers = x - x.number(static_cast<double>(vocab_offset));
      rows = apply(call, *hard_norm_, {apply(call, *embedding_, {Call::result(numbers)})});
    }
    return apply(call, *last_norm_, {apply(call, *projection_, {rows})});
  }

 private:
  Positive multimodal_hidden_size, text_hidden_size, vocab_size;
  Number rms_norm_eps;
  std::int64_t vocab_offset = 0;
  Layer* embedding_ = nullptr;
  Layer* hard_norm_ = nullptr;
  Layer* soft_norm_ = nullptr;
  Layer* projection_ = nullptr;
  Layer* last_norm_ = nullptr;
};

Expression expanded(const Expression& x) { return {*x.builder, x.builder->expand_dims(x, x.shape().rank())}; }

/// Replaces the rows (B,T,D) of placeholders by those of images or sounds (K,D), in order. KerasHub numbers the
/// placeholders of a batch together. Its generate() begins with rows for each entry, and so do decode steps here.
Expression with_rows(Call& call, const Expression& ids, const Expression& rows, std::int64_t placeholder,
                     const Expression& all) {
  Builder& b = call.builder();
  const Shape shape = rows.shape();
  const Dim count = all.shape()[0], groups = call.lowering().decoding == nullptr ? 1 : shape[0];
  const Expression is_placeholder = ids == static_cast<double>(placeholder);
  const ValueId flags = b.reshape(is_placeholder.cast(DType::int32), {groups, shape[0] * shape[1] / groups});
  const Expression number(b, b.apply(graph::Cumulate{.axis = 1}, {flags}));
  const Expression first(
      b, b.apply(graph::Iota{{groups, 1}, DType::int32, 0, -1.0, static_cast<double>(count / groups)}, {}));
  const Expression last = number.number(static_cast<double>(count - 1));
  const Expression at = min(max(number + first, number.number(0.0)), last);
  const ValueId picked = b.apply(graph::Gather{0}, {all, b.reshape(at, {shape[0], shape[1]})});
  return where(expanded(is_placeholder), {b, picked}, rows);
}

}  // namespace

LayerPtr make_gemma3n_embedder() { return std::make_unique<Gemma3nMultimodalEmbedder>(); }

void Gemma3nProcessor::fields(Fields& f) {
  const auto part = [&](const char* key, Opaque& read, Layer* layer) {
    if (f.reading()) return f(key, read);
    f.put(key, layer == nullptr ? Json() : layer_json(*layer, f.version()));
  };
  if (!f.reading()) f.put("language_model", model == nullptr ? Json() : layer_json(*model, f.version()));
  part("vision_encoder", vision_encoder, vision.encoder.get());
  part("embed_vision", embed_vision, vision.embedder.get());
  part("audio_encoder", audio_encoder, audio.encoder.get());
  part("embed_audio", embed_audio, audio.embedder.get());
  f("vision_soft_tokens_per_image", vision_soft_tokens_per_image);
  f("audio_soft_tokens_per_image", audio_soft_tokens_per_image);
  f("image_token_id", image_token_id);
  f("audio_token_id", audio_token_id);
  f.required("vocab_size_per_layer_input", vocab_size_per_layer_input);
}

std::vector<Layer::Sublayer> Gemma3nProcessor::sublayers() {
  // Keras builds these before this layer, so their variable paths do not include this layer's name.
  std::vector<Sublayer> out;
  const auto add = [&](Layer* layer, const std::string& path, const char* store) {
    if (layer != nullptr) out.push_back({layer, path, store, true});
  };
  const auto path_of = [](const Layer* layer) { return layer == nullptr ? std::string() : layer->name + "/"; };
  add(vision.encoder.get(), "", "vision_encoder/");
  add(model, path_of(model), "language_model/");
  add(vision.embedder.get(), path_of(vision.embedder.get()), "embed_vision/");
  add(audio.encoder.get(), path_of(audio.encoder.get()), "audio_encoder/");
  add(audio.embedder.get(), path_of(audio.embedder.get()), "embed_audio/");
  return out;
}

Arg Gemma3nProcessor::call(Call& call) {
  if (model == nullptr) throw bad_input("a layer of this class is only supported inside a Gemma3nBackbone");
  Builder& b = call.builder();
  const LayerScope scope(call.lowering(), name);
  const auto* const inputs = call.arg("inputs").as<ArgDict>();
  const auto given = [&](std::string_view key) -> TensorPtr {
    const auto found =
        std::find_if(inputs->begin(), inputs->end(), [&](const auto& item) { return item.first == key; });
    return found == inputs->end() ? nullptr : tensors_of(found->second).front();
  };
  const TensorPtr token_ids = given("token_ids"), pixels = given("pixel_values"), features = given("input_features");
  model->make_layers();
  const Expression ids(b, token_ids->id);
  Expression rows(b, model->embedded(call, token_ids)->id);
  const auto at_least = [&](std::int64_t token) { return ids.number(static_cast<double>(token - 1)) < ids; };
  if (vision.encoder != nullptr) {
    const std::int64_t end = audio.encoder != nullptr ? audio.first : vision.first + vision.count;
    rows = with_tokens(call, vision, at_least(vision.first) & (ids < static_cast<double>(end)), ids, rows);
  }
  if (audio.encoder != nullptr) rows = with_tokens(call, audio, at_least(audio.first), ids, rows);
  const auto placed = [&](const Gemma3nEncoder& encoder, const Expression& all) {
    if (!call.lowering().symbolic()) rows = with_rows(call, ids, rows, encoder.placeholder, all);
  };
  if (pixels != nullptr) placed(vision, image_rows(call, {b, pixels->id}));
  if (features != nullptr) placed(audio, sound_rows(call, {b, features->id}, {b, given("input_features_mask")->id}));
  // The second embedding has no rows for tokens of images and sounds, which have the row of token 0.
  const Expression known = (ids.number(-1.0) < ids) & (ids < static_cast<double>(vocab_size_per_layer_input.value));
  const TensorPtr texts = Call::result(where(known, ids, ids.number(0.0))), all = Call::result(rows);
  return ArgList{all, model->layer_inputs(call, texts, all)};
}

Expression Gemma3nProcessor::embedded(Call& call, const Gemma3nEncoder& encoder, const Expression& x) {
  const Arg rows = call.lowering().apply(*encoder.embedder, ArgList{Call::result(x)}, ArgDict{});
  return {call.builder(), tensors_of(rows).front()->id};
}

/// Replaces the rows of the embedder's own tokens. The others look up its last one.
Expression Gemma3nProcessor::with_tokens(Call& call, const Gemma3nEncoder& encoder, const Expression& own,
                                         const Expression& ids, const Expression& rows) {
  const Expression last = ids.number(static_cast<double>(encoder.first + encoder.count - 1));
  return where(expanded(own), embedded(call, encoder, where(own, ids, last)), rows);
}

/// Returns the rows (K,D) of all images.
Expression Gemma3nProcessor::image_rows(Call& call, const Expression& pixels) const {
  Builder& b = call.builder();
  const Shape given = pixels.shape();
  const Dim count = call.lowering().symbolic() ? kUnknown : given[0] * given[1];
  Shape shape{count};
  shape.append(vision.item);
  const ValueId images = b.reshape(pixels, shape);
  const Arg seen = call.lowering().apply(*vision.encoder, ArgList{Call::result(images)}, ArgDict{});
  const Expression cells(b, tensors_of(seen).front()->id);
  const Expression features(b, b.reshape(cells, {count, vision.rows, cells.shape()[3]}));
  const Expression rows = embedded(call, vision, features.cast(call.compute_dtype()) * vision.scale);
  if (call.lowering().symbolic()) return rows;
  return {b, b.reshape(rows, {count * vision.rows, rows.shape()[2]})};
}

/// Returns the rows (K,D) of all sounds. Behind its own rows, a sound has that of the embedder's last token.
Expression Gemma3nProcessor::sound_rows(Call& call, const Expression& features, const Expression& mask) const {
  Builder& b = call.builder();
  const Shape given = features.shape();
  const Dim count = call.lowering().symbolic() ? kUnknown : given[0] * given[1];
  const ValueId sounds = b.reshape(features, {count, given[2], given[3]});
  const TensorPtr padding = Call::result(b.reshape(mask, {count, given[2]}));
  const Arg heard = call.lowering().apply(*audio.encoder, ArgList{Call::result(sounds), padding}, ArgDict{});
  const Expression rows = embedded(call, audio, {b, tensors_of(heard).front()->id});
  if (call.lowering().symbolic()) return rows;
  const Shape shape = rows.shape();
  graph::Slice first;
  first.ranges = {{}, {0, std::min<Dim>(shape[1], audio.rows), 1}, {}};
  ValueId all = b.apply(first, {rows});
  if (const Dim missing = audio.rows - shape[1]; missing > 0) {
    const Expression last(
        b, b.apply(graph::Fill{{1, 1}, DType::int32, static_cast<double>(audio.first + audio.count - 1)}, {}));
    const ValueId rest = b.apply(graph::Broadcast{{count, missing, shape[2]}}, {embedded(call, audio, last)});
    all = b.apply(graph::Concat{1}, {all, rest});
  }
  return {b, b.reshape(all, {count * audio.rows, shape[2]})};
}

}  // namespace attn::keras
