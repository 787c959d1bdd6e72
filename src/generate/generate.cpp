#include "attn/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/error.h"
#include "loops.h"

namespace attn::generate {
namespace {

/// KerasHub's result when it takes padding for a stop token: the prompt and one token of padding.
Generated nothing_but_padding(const Request& request) {
  Generated out;
  for (const auto& prompt : request.prompts) {
    Sequence sequence;
    sequence.token_ids = prompt;
    sequence.token_ids.push_back(*request.pad_token_id);
    sequence.prompt_length = std::ssize(prompt);
    sequence.finish = Finish::stop;
    out.sequences.push_back(std::move(sequence));
  }
  return out;
}

}  // namespace

void expect_sampler(const SamplerOptions& sampler) {
  const auto refuse = [](std::string_view field, const auto& value, std::string_view expected) {
    throw bad_usage("the sampler's {} is {}; expected {}", field, value, expected);
  };
  if (!(sampler.temperature >= kLeastTemperature))
    refuse("temperature", sampler.temperature, fmt::format("at least {}", kLeastTemperature));
  if (sampler.k && *sampler.k < 1) refuse("k", *sampler.k, "at least 1");
  if (!(sampler.p >= 0.0 && sampler.p <= 1.0)) refuse("p", sampler.p, "from 0 to 1");
  if (sampler.num_beams < 1) refuse("num_beams", sampler.num_beams, "at least 1");
  if (!(sampler.alpha >= 0.0 && sampler.alpha <= 1.0)) refuse("alpha", sampler.alpha, "from 0 to 1");
}

Dim branches_of(const SamplerOptions& sampler) {
  if (sampler.kind == SamplerKind::beam) return sampler.num_beams;
  return sampler.kind == SamplerKind::contrastive ? sampler.k.value_or(5) : 1;
}

Generated generate(Decoder& decoder, const Request& request) {
  expect_sampler(request.sampler);
  for (std::size_t i = 0; i < request.prompts.size(); ++i)
    if (request.prompts[i].empty()) throw bad_usage("prompt {} has no tokens", i + 1);
  for (const auto& prompt : request.prompts) expect_ids(prompt, decoder.vocabulary_size());
  if (request.max_length > decoder.capacity())
    throw internal_error("{} positions were requested from a decoder with {}", request.max_length, decoder.capacity());
  if (request.sampler.kind == SamplerKind::contrastive && branches_of(request.sampler) > decoder.vocabulary_size())
    throw bad_usage("the sampler's k is {}, but the model has only {} tokens", branches_of(request.sampler),
                    decoder.vocabulary_size());
  const Prompts prompts(request);
  if (prompts.padding_stops()) return nothing_but_padding(request);
  if (request.draft != nullptr) {
    if (request.prompts.size() != 1 || branches_of(request.sampler) != 1 || request.sampler.kind == SamplerKind::beam)
      throw bad_usage("a draft requires a single prompt and one of the samplers greedy, random, top_k and top_p");
    if (request.draft_tokens < 1) throw bad_usage("a draft of {} tokens: expected 1 or more", request.draft_tokens);
    return speculate(decoder, request, prompts);
  }
  switch (request.sampler.kind) {
    case SamplerKind::beam:
      return search_beams(decoder, request, prompts);
    case SamplerKind::contrastive:
      return search_contrastive(decoder, request, prompts);
    case SamplerKind::greedy:
    case SamplerKind::random:
    case SamplerKind::top_k:
    case SamplerKind::top_p:
      return sample(decoder, request, prompts);
  }
  throw internal_error("no such sampler");
}

}  // namespace attn::generate
