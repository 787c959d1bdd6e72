#include "attn/library/prompt_inputs.h"

#include "attn/library/probe_prompts.h"
#include "attn/open/session.h"
#include "attn/probe/subject.h"

namespace attn::library {

open::GivenInputs prompt_inputs(const open::LoadedModel& loaded, const std::string& path, const std::string& text,
                                const std::string& decoder_text, const open::Execution& execution,
                                const open::Listener& listener) {
  const probe::Prompt prompt = ProbePrompts(path, loaded, true, false, listener).from_text(text, decoder_text);
  const auto backend = open::open_backend(execution.device, execution.backend, listener);
  const probe::Subject subject(loaded, execution, *backend, listener);
  const graph::Graph graph = subject.lower(1, prompt).graph;
  const std::vector<Tensor> arrays = subject.inputs(graph, {&prompt, 1});
  open::GivenInputs out;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string& name = graph.value(graph.inputs[i]).name;
    out.arrays.emplace(name, arrays[i]);
    out.files.emplace(name, "the prompt");
  }
  return out;
}

}  // namespace attn::library
