#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "attn/attn.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/generate/answer_text.h"
#include "attn/generate/cached_decoder.h"
#include "attn/generate/generate.h"
#include "attn/generate/open_decoder.h"
#include "attn/generate/score.h"
#include "attn/open/session.h"
#include "attn/open/tokenizer.h"
#include "attn/tokenizers/open.h"
#include "generator_parts.h"
#include "model_parts.h"
#include "tokenizer_parts.h"

namespace attn {
namespace {

using generate::Token;

generate::SamplerOptions sampler_of(const GenerateOptions& options, const keras::Model& model) {
  generate::SamplerOptions out;
  if (options.sampler.empty()) {
    out.kind = model.class_name().starts_with("Gemma") ? generate::SamplerKind::greedy : generate::SamplerKind::top_k;
  } else {
    const auto kind = generate::sampler_named(options.sampler);
    if (!kind)
      throw bad_usage("sampler '{}': expected greedy, random, top_k, top_p, beam or contrastive",
                      printable(options.sampler))
          .about("sampler");
    out.kind = *kind;
  }
  if (!(options.temperature >= generate::kLeastTemperature))
    throw bad_usage("temperature {}: expected at least {}", options.temperature, generate::kLeastTemperature)
        .about("temperature");
  out.temperature = options.temperature;
  out.k = options.top_k;
  out.p = options.top_p;
  out.num_beams = options.beams;
  out.alpha = options.alpha;
  out.seed = options.seed;
  return out;
}

/// Returns the positions of a sequence: the requested number, else the number that prompts and new tokens need, else
/// the default.
std::int64_t length_for(const std::vector<std::vector<Token>>& prompts, const GenerateOptions& options,
                        const keras::Model& model) {
  if (options.max_length) return generate::within_positions(model, *options.max_length);
  if (!options.max_new_tokens) return generate::usual_length(model);
  std::int64_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max<std::int64_t>(longest, std::ssize(prompt));
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - longest;
  return generate::within_positions(model, longest + std::min(room, *options.max_new_tokens));
}

generate::Request request_for(const std::vector<std::vector<Token>>& prompts, const GenerateOptions& options,
                              const keras::Model& model) {
  for (const auto& [name, number] :
       {std::pair<const char*, std::optional<std::int64_t>>{"max_length", options.max_length},
        {"max_new_tokens", options.max_new_tokens}})
    if (number && *number < 1) throw bad_usage("{} {}: expected 1 or more", name, *number).about(name);
  if (prompts.empty()) throw bad_usage("there is no prompt");
  generate::Request out;
  out.prompts = prompts;
  out.sampler = sampler_of(options, model);
  out.max_length = length_for(prompts, options, model);
  if (options.max_new_tokens) out.max_new_tokens = *options.max_new_tokens;
  if (options.stop_ids) out.stop_token_ids = *options.stop_ids;
  return out;
}

}  // namespace

Generator::Parts::Parts(const open::ModelText& text, std::optional<std::string> file, open::Execution how)
    : path(std::move(file)),
      execution(std::move(how)),
      backend(open::open_backend(execution.device, execution.backend, open::kSilent)),
      loaded(loaded_for(text, execution)) {
  const auto task = loaded.model.task();
  if (!loaded.model.decodes() || (task && task->packing))
    throw bad_input("{}: a {} is not a decoder, so it cannot generate text", loaded.file, loaded.model.class_name());
}

std::shared_ptr<const tokenizers::Tokenizer> Generator::Parts::tokenizer() {
  if (!tokenizer_) {
    if (!path) throw bad_input("{}: the model was not opened from files, so it has no tokenizer", loaded.file);
    tokenizer_ = open::open_tokenizer_of(*path, loaded);
  }
  return tokenizer_;
}

std::unique_ptr<generate::CachedDecoder> Generator::Parts::decoder_for(const generate::Request& request) const {
  generate::CachedDecoderOptions options;
  options.rows = static_cast<Dim>(request.prompts.size());
  options.branches = generate::branches_of(request.sampler);
  if (options.branches > std::numeric_limits<Dim>::max() / options.rows)
    throw Error(ExitCode::no_memory, "the KV cache of so many sequences exceeds any memory");
  options.capacity = request.max_length;
  options.hidden = request.sampler.kind == generate::SamplerKind::contrastive;
  options.as_keras_hub = execution.as_keras_hub;
  Dim shortest = request.max_length;
  for (const auto& prompt : request.prompts) shortest = std::min<Dim>(shortest, std::ssize(prompt));
  return generate::open_decoder(*backend, loaded, execution, {}, options, shortest, open::kSilent);
}

generate::Generated Generator::Parts::generated(const generate::Request& request,
                                                const GenerateOptions& options) const {
  generate::expect_sampler(request.sampler);
  const auto decoder = decoder_for(request);
  if (options.stop_ids) generate::expect_ids(*options.stop_ids, decoder->vocabulary_size());
  return generate::generate(*decoder, request);
}

Generator::Generator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

std::vector<std::string> Generator::generate(const std::vector<std::string>& prompts, const GenerateOptions& options) {
  const auto tokenizer = parts_->tokenizer();
  std::vector<std::vector<Token>> ids;
  for (const std::string& prompt : prompts) ids.push_back(encode(prompt));
  generate::Request request = request_for(ids, options, parts_->loaded.model);
  if (!options.stop_ids) request.stop_token_ids = tokenizer->specials().stop;
  const generate::AnswerOptions how{options.stop, options.strip_prompt, false};
  generate::AnswerText answer(how, *tokenizer);
  request.on_token = [&](std::size_t sequence, Token token) { return answer.take(sequence, token); };
  std::vector<std::string> out;
  for (const generate::Sequence& sequence : parts_->generated(request, options).sequences)
    out.push_back(tokenizers::valid_utf8(answer.of(sequence).text.value_or("")));
  return out;
}

std::vector<std::vector<std::int32_t>> Generator::generate_ids(const std::vector<std::vector<std::int32_t>>& prompts,
                                                               const GenerateOptions& options) {
  if (!options.stop.empty()) throw bad_usage("stop: texts that end a text need texts; with ids give stop_ids");
  std::vector<std::vector<std::int32_t>> out;
  generate::Generated made = parts_->generated(request_for(prompts, options, parts_->loaded.model), options);
  for (generate::Sequence& sequence : made.sequences) out.push_back(std::move(sequence.token_ids));
  return out;
}

std::vector<double> Generator::score(const std::vector<std::int32_t>& ids) {
  if (ids.size() < 2) throw bad_usage("a text of {} tokens has no score: expected two or more", ids.size());
  if (const auto most = parts_->loaded.model.most_positions(); most && std::ssize(ids) > *most)
    throw bad_usage("a text has {} tokens, but the model has {} positions: give a shorter text", ids.size(), *most);
  generate::Request request;
  request.prompts = {ids};
  request.sampler.kind = generate::SamplerKind::greedy;
  request.max_length = std::ssize(ids);
  const auto decoder = parts_->decoder_for(request);
  return generate::score(*decoder, ids);
}

std::vector<std::int32_t> Generator::encode(const std::string& text) const {
  const auto tokenizer = parts_->tokenizer();
  const auto task = parts_->loaded.model.task();
  const bool starts = !task || !task->preprocessor || task->preprocessor->add_start_token;
  std::vector<Token> out = tokenizer->encode(text);
  if (starts && tokenizer->specials().start) out.insert(out.begin(), *tokenizer->specials().start);
  return out;
}

Tokenizer Generator::tokenizer() const {
  return Tokenizer(std::make_shared<const Tokenizer::Parts>(Tokenizer::Parts{parts_->tokenizer()}));
}

}  // namespace attn
