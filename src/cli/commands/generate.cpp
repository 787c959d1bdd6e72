#include "attn/generate/generate.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "arguments/answer_words.h"
#include "arguments/expected_ids.h"
#include "arguments/prompts.h"
#include "arguments/sampler_options.h"
#include "arguments/shared_options.h"
#include "arguments/steering.h"
#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/stopwatch.h"
#include "attn/base/text.h"
#include "attn/generate/answer_text.h"
#include "attn/generate/cached_decoder.h"
#include "attn/generate/drafting.h"
#include "attn/generate/encoder_prompts.h"
#include "attn/generate/open_decoder.h"
#include "attn/generate/open_uncached.h"
#include "attn/generate/prompt_media.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/families.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/open/tokenizer.h"
#include "attn/report/generation.h"
#include "attn/run/peaks.h"
#include "attn/tokenizers/open.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

using generate::SamplerKind;
using generate::SamplerOptions;
using generate::Token;

struct GenerateCommand {
  Common common;
  open::Execution execution;
  std::optional<std::string> model;
  PromptWords prompts;
  std::vector<std::string> images, audio;
  SamplerWords sampling;
  SteeringWords steering;
  std::optional<std::int64_t> max_length, max_new_tokens, prefill_chunk, logprobs;
  std::string stop_ids = "auto";
  std::optional<std::string> logits, expect, cache_dtype;
  generate::AnswerOptions answers;
  generate::DraftOptions drafts;
  bool no_start_token = false, no_special = false;
  bool stream = false, stats = false;

  void declare(Options& options) {
    add_common(options, common, {Format::text, Format::json, Format::jsonl});
    options.add("model", model, "MODEL", "preset folder, .keras of a KerasHub task, or Hugging Face folder").required();
    prompts.declare(options);
    options
        .add("--image", images, "FILE",
             "JPEG or PNG for a prompt of a model that reads images; repeatable, in the order of the prompts")
        .repeatable();
    options
        .add("--audio", audio, "FILE",
             "WAV or FLAC for a prompt of a model that reads sounds; repeatable, in the order of the prompts")
        .repeatable();
    add_max_length(options, max_length);
    options.add("-n,--max-new-tokens", max_new_tokens, "N", "maximum number of tokens to generate per prompt")
        .above_zero();
    sampling.declare(options);
    steering.declare(options);
    options.add("--stop-ids", stop_ids, "IDS",
                "token ids that end a text: auto (as in KerasHub), none, or 1,2 (default auto)");
    add_answer(options, answers);
    options.group(OptionGroup::input);
    options.flag("--no-start-token", no_start_token, "omit the start token before the prompt");
    options.flag("--no-special", no_special, "treat special tokens in the prompt as plain text");
    add_raw(options);
    options.group(OptionGroup::result);
    options.flag("--stream", stream, "print text as it is generated (default for one prompt on a terminal)");
    options
        .add("--logprobs", logprobs, "N", "with --json: add the log-probability of each token and of the N most likely")
        .not_negative();
    options.output("--logits", logits, "FILE", "write the logits of each step to .npz (sequences, steps, vocabulary)");
    options.add("--expect", expect, "FILE", "compare with the token ids of an earlier --json; exit 1 if they differ");
    add_draft(options, drafts);
    add_cache_dtype(options, cache_dtype);
    options.group(OptionGroup::execution);
    options.add("--prefill-chunk", prefill_chunk, "N", "number of prompt tokens per prefill chunk (default 512)")
        .above_zero();
    options.flag("--stats", stats, "print times on stderr, and the fraction of the memory bandwidth limit");
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype_of_weights(options, execution.dtype);
    add_threads(options, execution.threads);
    add_weights(options, execution.weights);
    add_memory_limit(options, execution.memory_limit);
    add_matmul_precision(options, execution.precision);
    add_compat(options, execution.as_keras_hub);
  }

