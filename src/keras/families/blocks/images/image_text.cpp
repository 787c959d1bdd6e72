#include "families/blocks/images/image_text.h"

#include <array>
#include <memory>
#include <numeric>
#include <tuple>

#include "attn/base/text.h"
#include "classes/ops/expression.h"
#include "model/input_layer.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

std::span<const std::string_view> SimilarityHead::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"vision_embedding", "text_embedding"};
  return kNames;
}

void SimilarityHead::build(Weights& w, Call&) {
  graph::Initializer factor = Initializer("constant").value;
  factor.value = factor_;
  w.add("logit_scale", {}, factor);
  if (biased_) w.add("logit_bias", {}, Initializer("zeros"));
}

Arg SimilarityHead::call(Call& call) {
  Builder& b = call.builder();
  const auto direction = [&](const char* argument) {
    const Expression x(b, call.tensor(argument)->id);
    return x / sqrt(square(x).reduced({graph::ReduceFn::sum, {1}, true}));
  };
  const Expression images = direction("vision_embedding"), texts = direction("text_embedding");
  const Expression cosines(b, b.apply(graph::MatMul{false, true}, {texts, images}));
  Expression logits = cosines * exp({b, call.weight(0)});
  if (biased_) logits = logits + Expression(b, call.weight(1));
  return ArgList{Call::result(b.transpose(logits, {1, 0})), Call::result(logits)};
}

void EncoderSizes::fields(Fields& f) {
  f.required("hidden_dim", hidden_dim);
  f.required("num_layers", num_layers);
  f.required("num_heads", num_heads);
  f.required("intermediate_dim", intermediate_dim);
  f("intermediate_activation", intermediate_activation);
}

void EncoderSizes::check(const Ref& config) const {
  check_blocks(config, "num_layers", num_layers);
  check_heads(config, "num_heads", hidden_dim, num_heads);
  check_activation(config, "intermediate_activation", intermediate_activation);
}

ValueId activated(Builder& b, std::string_view name, ValueId x) {
  if (name == "quick_gelu") {
    const Expression y(b, x);
    return y * (y * 1.702).unary(graph::UnaryFn::sigmoid);
  }
  if (name == "gelu_approximate") return b.unary(graph::UnaryFn::gelu_tanh, x);
  return Activation::named(name)->apply(b, x);
}

void check_activation(const Ref& config, std::string_view key, const std::string& name) {
  if (name != "quick_gelu" && name != "gelu_approximate" && !Activation::named(name))
    config[key].fail(fmt::format("unknown activation '{}'", printable(name)));
}

void PatchEmbedding::fields(Fields& f) {
  f.required("hidden_dim", hidden_dim);
  f.required("patch_size", patch_size);
  f.required("image_size", image_size);
}

void PatchEmbedding::check(const Ref& config) { checked_patches(config, "image_size", side(), side()); }

std::optional<std::vector<Shape>> PatchEmbedding::symbolic_shapes(Call& call) {
  // KerasHub's compute_output_shape counts a class token, even if there is none.
  return {{{call.shape("inputs")[0], side() * side() + 1, hidden_dim}}};
}

int add_position_ids(Weights& w, std::int64_t count, bool counted) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (count > kMost) throw bad_input("{} positions are not accepted: there may be up to {}", count, kMost);
  graph::Initializer initializer = Initializer("zeros").value;
  if (counted) {
    initializer = Initializer("constant").value;
    initializer.values.resize(static_cast<std::size_t>(count));
    std::iota(initializer.values.begin(), initializer.values.end(), 0.0);
  }
  const DType dtype = w.dtype();
  w.set_dtype(DType::int64);
  const int index = w.add("position_ids", {1, count}, initializer, false);
  w.set_dtype(dtype);
  return index;
}

void PatchEmbedding::add_positions(Weights& w, bool counted) {
  position_ids_ = add_position_ids(w, positions(), counted);
}

void PatchEmbedding::make_parts(Json patch_arguments, Json position_arguments) {
  patch_arguments["filters"] = hidden_dim.value;
  patch_arguments["kernel_size"] = patch_arguments["strides"] = patch_size.value;
  patch_embedding_ = &make("Conv2D", "patch_embedding", "patch_embedding", std::move(patch_arguments));
  position_arguments["input_dim"] = positions();
  position_arguments["output_dim"] = hidden_dim.value;
  position_embedding_ = &make("Embedding", "position_embedding", "position_embedding", std::move(position_arguments));
}

TensorPtr PatchEmbedding::with_positions(Call& call, ValueId x) {
  Builder& b = call.builder();
  const ValueId ids =
      position_ids_ ? call.raw_weight(*position_ids_) : b.apply(graph::Iota{{1, positions()}, DType::int32, 1}, {});
  return sum(call, Call::result(x), apply(call, *position_embedding_, {Call::result(ids)}));
}

void ImageTextBackbone::check_fields(const Ref& config) {
  for (const auto& [key, part, encoder] : {std::tuple("vision_encoder", "VisionEncoder", vision_encoder_.get()),
                                           {"text_encoder", "TextEncoder", text_encoder_.get()}}) {
    if (encoder == nullptr || encoder->class_name() != class_of(part))
      config[key].fail(fmt::format("expected a {}{}", class_of(part),
                                   encoder == nullptr ? "" : fmt::format(", not a {}", encoder->class_name())));
    if (dynamic_cast<Functional&>(*encoder).output_struct.as<TensorRef>() == nullptr)
      config[key]["config"]["intermediate_output_index"].fail("an encoder with a second result is not supported here");
  }
}

std::pair<TensorRef, TensorRef> ImageTextBackbone::encoded() {
  const auto& image_input =
      static_cast<const InputLayer&>(*dynamic_cast<const Functional&>(*vision_encoder_).input_layers().front());
  // KerasHub assigns the encoders first, which counts for the order of variables.
  borrow(*vision_encoder_);
  borrow(*text_encoder_);
  const TensorRef images = input("images", image_input.batch_shape, DType::float32);
  token_ids_ = input(kTexts, {kUnknown, kUnknown}, DType::int32);
  input_struct = ArgDict{{"images", images}, {std::string(kTexts), token_ids_}};
  return {call(*vision_encoder_, {ArgDict{{"images", images}}}),
          call(*text_encoder_, {ArgDict{{"token_ids", token_ids_}}})};
}

void ImageTextBackbone::compare(std::string_view class_name, std::string_view called, const TensorRef& images,
                                const TensorRef& texts) {
  const TensorRef logits = call(class_name, called, Json::object(), {images, texts});
  output_struct =
      ArgDict{{std::string(kImageLogits), logits}, {"text_logits", TensorRef{logits.layer, logits.node, 1}}};
}

}  // namespace attn::keras
