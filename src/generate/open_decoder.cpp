#include "attn/generate/open_decoder.h"

#include <algorithm>
#include <map>

#include "attn/base/dtype.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/execution.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/run/memory.h"

namespace attn::generate {
namespace {

constexpr std::int64_t kUsualLength = 1024;

bool has_cache(const graph::Graph& step) {
  return std::ranges::any_of(
      step.nodes, [](const graph::Node& node) { return std::holds_alternative<graph::CachedAttention>(node.op); });
}

/// Returns the bytes of a search's candidates: the scores of all tokens after each, in order, and copies of its tokens.
UInt128 search_bytes(const graph::Graph& step, const StepShape& shape) {
  constexpr UInt128 kOfToken = 16, kOfPosition = 64, kOfCandidate = 1024;
  const Dim vocabulary = step.value(step.outputs.front().value).shape.back();
  return static_cast<UInt128>(shape.rows) * (static_cast<UInt128>(vocabulary) * kOfToken +
                                             static_cast<UInt128>(shape.capacity) * kOfPosition + kOfCandidate);
}

/// Checks the memory of steps of one token and of reading the prompts: both are in memory, with one set of weights and
/// caches.
void require_memory_of_steps(const backends::Backend& backend, const LowerStep& lower,
                             const CachedDecoderOptions& options, Dim longest, const open::Execution& execution) {
  StepShape shape;
  shape.rows = shape.entries = options.rows * options.branches;
  shape.count = 1;
  shape.capacity = options.capacity;
  shape.kept = options.kept;
  shape.sources = options.branches > 1;
  shape.hidden = options.hidden;
  shape.encoder_length = options.encoder_length();
  if (shape.encoder_length > 0) shape.encoder_entries = options.rows;
  graph::Graph graph = lower(shape);
  const UInt128 search = options.branches > 1 ? search_bytes(graph, shape) : 0;
  const run::Planned step = run::plan_for(backend, std::move(graph));
  shape.rows = options.rows;
  shape.count = std::clamp<Dim>(longest, 1, options.prefill_chunk);
  shape.sources = false;
  shape.reads_encoder = shape.encoder_length > 0;
  shape.reads_media = !options.media.empty();
  if (shape.reads_media) shape.count = std::max<Dim>(longest, 1);
  const run::Planned prompt = run::plan_for(backend, lower(shape));
  const std::int64_t model = backend.memory_needed(prompt.plan, options.compile) + step.plan.arena_bytes;
  const UInt128 needed = static_cast<UInt128>(model) + search;
  run::require_memory("the model takes", needed, open::memory_limit(execution.memory_limit), [&] {
    const std::string states = memory_size(static_cast<UInt128>(step.plan.state_bytes));
    return fmt::format(
        "{} of them are the states of {} positions{}: fewer positions or sequences take less", states,
        with_commas(options.capacity),
        search > 0 ? fmt::format(", and {} those of {} candidates", memory_size(search), with_commas(options.branches))
                   : "");
  });
}

}  // namespace

std::int64_t within_positions(const keras::Model& model, std::int64_t length) {
  return std::min(length, model.most_positions().value_or(length));
}

std::int64_t usual_length(const keras::Model& model) {
  std::optional<std::int64_t> length;
  if (const auto task = model.task(); task && task->preprocessor)
    length = task->packing ? task->preprocessor->decoder_sequence_length : task->preprocessor->sequence_length;
  return within_positions(model, length.value_or(kUsualLength));
}

std::int64_t usual_encoder_length(const keras::Model& model) {
  std::optional<std::int64_t> length;
  if (const auto task = model.task(); task && task->preprocessor) length = task->preprocessor->encoder_sequence_length;
  return within_positions(model, length.value_or(kUsualLength));
}

LowerStep step_of(const keras::Model& model, const std::optional<std::string>& dtype,
                  const std::optional<std::string>& cache_dtype, const std::vector<NamedTensor>& media) {
  std::map<std::string, Shape> shapes;
  for (const NamedTensor& array : media) shapes.emplace(array.name, array.tensor.shape());
  return [&model, dtype, cache_dtype, shapes](const StepShape& shape) {
    keras::LowerOptions lower;
    if (!open::is_quantization(dtype)) lower.dtype = dtype;
    lower.decode.emplace();
    lower.decode->rows = shape.rows;
    lower.decode->count = shape.count;
    lower.decode->entries = shape.entries;
    lower.decode->capacity = shape.capacity;
    lower.decode->kept = shape.kept;
    lower.decode->sources = shape.sources;
    lower.decode->every_position = shape.every_position;
    lower.decode->hidden = shape.hidden;
    lower.decode->encoder_entries = shape.encoder_entries;
    lower.decode->encoder_length = shape.encoder_length;
    lower.decode->reads_encoder = shape.reads_encoder;
    lower.decode->keras_hub_step = shape.keras_hub_step;
    if (shape.reads_media) lower.decode->media = shapes;
    if (cache_dtype) lower.decode->cache_dtype = dtype_of(*cache_dtype);
    graph::Graph graph = model.lower(lower);
    if (cache_dtype && !has_cache(graph))
      throw bad_usage("`cache_dtype`: a {} has recurrent states and no KV cache", model.class_name());
    return graph;
  };
}

void require_decoder_memory(const backends::Backend& backend, const open::LoadedModel& loaded,
                            const open::Execution& execution, const std::optional<std::string>& cache_dtype,
                            CachedDecoderOptions options, Dim longest) {
  options.compile = execution.compile_options();
  require_memory_of_steps(backend, step_of(loaded.model, execution.dtype, cache_dtype, options.media), options, longest,
                          execution);
}

std::unique_ptr<CachedDecoder> open_decoder(const backends::Backend& backend, const open::LoadedModel& loaded,
                                            const open::Execution& execution,
                                            const std::optional<std::string>& cache_dtype, CachedDecoderOptions options,
                                            Dim longest, const open::Listener& listener) {
  LowerStep lower = step_of(loaded.model, execution.dtype, cache_dtype, options.media);
  if (options.edit)
    lower = [plain = std::move(lower), edit = options.edit](const StepShape& shape) { return edit(plain(shape)); };
  options.compile = execution.compile_options();
  options.reload = [&] { return open::load_weights(loaded, execution, listener); };
  require_memory_of_steps(backend, lower, options, longest, execution);
  std::vector<Tensor> weights = options.reload();
  return std::make_unique<CachedDecoder>(backend, lower, std::move(weights), std::move(options));
}

}  // namespace attn::generate
