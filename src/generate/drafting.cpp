#include "attn/generate/drafting.h"

#include <algorithm>
#include <charconv>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/generate/open_decoder.h"
#include "attn/keras/families.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/tokenizers/open.h"

namespace attn::generate {
namespace {

constexpr std::string_view kLookup = "prompt-lookup";

/// A step reads the last token and its guesses.
Dim kept_for(std::int64_t tokens, Dim capacity) { return std::min<Dim>(tokens, capacity) + 1; }

class LookupDrafting final : public Drafting {
 public:
  explicit LookupDrafting(std::int64_t tokens) : Drafting(tokens) {}
  [[nodiscard]] Draft& draft() override { return lookup_; }

 private:
  PromptLookup lookup_;
};

class ModelDrafting final : public Drafting {
 public:
  ModelDrafting(const std::string& path, std::int64_t tokens, const backends::Backend& backend,
                const open::Execution& execution, Dim capacity, const open::Listener& listener)
      : Drafting(tokens), execution_(execution), loaded_(open::load_model(path, own(execution_), listener)) {
    if (!loaded_.model.decodes() || loaded_.model.task()->packing)
      throw bad_input("{}: a {} is not a decoder, so it cannot draft tokens", loaded_.file, loaded_.model.class_name());
    if (const auto most = loaded_.model.most_positions(); most && *most < capacity)
      throw bad_usage("`draft` {}: it has {} positions, but sequences may have {} tokens: lower `max_length`",
                      printable(path), *most, capacity);
    CachedDecoderOptions options;
    options.capacity = capacity;
    options.kept = kept_for(tokens, capacity);
    decoder_ = open_decoder(backend, loaded_, execution_, {}, options, capacity, listener);
    model_.emplace(*decoder_);
  }
  [[nodiscard]] Draft& draft() override { return *model_; }
  [[nodiscard]] std::int64_t vocabulary() const { return decoder_->vocabulary_size(); }
  [[nodiscard]] const open::LoadedModel& loaded() const { return loaded_; }

 private:
  /// Explicit weights are those of the main model, not of the draft.
  static const open::Execution& own(open::Execution& execution) {
    execution.weights.reset();
    return execution;
  }

  open::Execution execution_;
  open::LoadedModel loaded_;
  std::unique_ptr<CachedDecoder> decoder_;
  std::optional<DraftModel> model_;
};

/// Returns N of "prompt-lookup:N"; nothing for another word.
std::optional<std::int64_t> lookup_tokens(const DraftOptions& words) {
  std::string_view rest = *words.draft;
  if (!rest.starts_with(kLookup)) return std::nullopt;
  rest.remove_prefix(kLookup.size());
  if (rest.empty()) return words.tokens;
  if (!rest.starts_with(':')) return std::nullopt;
  rest.remove_prefix(1);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  if (error != std::errc() || end != rest.data() + rest.size() || count < 1)
    throw bad_usage("`draft` {}: expected prompt-lookup:N, with N drafted tokens at a time", printable(*words.draft));
  return count;
}

void check_vocabulary(const std::string& path, const ModelDrafting& drafting, std::int64_t vocabulary,
                      const tokenizers::Tokenizer* tokenizer) {
  if (drafting.vocabulary() != vocabulary)
    throw bad_usage("`draft` {}: it has {} tokens and the model has {}; both must have the same vocabulary",
                    printable(path), drafting.vocabulary(), vocabulary);
  if (tokenizer == nullptr) return;
  const auto other = tokenizers::open_tokenizer(path, keras::tokenizer_tables());
  for (tokenizers::Id id = 0; id < vocabulary; ++id)
    if (tokenizer->token(id) != other->token(id))
      throw bad_usage("`draft` {}: its token {} differs from the model's; both must have the same vocabulary",
                      printable(path), id);
}

}  // namespace

Dim DraftOptions::kept(Dim capacity) const {
  return draft ? kept_for(lookup_tokens(*this).value_or(tokens), capacity) : 1;
}

std::unique_ptr<Drafting> Drafting::open(const DraftOptions& words, const backends::Backend& backend,
                                         const open::Execution& execution, std::int64_t vocabulary,
                                         const tokenizers::Tokenizer* tokenizer, Dim capacity,
                                         const open::Listener& listener) {
  if (const auto tokens = lookup_tokens(words)) return std::make_unique<LookupDrafting>(*tokens);
  auto drafting = std::make_unique<ModelDrafting>(*words.draft, words.tokens, backend, execution, capacity, listener);
  check_vocabulary(*words.draft, *drafting, vocabulary, tokenizer);
  return drafting;
}

}  // namespace attn::generate
