#include "cross_attention.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "attn/base/error.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"

namespace attn::transcribe {
namespace {

constexpr const char *kFeatures = "encoder_features", *kTokens = "decoder_token_ids",
                     *kPadding = "decoder_padding_mask";
constexpr std::string_view kCrossAttention = "/cross_attention";

keras::LowerOptions options_for(const open::Execution& execution, const Shape& features, Dim tokens) {
  keras::LowerOptions out;
  out.batch = 1;
  out.dtype = execution.dtype;
  out.scores = true;
  out.input_shapes = {{kFeatures, features}, {kTokens, {1, tokens}}, {kPadding, {1, tokens}}};
  return out;
}

/// Returns the scores of the decoder's attention to the encoder, by layer.
std::vector<graph::Scores> cross_scores(const graph::Graph& graph) {
  std::vector<graph::Scores> out;
  std::ranges::copy_if(graph.scores, std::back_inserter(out),
                       [](const graph::Scores& scores) { return scores.name.ends_with(kCrossAttention); });
  return out;
}

}  // namespace

CrossAttention::CrossAttention(const TranscriberParts& parts, const std::vector<AlignmentHead>& heads)
    : parts_(parts),
      compile_(parts.execution.compile_options()),
      weights_([&parts = parts_] { return open::load_weights(parts.loaded, parts.execution, parts.listener); }) {
  compile_.store = parts_.backend.make_store(compile_);
  keras::LowerOptions options;
  options.scores = true;
  options.symbolic = true;
  const graph::Graph graph = parts_.loaded.model.lower(options);
  const std::vector<graph::Scores> layers = cross_scores(graph);
  if (layers.empty()) throw internal_error("the decoder does not attend to its encoder");
  const auto layer_count = std::ssize(layers);
  const Dim head_count = graph.value(layers.front().value).shape[1];
  for (const AlignmentHead& head : heads) {
    if (head.layer >= layer_count || head.head >= head_count)
      throw bad_input(
          "{}: 'alignment_heads' in generation_config.json has head {} of layer {}, but the decoder has {} "
          "layers of {} heads",
          parts_.loaded.file, head.head, head.layer, layer_count, head_count);
    heads_[head.layer].push_back(head.head);
  }
  if (!heads.empty()) return;
  for (std::int64_t layer = layer_count / 2; layer < layer_count; ++layer)
    for (Dim head = 0; head < head_count; ++head) heads_[layer].push_back(head);
}

graph::Graph CrossAttention::lowered(const Shape& features, Dim tokens) const {
  const keras::LowerOptions options = options_for(parts_.execution, features, tokens);
  graph::Graph graph = parts_.loaded.model.lower(options);
  const std::vector<graph::Scores> layers = cross_scores(graph);
  graph.scores.clear();
  for (const auto& [layer, heads] : heads_) graph.scores.push_back(layers[static_cast<std::size_t>(layer)]);
  graph.outputs.clear();  // the steps after the last scores are removed
  open::require_memory(parts_.loaded, options, graph, parts_.backend, parts_.execution);
  return graph;
}

run::Session& CrossAttention::session_for(const Shape& features, Dim tokens) {
  if (heard_ != features) sessions_.clear();
  heard_ = features;
  if (const auto found = sessions_.find(tokens); found != sessions_.end()) return found->second;
  constexpr std::size_t kMost = 4;  // sessions that are kept
  if (sessions_.size() >= kMost) sessions_.clear();
  run::Planned planned = run::plan_for(parts_.backend, lowered(features, tokens));
  std::vector<Tensor> weights = weights_.weights_for(parts_.backend, planned.plan, compile_);
  return sessions_.emplace(tokens, run::Session(parts_.backend, std::move(planned), std::move(weights), compile_))
      .first->second;
}

Tensor CrossAttention::probabilities(const Tensor& features, std::span<const Id> tokens, Dim first, Dim positions) {
  const Dim count = std::ssize(tokens);
  run::Session& session = session_for(features.shape(), count);
  const Tensor ids(DType::int32, {1, count}), padding(DType::int32, {1, count});
  std::ranges::copy(tokens, ids.as<std::int32_t>().begin());
  std::ranges::fill(padding.as<std::int32_t>(), 1);
  session.run(run::make_inputs(session.graph(), {{kFeatures, features}, {kTokens, ids}, {kPadding, padding}}, 0));
  const std::vector<NamedTensor> scores = session.scores();
  auto layer = scores.begin();
  std::int64_t head_count = 0;
  for (const auto& [index, heads] : heads_) head_count += std::ssize(heads);
  Tensor out(DType::float32, {head_count, count - first, positions});
  std::byte* to = out.data();
  for (const auto& [index, heads] : heads_) {
    const Tensor of_layer = (layer++)->tensor.cast(DType::float32);
    const Dim all = of_layer.shape()[3];
    for (const std::int64_t head : heads)
      for (Dim token = first; token < count; ++token) {
        const auto bytes = static_cast<std::size_t>(positions) * sizeof(float);
        std::memcpy(to, of_layer.data() + (head * count + token) * all * static_cast<Dim>(sizeof(float)), bytes);
        to += bytes;
      }
  }
  return out;
}

}  // namespace attn::transcribe
