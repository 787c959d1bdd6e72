#include "answer_text.h"

#include <algorithm>

#include "output/console.h"

namespace attn::cli {
namespace {

using generate::Token;

void write_part(const std::string& text) { write_now(text, Look::model_text); }

}  // namespace

void AnswerWords::declare(Options& options) {
  options.add("--stop", stops, "TEXT", "ends a text where this text would begin").repeatable();
  options.flag("--strip-prompt", strip_prompt, "texts without their prompts");
  options.flag("--keep-special", keep_special, "texts with their special tokens");
}

/// Where a text is cut because one of some others begins there; nothing where none does.
std::optional<std::size_t> AnswerText::cut(const std::string& text) const {
  std::size_t first = std::string::npos;
  for (const std::string& stop : words_.stops) first = std::min(first, text.find(stop));
  return first == std::string::npos ? std::nullopt : std::optional(first);
}

void AnswerText::stream(std::string begun) { begun_ = std::move(begun); }

bool AnswerText::take(std::size_t sequence, Token token) {
  if (begun_) write(token);
  if (words_.stops.empty()) return false;
  if (added_.size() <= sequence) added_.resize(sequence + 1);
  added_[sequence].push_back(token);
  return cut(of(added_[sequence])).has_value();
}

void AnswerText::write(Token token) {
  if (!out_) {
    out_ = std::make_unique<tokenizers::TextStream>(tokenizer_);
    if (!words_.strip_prompt) write_part(*begun_);
  }
  if (!words_.keep_special && std::ranges::binary_search(tokenizer_.specials().all, token)) return;
  if (!tokenizer_.token(token)) return;
  write_part(out_->push(token));
}

void AnswerText::finish() {
  if (!begun_) return;
  if (out_) write_part(out_->finish());
  write_part("\n");
}

std::string AnswerText::of(std::span<const Token> ids) const {
  std::vector<Token> shown;
  const auto& specials = tokenizer_.specials().all;
  for (const Token id : ids)
    if ((words_.keep_special || !std::ranges::binary_search(specials, id)) && tokenizer_.token(id)) shown.push_back(id);
  return tokenizer_.decode(shown);
}

void AnswerText::describe(report::GenerationResult& result) const {
  for (const generate::Beam& beam : result.sequence.beams) result.beams.push_back(of(beam.token_ids));
  const auto& ids = result.sequence.token_ids;
  const auto behind = static_cast<std::size_t>(result.sequence.prompt_length);
  const std::span<const Token> all(ids), added = all.subspan(std::min(behind, ids.size()));
  if (!words_.stops.empty()) {
    const std::string text = of(added);
    if (const auto place = cut(text)) {
      result.stop_string = true;
      result.text = (words_.strip_prompt ? "" : of(all.first(behind))) + text.substr(0, *place);
      return;
    }
  }
  result.text = of(words_.strip_prompt ? added : all);
}

}  // namespace attn::cli
