#include "attn/generate/cached_decoder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/plan/plan.h"
#include "attn/run/session.h"

namespace attn::generate {
namespace {

/// Copies rows of `from` (rows, count, D) to the positions of `to` (rows, more, D) that begin at `first`.
void copy_positions(const Tensor& from, const Tensor& to, Dim first) {
  const Dim count = from.shape()[1], more = to.shape()[1];
  const std::int64_t row = from.shape()[2] * static_cast<std::int64_t>(sizeof(float));
  for (Dim r = 0; r < from.shape()[0]; ++r)
    std::memcpy(to.data() + (r * more + first) * row, from.data() + r * count * row,
                static_cast<std::size_t>(count * row));
}

/// Copies features of sequences to those of rows, which have the same size.
void copy_features(const Tensor& from, const Tensor& to) {
  if (from.shape() != to.shape())
    throw internal_error("the encoder reads features {}, got {}", to.shape().str(), from.shape().str());
  std::memcpy(to.data(), from.data(), static_cast<std::size_t>(from.bytes()));
}

/// Returns the given array for an input of a step that reads images or sounds.
Tensor media_array(const Tensor& given, const graph::Value& input) {
  if (given.shape() != input.shape)
    throw internal_error("an array {} was given for '{}' {}", given.shape().str(), input.name, input.shape.str());
  return given.cast(input.dtype);
}

/// Returns the states that are no caches of keys and values.
std::vector<graph::ValueId> recurrent_states(const graph::Graph& graph) {
  std::vector<graph::ValueId> state(graph.values.size());  // the state of each result of an Append
  std::iota(state.begin(), state.end(), 0);
  std::vector<bool> is_attended(graph.values.size(), false);
  for (const graph::Node& node : graph.nodes) {
    if (std::holds_alternative<graph::Append>(node.op))
      state[graph::at(node.outputs[0])] = state[graph::at(node.inputs[0])];
    if (!std::holds_alternative<graph::CachedAttention>(node.op)) continue;
    for (const std::size_t input : {std::size_t{1}, std::size_t{2}})
      is_attended[graph::at(state[graph::at(node.inputs[input])])] = true;
  }
  std::vector<graph::ValueId> out;
  for (const graph::ValueId id : graph.states)
    if (!is_attended[graph::at(id)]) out.push_back(id);
  return out;
}

}  // namespace

/// The executable for one shape, and its input arrays.
struct CachedDecoder::Part {
  std::optional<run::Session> session;
  graph::ValueId logits = graph::kNone, hidden = graph::kNone;
  Tensor tokens, position, sources, encoder_tokens, encoder_padding, encoder_features;
  std::vector<Tensor> inputs;
};

Dim CachedDecoderOptions::encoder_length() const {
  if (encoder_features) return encoder_features->shape()[1];
  Dim length = 0;
  for (const auto& tokens : encoder_tokens) length = std::max<Dim>(length, std::ssize(tokens));
  return length;
}

CachedDecoder::CachedDecoder(const backends::Backend& backend, LowerStep lower, std::vector<Tensor> weights,
                             CachedDecoderOptions options)
    : backend_(backend),
      lower_(std::move(lower)),
      weights_(std::move(weights), options.reload),
      options_(std::move(options)) {
  if (!options_.compile.store) options_.compile.store = backend_.make_store(options_.compile);
  encoder_length_ = options_.encoder_length();
  // One token for each row: the shape that every decode step has.
  StepShape shape = step_shape(options_.rows * options_.branches, 1);
  shape.sources = options_.branches > 1;
  shape.keras_hub_step = options_.as_keras_hub;
  part(shape);
}

StepShape CachedDecoder::step_shape(Dim rows, Dim count) const {
  StepShape shape;
  shape.rows = rows;
  shape.count = count;
  shape.entries = options_.rows * options_.branches;
  shape.capacity = options_.capacity;
  shape.kept = options_.kept;
  shape.hidden = options_.hidden;
  if (encoder_length_ > 0) shape.encoder_entries = options_.rows;
  shape.encoder_length = encoder_length_;
  return shape;
}

CachedDecoder::~CachedDecoder() = default;

CachedDecoder::Part& CachedDecoder::part(const StepShape& shape) {
  const auto found = parts_.find(shape);
  if (found != parts_.end()) return *found->second;
  run::Planned planned = run::plan_for(backend_, lower_(shape));
  const graph::Graph& graph = planned.plan.graph;
  auto made = std::make_unique<Part>();
  for (const graph::Output& output : graph.outputs) {
    if (output.name == "logits") made->logits = output.value;
    if (output.name == "hidden") made->hidden = output.value;
  }
  if (made->logits == graph::kNone) throw internal_error("the decode step returns no logits");
  vocabulary_size_ = graph.value(made->logits).shape.back();
  std::int64_t bytes = 0;
  for (const graph::ValueId id : graph.states) bytes += graph.value(id).shape.size() * bytes_of(graph.value(id).dtype);
  cache_bytes_ = std::max(cache_bytes_, bytes);
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    Tensor array(value.dtype, value.shape);
    for (const NamedTensor& given : options_.media)
      if (given.name == value.name) array = media_array(given.tensor, value);
    if (value.name == "token_ids") made->tokens = array;
    if (value.name == "position") made->position = array;
    if (value.name == "sources") made->sources = array;
    if (value.name == "encoder_token_ids") made->encoder_tokens = array;
    if (value.name == "encoder_padding_mask") made->encoder_padding = array;
    if (value.name == "encoder_features") made->encoder_features = array;
    made->inputs.push_back(std::move(array));
  }
  for (Dim row = 0; row < shape.rows && encoder_length_ > 0 && !options_.encoder_features; ++row) {
    const auto& tokens = options_.encoder_tokens[static_cast<std::size_t>(row * options_.rows / shape.rows)];
    const auto first = static_cast<std::size_t>(row * encoder_length_);
    std::ranges::fill(made->encoder_padding.as<std::int32_t>().subspan(first, tokens.size()), 1);
    if (shape.reads_encoder) std::ranges::copy(tokens, made->encoder_tokens.as<Token>().subspan(first).begin());
  }
  if (parts_.empty()) measure_step(graph);
  std::vector<Tensor> weights = weights_.weights_for(backend_, planned.plan, options_.compile);
  made->session.emplace(backend_, std::move(planned), std::move(weights), options_.compile);
  return *parts_.emplace(shape, std::move(made)).first->second;
}

