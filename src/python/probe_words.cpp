#include "probe_words.h"

namespace attn::python {

probe::Prompt prompt_of(const library::Probe& inside, const Words& words, const Maybe& decoder) {
  const library::ProbePrompts& prompts = inside.prompts();
  if (decoder && decoder->index() != words.index())
    throw bad_usage("`decoder` is a text for a prompt of text, and ids for a prompt of ids");
  if (const auto* text = std::get_if<std::string>(&words))
    return prompts.from_text(*text, decoder ? std::get<std::string>(*decoder) : "");
  const auto& ids = std::get<std::vector<Id>>(words);
  if (!prompts.has_encoder()) return prompts.from_ids(ids);
  if (!decoder) throw bad_usage("ids of an encoder-decoder model need `decoder`, the start of its output");
  return prompts.from_ids(std::get<std::vector<Id>>(*decoder), ids);
}

std::vector<probe::Prompt> prompts_of(const library::Probe& inside, const std::vector<Words>& all,
                                      const Maybe& decoder) {
  std::vector<probe::Prompt> out;
  for (const Words& words : all) out.push_back(prompt_of(inside, words, decoder));
  return out;
}

Id token_of(const library::Probe& inside, const Word& word) {
  const auto* text = std::get_if<std::string>(&word);
  return text == nullptr ? std::get<Id>(word) : inside.prompts().output(*text);
}

std::optional<probe::Metric> metric_of(const library::Probe& inside, const std::optional<Word>& token,
                                       const std::optional<Word>& versus) {
  if (versus && !token) throw bad_usage("`versus` requires `token`");
  if (!token) return std::nullopt;
  probe::Metric out{token_of(inside, *token), {}};
  if (versus) out.versus = token_of(inside, *versus);
  return out;
}

}  // namespace attn::python
