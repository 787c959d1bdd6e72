#include "attn/generate/answer_text.h"

#include <algorithm>

namespace attn::generate {

/// Returns the byte at which the first of the stop strings begins; empty if there is none.
std::optional<std::size_t> AnswerText::cut(const std::string& text) const {
  std::size_t first = std::string::npos;
  for (const std::string& stop : words_.stops) first = std::min(first, text.find(stop));
  return first == std::string::npos ? std::nullopt : std::optional(first);
}

void AnswerText::stream(std::string begun, std::function<void(const std::string&)> write) {
  begun_ = std::move(begun);
  write_ = std::move(write);
}

bool AnswerText::take(std::size_t sequence, Token token) {
  if (begun_) put(token);
  if (words_.stops.empty()) return false;
  if (added_.size() <= sequence) added_.resize(sequence + 1);
  added_[sequence].push_back(token);
  return cut(of(added_[sequence])).has_value();
}

void AnswerText::put(Token token) {
  if (!out_) {
    out_ = std::make_unique<tokenizers::TextStream>(tokenizer_);
    if (!words_.strip_prompt) write_(*begun_);
  }
  if (!words_.keep_special && tokenizer_.specials().hides(token)) return;
  if (!tokenizer_.token(token)) return;
  write_(out_->push(token));
}

void AnswerText::finish() {
  if (!begun_) return;
  if (out_) write_(out_->finish());
  write_("\n");
}

std::string AnswerText::of(std::span<const Token> ids) const {
  std::vector<Token> shown;
  for (const Token id : ids)
    if ((words_.keep_special || !tokenizer_.specials().hides(id)) && tokenizer_.token(id)) shown.push_back(id);
  return tokenizer_.decode(shown);
}

SequenceText AnswerText::of(const Sequence& sequence) const {
  SequenceText out;
  for (const Beam& beam : sequence.beams) out.beams.push_back(of(beam.token_ids));
  const auto& ids = sequence.token_ids;
  const auto behind = static_cast<std::size_t>(sequence.prompt_length);
  const std::span<const Token> all(ids), added = all.subspan(std::min(behind, ids.size()));
  if (!words_.stops.empty()) {
    const std::string text = of(added);
    if (const auto place = cut(text)) {
      out.stop_string = true;
      out.text = (words_.strip_prompt ? "" : of(all.first(behind))) + text.substr(0, *place);
      return out;
    }
  }
  out.text = of(words_.strip_prompt ? added : all);
  return out;
}

}  // namespace attn::generate