/// Measures the bytes that a decode step reads.
void CachedDecoder::measure_step(const graph::Graph& graph) {
  const std::vector<bool> fixed = graph::fixed_values(graph);
  for (const graph::Node& node : graph.nodes) {
    if (!fixed[graph::at(node.outputs.front())]) weight_bytes_ += run::traffic(graph, node, fixed).weights;
    const auto* attention = std::get_if<graph::CachedAttention>(&node.op);
    if (attention == nullptr) continue;
    const Dim rows = graph.value(node.inputs[0]).shape[0];
    CacheRead read;
    for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
      const graph::Value& cache = graph.value(node.inputs[input]);
      read.bytes += rows * cache.shape[1] * cache.shape[3] * bytes_of(cache.dtype);
      read.most = cache.shape[2];
    }
    read.grows = attention->causal;
    if (attention->window) read.most = std::min<Dim>(read.most, *attention->window);
    cache_reads_.push_back(read);
  }
  std::int64_t recurrent = 0;
  for (const graph::ValueId id : recurrent_states(graph)) {
    const graph::Value& state = graph.value(id);
    recurrent += state.shape.size() / state.shape[2] * bytes_of(state.dtype);
  }
  is_recurrent_ = recurrent > 0;
  cache_reads_.push_back({recurrent, 1, false});
}

std::int64_t CachedDecoder::cache_bytes_read(Dim positions) const {
  std::int64_t bytes = 0;
  for (const CacheRead& read : cache_reads_)
    bytes += read.bytes * (read.grows ? std::min(positions, read.most) : read.most);
  return bytes;
}

run::Session& CachedDecoder::last_session() {
  if (last_ == nullptr) throw internal_error("nothing was read yet");
  return *last_->session;
}

std::span<const Tensor> CachedDecoder::last_inputs() const {
  if (last_ == nullptr) throw internal_error("nothing was read yet");
  return last_->inputs;
}

