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
  f("audio_encoder", audio_encoder);
  f("embed_audio", embed_audio);
  f("vision_soft_tokens_per_image", vision_soft_tokens_per_image);
  f("audio_soft_tokens_per_image", audio_soft_tokens_per_image);
  f("image_token_id", image_token_id);
  f("audio_token_id", audio_token_id);
  f.required("vocab_size_per_layer_input", vocab_size_per_layer_input);
}

std::vector<Layer::Sublayer> Gemma3nProcessor::sublayers() {
  // Keras builds these before this layer, so their variable paths do not include this layer's name.
  std::vector<Sublayer> out;
  if (vision.encoder != nullptr) out.push_back({vision.encoder.get(), "", "vision_encoder/", true});
  if (model != nullptr) out.push_back({model, model->name + "/", "language_model/", true});
  if (vision.embedder != nullptr)
    out.push_back({vision.embedder.get(), vision.embedder->name + "/", "embed_vision/", true});
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
  const TensorPtr token_ids = given("token_ids"), pixels = given("pixel_values");
  model->make_layers();
  const Expression ids(b, token_ids->id);
  Expression rows(b, model->embedded(call, token_ids)->id);
  if (vision.encoder != nullptr) rows = with_image_tokens(call, ids, rows);
  if (pixels != nullptr) rows = with_images(call, ids, rows, {b, pixels->id});
  // The second embedding has no rows for tokens of images and sounds, which have the row of token 0.
  const Expression known = (ids.number(-1.0) < ids) & (ids < static_cast<double>(vocab_size_per_layer_input.value));
  const TensorPtr texts = Call::result(where(known, ids, ids.number(0.0))), all = Call::result(rows);
  return ArgList{all, model->layer_inputs(call, texts, all)};
}

TensorPtr Gemma3nProcessor::embedded(Call& call, const Expression& x) {
  return tensors_of(call.lowering().apply(*vision.embedder, ArgList{Call::result(x)}, ArgDict{})).front();
}

Expression Gemma3nProcessor::with_image_tokens(Call& call, const Expression& ids, const Expression& rows) {
  const auto first = static_cast<double>(vision.first), end = static_cast<double>(vision.first + vision.count);
  const Expression own = (ids.number(first - 1.0) < ids) & (ids < end);
  const Expression looked_up(call.builder(), embedded(call, where(own, ids, ids.number(end - 1.0)))->id);
  return where(expanded(own), looked_up, rows);
}

Expression Gemma3nProcessor::with_images(Call& call, const Expression& ids, const Expression& rows,
                                         const Expression& pixels) {
  Builder& b = call.builder();
  const Shape shape = rows.shape(), given = pixels.shape();
  const bool symbolic = call.lowering().symbolic();
  const Dim count = symbolic ? kUnknown : given[0] * given[1];
  const ValueId images = b.reshape(pixels, {count, vision.image[0], vision.image[1], vision.image[2]});
  const Arg seen = call.lowering().apply(*vision.encoder, ArgList{Call::result(images)}, ArgDict{});
  const Expression cells(b, tensors_of(seen).front()->id);
  const Expression features(b, b.reshape(cells, {count, vision.cells, cells.shape()[3]}));
  const Expression seen_rows(b, embedded(call, features.cast(rows.dtype()) * vision.scale)->id);
  if (symbolic) return rows;

  // KerasHub numbers the placeholders of a batch together. Its generate() begins with images for each row, and so do
  // decode steps here.
  const Expression is_image = ids == static_cast<double>(vision.placeholder);
  const Dim groups = call.lowering().decoding == nullptr ? 1 : shape[0];
  const ValueId flags = b.reshape(is_image.cast(DType::int32), {groups, shape[0] * shape[1] / groups});
  const Expression number(b, b.apply(graph::Cumulate{.axis = 1}, {flags}));
  const Expression first(
      b,
      b.apply(graph::Iota{{groups, 1}, DType::int32, 0, -1.0, static_cast<double>(count * vision.cells / groups)}, {}));
  const Expression last = number.number(static_cast<double>(count * vision.cells - 1));
  const Expression at = min(max(number + first, number.number(0.0)), last);
  const ValueId all = b.reshape(seen_rows, {count * vision.cells, shape[2]});
  const ValueId picked = b.apply(graph::Gather{0}, {all, b.reshape(at, {shape[0], shape[1]})});
  return where(expanded(is_image), {b, picked}, rows);
}

}  // namespace attn::keras