  int run() {
    sampling.check();
    if (logits) io::check_tensor_path(*logits);
    if (logits == "-") throw bad_usage("--logits requires a file, because the generated text goes to stdout");
    if (expect) expected_ = read_expected_ids(*expect);
    Stopwatch watch;
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    choose_sampler(loaded.model);
    if (prompts.ids.empty()) {
      tokenizer_ = open::open_tokenizer_of(*model, loaded);
      answer_.emplace(answers, *tokenizer_);
    }
    read_specials();
    media_ = generate::PromptMedia(loaded, {images, audio}, execution, common.console);
    if (!media_.is_empty() && sampler_.kind == SamplerKind::contrastive)
      throw bad_usage("--sampler contrastive cannot be combined with --image or --audio");
    if (!loaded.model.decodes() || media_.reads_whole_sequences()) use_whole(loaded);
    generate::Request request = request_for(loaded.model);
    media_.find(request.prompts, tokenizer_.get());
    warn_of_keras_hub(loaded.model, request);
    open_decoder(loaded, *backend, request);
    check_ids(request, decoder().vocabulary_size());
    warn_of_vocabulary(decoder().vocabulary_size());
    report::GenerationReport report;
    report.all_beams = sampling.all_beams();
    report.stats.load_seconds = watch.lap();

    report.results.resize(request.prompts.size());
    if (streams())
      answer_->stream(encoded_.begun.empty() ? texts_.front() : encoded_.begun.front(),
                      [](const std::string& part) { write_now(part, Formatting::model_text); });
    const generate::Generated generated = generate::generate(decoder(), with_draft(request, loaded, *backend));
    if (answer_) answer_->finish();
    describe(loaded, generated, request, report);
    if (!streams()) common.write(report::render(common.form(), report), Formatting::model_text);
    if (logits) write_logits(generated);
    if (stats) print_stats(*backend, report.stats);
    if (!expect) return static_cast<int>(ExitCode::done);
    const std::vector<std::string> differing = differences(*expect, expected_, generated.sequences);
    for (const std::string& difference : differing) common.console.error(difference);
    return static_cast<int>(differing.empty() ? ExitCode::done : ExitCode::differs);
  }

 private:
  SamplerOptions sampler_;
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::optional<generate::AnswerText> answer_;      // null if there is no tokenizer
  std::optional<tokenizers::SpecialIds> specials_;  // for --stop-ids auto, if the model has a tokenizer
  std::vector<std::string> texts_;                  // texts of the prompts
  generate::EncoderPrompts encoded_;                // for a model with an encoder
  generate::PromptMedia media_;                     // images and sounds in the prompts
  std::vector<std::vector<Token>> expected_;
  std::unique_ptr<generate::Drafting> drafting_;
  std::unique_ptr<generate::CachedDecoder> cached_;
  std::unique_ptr<generate::UncachedDecoder> uncached_;  // for a model without decode steps, or for images of any size
  std::optional<generate::UncachedSequences> sequences_;
  double tokenize_seconds_ = 0.0;

  /// Reads the special tokens for --stop-ids auto, also for prompts of ids. Ids need no tokenizer, so a tokenizer that
  /// cannot be read is not an error.
  void read_specials() {
    if (stop_ids != "auto") return;
    if (tokenizer_) {
      specials_ = tokenizer_->specials();
      return;
    }
    try {
      if (const auto found = tokenizers::find_tokenizer(*model, keras::tokenizer_tables()))
        specials_ = found->specials();
    } catch (const Error& error) {
      common.console.warn(fmt::format("the stop tokens are unknown; pass --stop-ids: {}", error.what()));
    }
  }

  [[nodiscard]] generate::Decoder& decoder() const {
    return cached_ ? static_cast<generate::Decoder&>(*cached_) : *uncached_;
  }

