#include "attn/generate/open_uncached.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "image_embeddings.h"

namespace attn::generate {
namespace {

/// Returns whether the model's whole texts may contain images, which have any size.
bool reads_images(const keras::Model& model) {
  return std::ranges::any_of(model.media_prompts(), [](const keras::MediaPrompt& how) {
    return how.modality == keras::Modality::image && how.merge > 0;
  });
}

}  // namespace

UncachedSequences uncached_sequences(const open::LoadedModel& loaded, const open::Execution& execution,
                                     const std::optional<std::int64_t>& length) {
  keras::LowerOptions lower = open::lower_options(execution, {});
  lower.batch = 1;
  lower.sequence_length = length;
  if (reads_images(loaded.model)) lower.image_rows = 0;
  const graph::Graph graph = loaded.model.lower(lower);
  UncachedSequences out;
  out.inputs = sequence_inputs(graph, loaded.file);
  const std::int64_t own = graph.value(graph.inputs[out.inputs.tokens]).shape[1];
  if (length.value_or(own) > own)
    throw bad_usage("`max_length` {}: the model's sequences have {} tokens", *length, own);
  out.length = length.value_or(own);
  return out;
}

std::unique_ptr<UncachedDecoder> open_uncached(const backends::Backend& backend, const open::LoadedModel& loaded,
                                               const open::Execution& execution, const UncachedSequences& sequences,
                                               std::size_t rows, Dim branches,
                                               const std::vector<std::vector<Token>>& encoder_tokens,
                                               const PromptMedia& media, const open::Listener& listener) {
  keras::LowerOptions lower = open::lower_options(execution, {});
  lower.batch = static_cast<std::int64_t>(rows) * branches;
  lower.sequence_length = sequences.length;
  std::vector<NamedTensor> arrays;
  if (reads_images(loaded.model)) {
    arrays = image_embeddings(backend, loaded, media.kinds().front(), static_cast<Dim>(rows), branches,
                              sequences.length, execution, listener);
    lower.image_rows = arrays.empty() ? 0 : arrays.front().tensor.shape()[0];
  }
  graph::Graph graph = loaded.model.lower(lower);
  open::require_memory(loaded, lower, graph, backend, execution);
  return std::make_unique<UncachedDecoder>(backend, std::move(graph), open::load_weights(loaded, execution, listener),
                                           sequences.inputs, branches, encoder_tokens, execution.compile_options(),
                                           arrays);
}

}  // namespace attn::generate
