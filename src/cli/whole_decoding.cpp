#include "whole_decoding.h"

#include "attn/base/error.h"
#include "forward.h"

namespace attn::cli {

WholeSequences whole_sequences(const LoadedModel& loaded, const Execution& execution,
                               const std::optional<std::int64_t>& length) {
  keras::LowerOptions lower = lower_options(execution, {});
  lower.batch = 1;
  lower.sequence_length = length;
  const graph::Graph graph = loaded.model.lower(lower);
  WholeSequences out;
  out.inputs = generate::whole_inputs(graph, loaded.file);
  const std::int64_t own = graph.value(graph.inputs[out.inputs.tokens]).shape[1];
  if (length.value_or(own) > own) throw bad_usage("--max-length {}: the model's sequences have {}", *length, own);
  out.length = length.value_or(own);
  return out;
}

std::unique_ptr<generate::WholeDecoder> open_whole(const backends::Backend& backend, const LoadedModel& loaded,
                                                   const Execution& execution, const WholeSequences& sequences,
                                                   std::size_t rows, Dim branches,
                                                   const std::vector<std::vector<generate::Token>>& encoder_tokens,
                                                   const Console& console) {
  keras::LowerOptions lower = lower_options(execution, {});
  lower.batch = static_cast<std::int64_t>(rows) * branches;
  lower.sequence_length = sequences.length;
  graph::Graph graph = loaded.model.lower(lower);
  require_memory(loaded, lower, graph, backend, execution);
  return std::make_unique<generate::WholeDecoder>(backend, std::move(graph), load_weights(loaded, execution, console),
                                                  sequences.inputs, branches, encoder_tokens,
                                                  execution.compile_options());
}

}  // namespace attn::cli
