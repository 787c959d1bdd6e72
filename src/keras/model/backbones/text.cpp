#include "model/backbones/text.h"

#include <utility>

#include "classes/composite.h"

namespace attn::keras {

void TextBackbone::check_fields(const Ref& config) {
  if (dropout < 0.0 || dropout > 1.0)
    config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  if (num_layers > kMaxBlocks)
    config["num_layers"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
}

void TextBackbone::set_inputs(const std::vector<TensorRef>& refs) {
  ArgDict inputs;
  for (const TensorRef& ref : refs) inputs.emplace_back(ref.layer, ref);
  input_struct = inputs;
}

TensorRef TextBackbone::layer_norm(std::string_view called, const TensorRef& x, double epsilon) {
  return call("LayerNormalization", called, {{"axis", -1}, {"epsilon", epsilon}}, {x});
}

TensorRef TextBackbone::dropped_out(std::string_view called, const TensorRef& x) {
  return call("Dropout", called, {{"rate", dropout.value}}, {x});
}

Layer& TextBackbone::token_embedding(Json arguments) {
  arguments["input_dim"] = vocabulary_size.value;
  arguments["output_dim"] = hidden_dim.value;
  return layer("ReversibleEmbedding", "token_embedding", std::move(arguments));
}

TensorRef TextBackbone::through_blocks(TensorRef x, std::string_view class_name, std::string_view called,
                                       const std::function<Json(std::int64_t)>& arguments, const ArgDict& kwargs) {
  for (std::int64_t i = 0; i < num_layers; ++i)
    x = call(class_name, fmt::format("{}_{}", called, i), arguments(i), {x}, kwargs);
  return x;
}

void HeadedBackbone::fields(Fields& f) {
  f.required("vocabulary_size", vocabulary_size);
  f.required("num_layers", num_layers);
  f.required("num_heads", num_heads);
  f.required("hidden_dim", hidden_dim);
  f.required("intermediate_dim", intermediate_dim);
  f("dropout", dropout);
  f("max_sequence_length", max_sequence_length);
}

void HeadedBackbone::check_fields(const Ref& config) {
  TextBackbone::check_fields(config);
  if (hidden_dim < num_heads)
    config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
}

}  // namespace attn::keras
