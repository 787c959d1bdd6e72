#include "attn/generate/score.h"

#include <algorithm>
#include <memory>

#include "arguments/shared_options.h"
#include "arguments/steering.h"
#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/generate/open_decoder.h"
#include "attn/generate/open_uncached.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/open/tokenizer.h"
#include "attn/report/score_view.h"
#include "options/command.h"
#include "output/common.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

using generate::Token;

struct ScoreCommand {
  Common common;
  open::Execution execution;
  std::string model;
  std::vector<std::string> texts, ids;
  std::optional<std::string> texts_file;
  SteeringWords steering;
  bool no_start_token = false, no_special = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json});
    options.add("model", model, "MODEL", "preset folder, .keras of a KerasHub task, or Hugging Face folder").required();
    options.group(OptionGroup::input);
    options.add("--text", texts, "TEXT", "text to score; repeatable (default stdin)").repeatable();
    options.add("--texts", texts_file, "FILE", "file of texts: a JSON array, or a .txt with one per line; - is stdin");
    options
        .add("--ids", ids, "IDS", "token ids to score instead of text: 464,2746; no start token is added; repeatable")
        .repeatable();
    options.flag("--no-start-token", no_start_token, "omit the start token; the first token then has no score");
    steering.declare(options);
    options.flag("--no-special", no_special, "treat special tokens in a text as plain text");
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype_of_weights(options, execution.dtype);
    add_threads(options, execution.threads);
    add_weights(options, execution.weights);
    add_matmul_precision(options, execution.precision);
    add_compat(options, execution.as_keras_hub);
  }

  [[nodiscard]] int run() {
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    const open::LoadedModel loaded = open::load_model(std::optional(model), execution, common.console);
    if (const auto task = loaded.model.task(); task && task->packing)
      throw bad_input("{}: a {} has an encoder; only decoders score texts", loaded.file, loaded.model.class_name());
    if (std::ranges::any_of(loaded.model.media_prompts(), &keras::MediaPrompt::begins_prompt))
      throw bad_input("{}: the prompts of a {} begin with an image, and attn score reads none", loaded.file,
                      loaded.model.class_name());
    read_texts(loaded);
    Dim longest = 0;
    for (const Text& text : texts_) longest = std::max<Dim>(longest, std::ssize(text.ids));
    const std::unique_ptr<generate::Decoder> decoder = decoder_of(loaded, *backend, longest);
    report::ScoreReport report{model,
                               loaded.model.class_name(),
                               tokenizer_ ? tokenizer_->class_name() : "",
                               open::weights_origin(loaded, execution),
                               {}};
    Progress progress(common.console, "scoring", static_cast<double>(texts_.size()));
    for (const Text& text : texts_) {
      report.texts.push_back(scored(*decoder, text));
      progress.advance(1);
    }
    common.write(report::render(common.form(), report));
    return static_cast<int>(ExitCode::done);
  }

 private:
  struct Text {
    std::optional<std::string> text;
    std::vector<Token> ids;
  };
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::vector<Text> texts_;

  /// Opens a decoder. A model that is not a task of KerasHub has no KV cache, and runs completely for each token.
  [[nodiscard]] std::unique_ptr<generate::Decoder> decoder_of(const open::LoadedModel& loaded,
                                                              const backends::Backend& backend, Dim longest) const {
    if (const auto positions = loaded.model.most_positions(); positions && longest > *positions)
      throw bad_usage("a text has {} tokens, but the model has {} positions: give shorter texts", longest, *positions);
    if (loaded.model.decodes()) {
      generate::CachedDecoderOptions options;
      options.rows = 1;
      options.capacity = longest;
      options.edit = steering.edit(std::nullopt);
      return generate::open_decoder(backend, loaded, execution, {}, options, longest, common.console);
    }
    if (!steering.files.empty())
      throw bad_usage("--steer requires a task of KerasHub that predicts tokens, and this is a {}",
                      loaded.model.class_name());
    if (const auto task = loaded.model.task(); task && !task->predicts_tokens)
      throw bad_input("{}: a {} does not return next-token logits, so it cannot score texts", loaded.file,
                      loaded.model.class_name());
    const bool takes_it = loaded.model.reaches_length(longest);
    const generate::UncachedSequences sequences =
        generate::uncached_sequences(loaded, execution, takes_it ? std::optional<std::int64_t>(longest) : std::nullopt);
    if (sequences.inputs.encoder)
      throw bad_input("{}: the model has an encoder; only decoders score texts", loaded.file);
    if (longest > sequences.length)
      throw bad_usage("a text has {} tokens, but the model's sequences have {}: give shorter texts", longest,
                      sequences.length);
    return generate::open_uncached(backend, loaded, execution, sequences, 1, 1, {}, {}, common.console);
  }

  void read_texts(const open::LoadedModel& loaded) {
    std::vector<std::string> all = texts;
    if (texts_file)
      for (std::string& text : read_texts_file(*texts_file)) all.push_back(std::move(text));
    if (all.empty() && ids.empty() && !texts_file) all.push_back(read_stdin());
    if (!all.empty()) tokenizer_ = open::open_tokenizer_of(model, loaded);
    const auto task = loaded.model.task();
    const bool starts = !no_start_token && (!task || !task->preprocessor || task->preprocessor->add_start_token);
    for (std::string& text : all) {
      tokenizers::EncodeOptions how;
      how.specials_in_text = !no_special;
      Text one{std::nullopt, tokenizer_->encode(text, how)};
      if (starts && tokenizer_->specials().start) one.ids.insert(one.ids.begin(), *tokenizer_->specials().start);
      one.text = std::move(text);
      texts_.push_back(std::move(one));
    }
    for (const std::string& list : ids) texts_.push_back({std::nullopt, parse_ids("--ids", list)});
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (texts_[i].ids.size() < 2)
        throw bad_usage("text {} has fewer than two tokens, including the start token: there is nothing to score",
                        i + 1);
  }

  [[nodiscard]] report::ScoredText scored(generate::Decoder& decoder, const Text& text) const {
    const std::vector<double> scores = generate::score(decoder, text.ids);
    report::ScoredText out{text.text, {}};
    for (std::size_t i = 0; i < text.ids.size(); ++i) {
      report::ScoredToken token{text.ids[i], "", std::nullopt};
      if (tokenizer_) token.token = tokenizer_->token(token.id).value_or("");
      if (i > 0) token.log_prob = scores[i - 1];
      out.tokens.push_back(std::move(token));
    }
    return out;
  }
};

}  // namespace

Command score_command() {
  return command_of<ScoreCommand>("score", "compute the log-probability of a text, token by token");
}

}  // namespace attn::cli
