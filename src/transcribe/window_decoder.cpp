#include "window_decoder.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/generate/open_decoder.h"

namespace attn::transcribe {

WindowDecoder::WindowDecoder(const backends::Backend& backend, const open::LoadedModel& loaded,
                             const open::Execution& execution, const open::Listener& listener, Dim capacity,
                             Dim branches, Dim prompt)
    : backend_(backend),
      loaded_(loaded),
      execution_(execution),
      listener_(listener),
      capacity_(capacity),
      branches_(branches),
      prompt_(prompt) {
  if (capacity <= prompt)
    throw bad_input("{}: the model reads at most {} tokens, but its prompt has {}; expected more", loaded.file,
                    capacity, prompt);
}

void WindowDecoder::require(const Shape& features, const std::string& source) const {
  generate::StepShape shape;
  shape.capacity = capacity_;
  shape.encoder_entries = 1;
  shape.encoder_length = features[0];
  shape.reads_encoder = true;
  const graph::Graph step = generate::step_of(loaded_.model, execution_.dtype, {})(shape);
  for (const graph::ValueId id : step.inputs)
    if (const graph::Value& input = step.value(id); input.name == "encoder_features" && input.shape[2] != features[1])
      throw bad_input("{}: the converter makes {} features of each frame, but the model reads {}", printable(source),
                      features[1], input.shape[2]);
}

Dim WindowDecoder::max_length(Dim prompt, std::optional<std::int64_t> max_new_tokens) const {
  return prompt + std::min(max_new_tokens.value_or(capacity_), capacity_ - prompt);
}

void WindowDecoder::encode(const Tensor& features) {
  if (decoder_ && heard_ == features.shape()) return decoder_->set_encoder_features(features);
  decoder_.reset();
  generate::CachedDecoderOptions options;
  options.branches = branches_;
  options.capacity = capacity_;
  options.encoder_features = features;
  decoder_ = generate::open_decoder(backend_, loaded_, execution_, {}, std::move(options), prompt_, listener_);
  heard_ = features.shape();
}

std::vector<Token> WindowDecoder::decode(const Tensor& features, const Search& how) {
  encode(features);
  return search(*decoder_, how);
}

std::vector<float> WindowDecoder::next(const Tensor& features, const std::vector<Token>& prompt) {
  encode(features);
  const generate::DecoderOutput ahead = decoder_->advance({prompt, 1, static_cast<Dim>(prompt.size()), 0, {}, false});
  const auto logits = ahead.logits.as<float>();
  return {logits.begin(), logits.end()};
}

}  // namespace attn::transcribe