  [[nodiscard]] bool streams() const {
    const bool possible = tokenizer_ && common.form() == Format::text && !common.output && texts_.size() == 1 &&
                          sampler_.kind != SamplerKind::beam && answers.stops.empty();
    return possible && (stream || isatty(STDOUT_FILENO) == 1);
  }

  /// Rejects options that whole sequences with images do not support.
  void refuse_with_images() const {
    if (cache_dtype || !steering.files.empty())
      throw bad_usage("{} cannot be combined with --image", cache_dtype ? "--cache-dtype" : "--steer");
  }

  /// Opens a model whose sequences are run as a whole for each token. They have the fixed length of the model.
  void use_whole(const open::LoadedModel& loaded) {
    if (loaded.model.decodes()) refuse_with_images();
    if (const auto task = loaded.model.task(); task && !task->predicts_tokens)
      throw bad_input("{}: a {} does not return next-token logits, so it cannot generate text", loaded.file,
                      loaded.model.class_name());
    if (sampler_.kind == SamplerKind::contrastive)
      throw bad_usage("--sampler contrastive requires a task, which returns the input of its logits");
    if (cache_dtype) throw bad_usage("--cache-dtype: a {} has no KV cache", loaded.model.class_name());
    if (!steering.files.empty())
      throw bad_usage("--steer requires a task of KerasHub, and this is a {}", loaded.model.class_name());
    sequences_ = generate::uncached_sequences(loaded, execution, max_length);
  }

  /// Opens a decoder that reads each token once, if the model supports it.
  void open_decoder(const open::LoadedModel& loaded, const backends::Backend& backend, generate::Request& request) {
    if (sequences_) {
      uncached_ = generate::open_uncached(backend, loaded, execution, *sequences_, request.prompts.size(),
                                          generate::branches_of(sampler_), encoded_.encoder, media_, common.console);
      return;
    }
    Dim longest = 0;  // tokens that all prompts have and that one prefill reads
    for (const auto& prompt : request.prompts)
      longest = longest == 0 ? std::ssize(prompt) : std::min<Dim>(longest, std::ssize(prompt));
    longest = std::min<Dim>(longest, request.max_length);
    if (const std::int64_t most = generate::within_positions(loaded.model, request.max_length);
        most < request.max_length) {
      // A length beyond all memory must be reported as missing memory, so memory is checked first.
      generate::require_decoder_memory(backend, loaded, execution, cache_dtype, decoder_options(request), longest);
      common.console.warn(fmt::format("the model has {} positions: sequences end there", most));
      request.max_length = most;
    }
    cached_ = generate::open_decoder(backend, loaded, execution, cache_dtype, decoder_options(request), longest,
                                     common.console);
  }

  [[nodiscard]] generate::Request with_draft(generate::Request request, const open::LoadedModel& loaded,
                                             const backends::Backend& backend) {
    if (!drafts.draft) return request;
    if (request.prompts.size() != 1)
      throw bad_usage("--draft requires a single prompt, got {}", request.prompts.size());
    if (sampler_.kind == SamplerKind::beam || sampler_.kind == SamplerKind::contrastive)
      throw bad_usage("--draft supports the samplers greedy, random, top_k and top_p");
    if (as_keras_hub() && loaded.model.task() && !loaded.model.task()->keras_hub_error.empty())
      throw bad_usage("--draft cannot be combined with --compat keras-hub, whose logits of single tokens differ");
    drafting_ = generate::Drafting::open(drafts, backend, execution, decoder().vocabulary_size(), tokenizer_.get(),
                                         request.max_length, common.console);
    request.draft = &drafting_->draft();
    request.draft_tokens = drafting_->tokens();
    return request;
  }

  void choose_sampler(const keras::Model& of) {
    sampler_ = sampling.options_for(of);
    if (stream && sampler_.kind == SamplerKind::beam)
      throw bad_usage("--stream cannot be combined with --sampler beam: the best beam is known at the end");
  }

