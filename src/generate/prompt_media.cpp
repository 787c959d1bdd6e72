#include "attn/generate/prompt_media.h"

#include <algorithm>

#include "attn/base/error.h"
#include "media_arrays.h"
#include "media_items.h"
#include "media_marks.h"
#include "media_words.h"

namespace attn::generate {

PromptMedia::PromptMedia(const open::LoadedModel& loaded, const MediaFiles& files, const open::Execution& execution,
                         const open::Listener& listener) {
  const std::vector<keras::MediaPrompt> prompts = loaded.model.media_prompts();
  const auto add = [&](keras::Modality modality, const std::vector<std::string>& paths) {
    const MediaWords words = words_of(modality);
    const auto how = std::ranges::find(prompts, modality, &keras::MediaPrompt::modality);
    if (how == prompts.end()) {
      if (paths.empty()) return;
      throw bad_usage("{}: `{}` was given, but a {} reads no {}", loaded.file, words.field, loaded.model.class_name(),
                      words.many);
    }
    if (how->begins_prompt() && paths.empty())
      throw bad_usage("{}: the prompts of a {} begin with {}: give `{}`", loaded.file, loaded.model.class_name(),
                      words.one, words.field);
    kinds_.push_back({*how, read_items(*how, paths, loaded, execution, listener)});
  };
  add(keras::Modality::image, files.images);
  add(keras::Modality::audio, files.audio);
}

bool PromptMedia::is_empty() const {
  return std::ranges::all_of(kinds_, [](const Media& media) { return media.items.empty(); });
}

bool PromptMedia::reads_whole_sequences() const {
  return std::ranges::any_of(
      kinds_, [](const Media& media) { return media.how.needs_whole_sequences() && !media.items.empty(); });
}

std::vector<Token> PromptMedia::encoded(std::string_view text, const tokenizers::Tokenizer& tokenizer,
                                        const tokenizers::EncodeOptions& options) {
  std::string whole(text);
  for (Media& media : kinds_) {
    if (media.how.cuts_text) return encoded_in_parts(whole, media, tokenizer, options);
    if (!media.how.begins_prompt()) whole = with_placeholders(whole, media);
  }
  return tokenizer.encode(whole, options);
}

void PromptMedia::find(const std::vector<std::vector<Token>>& prompts, const tokenizers::Tokenizer* tokenizer) {
  for (Media& media : kinds_) media.places = places_of(media, prompts, tokenizer);
}

std::vector<NamedTensor> PromptMedia::arrays(const std::vector<std::vector<Token>>& prompts) const {
  std::vector<NamedTensor> out;
  if (is_empty()) return out;
  const std::size_t length = prompts.front().size();
  for (std::size_t i = 1; i < prompts.size(); ++i)
    if (prompts[i].size() != length)
      throw bad_usage("prompts with images or sounds must have one length: prompt 1 has {} tokens and prompt {} has {}",
                      length, i + 1, prompts[i].size());
  for (const Media& media : kinds_) {
    const auto own = arrays_of(media, std::ssize(prompts), static_cast<Dim>(length));
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace attn::generate