/// Runs `count` tokens of each row, beginning with token `first` of the step.
void CachedDecoder::run(const Advance& step, const Run& which, DecoderOutput& out) {
  const auto [first, count, every_position, keras_hub_step, reads_encoder, reads_media] = which;
  const bool with_sources = !step.sources.empty();
  StepShape shape = step_shape(step.rows, count);
  shape.sources = with_sources;
  shape.every_position = every_position;
  shape.reads_encoder = reads_encoder;
  shape.keras_hub_step = keras_hub_step;
  shape.reads_media = reads_media;
  Part& part = this->part(shape);
  for (Dim row = 0; row < step.rows; ++row) {
    const auto from =
        step.tokens.subspan(static_cast<std::size_t>(row * step.count + first), static_cast<std::size_t>(count));
    std::ranges::copy(from, part.tokens.as<Token>().begin() + row * count);
    if (!with_sources) continue;
    const auto own = part.sources.as<std::int32_t>().subspan(static_cast<std::size_t>(row * options_.capacity),
                                                             static_cast<std::size_t>(options_.capacity));
    std::ranges::fill(own, static_cast<std::int32_t>(row));
    std::ranges::copy(
        step.sources.subspan(static_cast<std::size_t>(row * step.position), static_cast<std::size_t>(step.position)),
        own.begin());
  }
  part.position.set(0, static_cast<double>(step.position + first));
  if (reads_encoder && options_.encoder_features) copy_features(*options_.encoder_features, part.encoder_features);
  last_ = &part;
  part.session->run(part.inputs);
  const backends::Executable& executable = part.session->executable();
  out.logits = executable.value(part.logits);
  if (part.hidden != graph::kNone) out.hidden = executable.value(part.hidden);
}

DecoderOutput CachedDecoder::advance(const Advance& step) {
  if (step.position + step.count > options_.capacity)
    throw internal_error("positions up to {} were requested from a decoder with {}", step.position + step.count,
                         options_.capacity);
  if (!can_begin_at(step.position))
    throw internal_error("a step began at position {}, and the recurrent states begin at {} to {}", step.position,
                         first_begin_, end_);
  DecoderOutput out;
  read(step, out);
  end_ = step.position + step.count;
  first_begin_ = std::max(step.position == 0 ? 1 : first_begin_, end_ - options_.kept + 1);
  if (options_.as_keras_hub && step.position == 0 && !step.every_position && can_begin_at(step.count - 1)) {
    DecoderOutput last;
    run(step, {step.count - 1, 1, false, true, false, false}, last);
    out.logits = last.logits;
  }
  return out;
}

/// Runs all tokens of the step, in chunks if there are many.
void CachedDecoder::read(const Advance& step, DecoderOutput& out) {
  const bool is_step = options_.as_keras_hub && step.position > 0 && step.count == 1;
  const bool reads_encoder = encoder_length_ > 0 && step.position == 0;
  const bool reads_media = step.position == 0 && !options_.media.empty();
  if (step.count <= options_.prefill_chunk || reads_media) {
    run(step, {0, step.count, step.every_position, is_step, reads_encoder, reads_media}, out);
    return;
  }
  Tensor logits, hidden;  // results of all chunks, as far as requested
  for (Dim first = 0; first < step.count; first += options_.prefill_chunk) {
    const Dim count = std::min(options_.prefill_chunk, step.count - first);
    run(step, {first, count, step.every_position, false, reads_encoder && first == 0, false}, out);
    const auto keep = [&](const Tensor& part, Tensor& whole) {
      if (first == 0) whole = Tensor(DType::float32, {step.rows, step.count, part.shape().back()});
      copy_positions(part, whole, first);
    };
    if (step.every_position) keep(out.logits, logits);
    if (options_.hidden) keep(out.hidden, hidden);
  }
  if (step.every_position) out.logits = logits;
  if (options_.hidden) out.hidden = hidden;
}

bool CachedDecoder::can_begin_at(Dim position) const {
  return !is_recurrent_ || position == 0 || (position >= first_begin_ && position <= end_);
}

void CachedDecoder::set_encoder_features(const Tensor& features) {
  if (!options_.encoder_features || options_.encoder_features->shape() != features.shape())
    throw internal_error("features {} replace others of another shape", features.shape().str());
  options_.encoder_features = features;
}

std::int64_t CachedDecoder::memory_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [shape, part] : parts_) bytes += part->session->executable().memory_bytes();
  return bytes;
}

}  // namespace attn::generate