  [[nodiscard]] std::int64_t length_for(const keras::Model& of) const {
    if (sequences_) return sequences_->length;
    return max_length ? *max_length : generate::usual_length(of);
  }

  /// Limits the length to the longest prompt plus its new tokens, as far as the model's sequences reach.
  void fit_length(const keras::Model& of, generate::Request& request) {
    std::int64_t longest = 0;
    for (const auto& prompt : request.prompts) longest = std::max<std::int64_t>(longest, std::ssize(prompt));
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - longest;
    const std::int64_t length = longest + std::min(room, *max_new_tokens);
    if (!sequences_) {
      request.max_length = length;
    } else if (length > sequences_->length && of.reaches_length(length)) {
      sequences_->length = request.max_length = generate::within_positions(of, length);
    }
  }

  generate::Request request_for(const keras::Model& of) {
    generate::Request request;
    request.sampler = sampler_;
    request.max_length = length_for(of);
    if (max_new_tokens) request.max_new_tokens = *max_new_tokens;
    request.scores = logprobs.has_value();
    request.most_likely = static_cast<std::size_t>(logprobs.value_or(0));
    request.keep_logits = logits.has_value();
    Stopwatch watch;
    request.prompts = prompts_for(of, generate::within_positions(of, request.max_length));
    tokenize_seconds_ = watch.lap();
    request.stop_token_ids = stop_tokens();
    if (as_keras_hub() && specials_) request.pad_token_id = specials_->pad;
    if (max_new_tokens && !max_length) fit_length(of, request);
    if (!sequences_) check_positions(of, request);
    for (std::size_t i = 0; i < request.prompts.size(); ++i) {
      if (request.prompts[i].empty()) throw bad_usage("prompt {} has no tokens and no start token", i + 1);
      if (std::ssize(request.prompts[i]) >= request.max_length)
        common.console.warn(fmt::format("prompt {} fills all {} tokens of --max-length: nothing is generated", i + 1,
                                        request.max_length));
    }
    if (answer_)
      request.on_token = [this](std::size_t sequence, Token token) { return answer_->take(sequence, token); };
    return request;
  }

  /// Throws Error (usage) if a prompt has more tokens than the model has positions. Encoder and decoder have equally
  /// many.
  void check_positions(const keras::Model& of, const generate::Request& request) const {
    const auto positions = of.most_positions();
    if (!positions) return;
    const auto check = [&](const std::vector<std::vector<Token>>& rows, std::string_view side) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (std::ssize(rows[i]) > *positions)
          throw bad_usage("prompt {} has {} tokens{}, but the model has {} positions: give a shorter prompt", i + 1,
                          rows[i].size(), side, *positions);
    };
    check(encoded_.encoder, " for the encoder");
    if (!max_length || *max_length > *positions) check(request.prompts, "");
  }

  [[nodiscard]] bool as_keras_hub() const { return execution.as_keras_hub; }

  [[nodiscard]] tokenizers::EncodeOptions encoding() const {
    tokenizers::EncodeOptions how;
    how.specials_in_text = !no_special;
    return how;
  }

  std::vector<std::vector<Token>> prompts_for(const keras::Model& of, std::int64_t length) {
    const auto task = of.task();
    const bool has_encoder = sequences_ ? sequences_->inputs.encoder.has_value() : task && task->packing;
    if (!has_encoder) {
      if (!prompts.decoder_texts.empty() || !prompts.decoder_ids.empty())
        throw bad_usage("--decoder-prompt and --decoder-ids require an encoder-decoder model, and a {} has no encoder",
                        of.class_name());
      return tokenizer_ ? tokenized(of, length) : read_ids(prompts);
    }
    if (tokenizer_) texts_ = read_texts(prompts);
    generate::EncoderLengths lengths;
    lengths.encoder = generate::usual_encoder_length(of);
    lengths.decoder = max_new_tokens ? std::numeric_limits<std::int64_t>::max() : length;
    encoded_ = generate::pack_prompts(encoder_words(prompts, texts_, tokenizer_ != nullptr), task, tokenizer_.get(),
                                      encoding(), lengths, common.console);
    return encoded_.decoder;
  }

  /// Warns once that KerasHub would generate different, wrong tokens.
  void warn_of_keras_hub(const keras::Model& of, const generate::Request& request) const {
    if (as_keras_hub()) return;
    const auto task = of.task();
    std::string what = task ? task->keras_hub_error : "";
    if (specials_ && specials_->pad &&
        std::ranges::find(request.stop_token_ids, *specials_->pad) != request.stop_token_ids.end())
      what += std::string(what.empty() ? "" : ", and ") + "reads the padding after a prompt as its end";
    if (!what.empty())
      common.console.warn(
          fmt::format("KerasHub {}; attn does not. Use --compat keras-hub to reproduce its tokens.", what));
  }

  /// Tokenizes as CausalLMPreprocessor.generate_preprocess does: cuts the tokens, then adds a start token in front.
  std::vector<std::vector<Token>> tokenized(const keras::Model& of, std::int64_t length) {
    texts_ = read_texts(prompts);
    const auto task = of.task();
    const bool adds_start = !task || !task->preprocessor || task->preprocessor->add_start_token;
    std::optional<Token> start;
    if (adds_start && !no_start_token) start = tokenizer_->specials().start;
    std::vector<std::vector<Token>> out;
    for (const std::string& text : texts_) {
      std::vector<Token> ids = media_.encoded(text, *tokenizer_, encoding());
      const std::int64_t room = length - (start ? 1 : 0);
      if (!max_new_tokens && std::ssize(ids) > room) ids.resize(static_cast<std::size_t>(room));
      if (start) ids.insert(ids.begin(), *start);
      out.push_back(std::move(ids));
    }
    return out;
  }

  [[nodiscard]] std::vector<Token> stop_tokens() const {
    if (stop_ids == "none") return {};
    if (stop_ids == "auto") return specials_ ? specials_->stop : std::vector<Token>();
    return parse_ids("--stop-ids", stop_ids);
  }

  void check_ids(const generate::Request& request, std::int64_t size) const {
    for (const auto* rows : {&request.prompts, &encoded_.encoder})
      for (const auto& row : *rows) generate::expect_ids(row, size);
    if (stop_ids != "auto") generate::expect_ids(request.stop_token_ids, size);
  }

  /// Warns if the tokenizer and the model have different numbers of tokens.
  void warn_of_vocabulary(std::int64_t rows) const {
    if (!tokenizer_ || tokenizer_->size() == rows) return;
    common.console.warn(fmt::format(
        "the tokenizer has {} tokens and the model {}: {}", tokenizer_->size(), rows,
        tokenizer_->size() < rows ? "ids from there on have no text" : "a prompt with any of the others is rejected"));
  }

  /// Returns the last position of the prompts; empty if their lengths differ.
  [[nodiscard]] static std::optional<std::int64_t> last_position(const generate::Request& request) {
    const std::size_t length = request.prompts.front().size();
    const bool same = std::ranges::all_of(request.prompts, [&](const auto& prompt) { return prompt.size() == length; });
    return same ? std::optional(static_cast<std::int64_t>(length) - 1) : std::nullopt;
  }

  [[nodiscard]] generate::CachedDecoderOptions decoder_options(const generate::Request& request) const {
    generate::CachedDecoderOptions options;
    options.rows = static_cast<Dim>(request.prompts.size());
    options.branches = generate::branches_of(sampler_);
    if (options.branches > std::numeric_limits<Dim>::max() / std::max<Dim>(options.rows, 1))
      throw Error(ExitCode::no_memory, fmt::format("{} sequences for each of {} prompts do not fit in memory",
                                                   options.branches, options.rows));
    options.capacity = request.max_length;
    options.kept = drafts.kept(request.max_length);
    options.prefill_chunk = prefill_chunk.value_or(512);
    options.hidden = sampler_.kind == SamplerKind::contrastive;
    options.encoder_tokens = encoded_.encoder;
    options.media = media_.arrays(request.prompts);
    options.as_keras_hub = as_keras_hub();
    options.edit = steering.edit(last_position(request));
    return options;
  }

  void describe(const open::LoadedModel& loaded, const generate::Generated& generated, const generate::Request& request,
                report::GenerationReport& report) const {
    report.model.path = *model;
    report.model.weights = open::weights_origin(loaded, execution);
    report.model.class_name = loaded.model.class_name();
    if (const auto task = loaded.model.task()) report.model.backbone = task->backbone_class;
    for (const graph::WeightSpec& spec : loaded.model.weights()) report.model.parameters += spec.shape.size();
    if (tokenizer_) report.model.tokenizer = tokenizer_->class_name();
    report.sampler = sampler_;
    report.max_length = request.max_length;
    report.stop_token_ids = request.stop_token_ids;
    for (std::size_t i = 0; i < generated.sequences.size(); ++i) {
      report::GenerationResult& result = report.results[i];
      result.sequence = generated.sequences[i];
      if (!tokenizer_) continue;
      result.prompt = texts_[i];
      const generate::SequenceText text = answer_->of(result.sequence);
      result.text = text.text;
      result.stop_string = text.stop_string;
      result.beams = text.beams;
      if (common.form() == Format::text) continue;  // the text already has the exact bytes
      if (result.text) result.text = tokenizers::valid_utf8(*result.text);
      for (std::string& beam : result.beams) beam = tokenizers::valid_utf8(beam);
    }
    report.stats.tokenize_seconds = tokenize_seconds_;
    report.stats.tokens = generated.stats;
    report.stats.first_seconds = tokenize_seconds_ + generated.stats.prompt_seconds;
    if (!cached_) return;
    report.stats.cache_bytes = cached_->cache_bytes();
    report.stats.weight_bytes = cached_->weight_bytes();
    // The bytes read are those of a step with mean cache length.
    Dim shortest = request.max_length, most = 0;
    for (const generate::Sequence& sequence : generated.sequences) {
      shortest = std::min(shortest, sequence.prompt_length);
      most = std::max<Dim>(most, std::ssize(sequence.token_ids));
    }
    report.stats.cache_bytes_read = cached_->cache_bytes_read((std::min(shortest, most) + most) / 2);
  }

  void print_stats(const backends::Backend& backend, report::GenerationStats& of) const {
    if (cached_)
      of.bandwidth = run::measure_bandwidth(backend, execution.compile_options(), of.weight_bytes + of.cache_bytes);
    write_report(report::stats_text(of), common.console, true);
  }

  void write_logits(const generate::Generated& generated) const {
    std::size_t steps = 0, size = 0;
    for (const generate::Sequence& sequence : generated.sequences) {
      steps = std::max(steps, sequence.logits.size());
      if (!sequence.logits.empty()) size = sequence.logits.front().size();
    }
    const auto rows = generated.sequences.size();
    Tensor all(DType::float32, {static_cast<Dim>(rows), static_cast<Dim>(steps), static_cast<Dim>(size)});
    const auto numbers = all.as<float>();
    // NaN marks the positions after the end of a shorter sequence.
    std::ranges::fill(numbers, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t step = 0; step < generated.sequences[row].logits.size(); ++step)
        std::ranges::copy(generated.sequences[row].logits[step],
                          numbers.begin() + static_cast<std::ptrdiff_t>((row * steps + step) * size));
    io::write_tensors(*logits, std::vector<NamedTensor>{{"logits", all}});
  }
};

}  // namespace

Command generate_command() {
  return command_of<GenerateCommand>("generate", "generate text from a prompt, token by token");
}

}  // namespace attn::cli
