#include "attn/generate/generate.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/generate/cached_decoder.h"
#include "attn/io/tensor_file.h"
#include "attn/report/generation.h"
#include "attn/run/peaks.h"
#include "attn/tokenizers/open.h"
#include "attn/tokenizers/text_stream.h"
#include "common.h"
#include "decoding.h"
#include "options/command.h"
#include "prepared_model.h"
#include "prompts.h"
#include "shared_options.h"
#include "texts.h"

namespace attn::cli {
namespace {

using generate::SamplerKind;
using generate::SamplerOptions;
using generate::Token;

/// Without --max-length: KerasHub's default of a preprocessor.
constexpr std::int64_t kUsualLength = 1024;

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(from_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

/// Where a text is cut because one of some others begins there; nothing where none does.
std::optional<std::size_t> stop_at(const std::string& text, const std::vector<std::string>& stops) {
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first == std::string::npos ? std::nullopt : std::optional(first);
}

struct GenerateCommand {
  Common common;
  Execution execution;
  std::optional<std::string> model;
  PromptWords prompts;
  SamplerOptions sampler;
  std::string sampler_name;
  std::optional<std::int64_t> max_length, max_new_tokens, prefill_chunk, logprobs, top_k, seed;
  std::string stop_ids = "auto";
  std::vector<std::string> stops;
  std::optional<std::string> logits;
  std::optional<std::string> cache_dtype;
  bool strip_prompt = false, keep_special = false, no_start_token = false, no_special = false;
  bool stream = false, stats = false;

  void declare(Options& options) {
    add_common(options, common, {Format::text, Format::json, Format::jsonl});
    options.add("model", model, "MODEL", "preset folder, .keras of a task, or Hugging Face folder").required();
    prompts.declare(options);
    options.add("--max-length", max_length, "N", "tokens of a sequence, its prompt included (the preprocessor's)")
        .above_zero();
    options.add("--max-new-tokens", max_new_tokens, "N", "tokens behind each prompt").above_zero();
    options.add("--sampler", sampler_name, "NAME", "how the next token is chosen (top_k; greedy for Gemma)")
        .one_of({"greedy", "random", "top_k", "top_p", "beam", "contrastive"});
    options.add("--top-k", top_k, "K", "tokens that are chosen among: of top_k and contrastive (5), of top_p (all)")
        .above_zero();
    options.add("--top-p", sampler.p, "P", "of top_p: the share that the likeliest tokens have together (0.1)")
        .between(0.0, 1.0);
    options.add("--temperature", sampler.temperature, "T", "below 1 likely tokens become likelier (1)").above_zero();
    options.add("--beams", sampler.num_beams, "N", "of beam (5)").above_zero();
    options.add("--alpha", sampler.alpha, "A", "of contrastive: the weight of being unlike what came (0.6)")
        .between(0.0, 1.0);
    options.add("--seed", seed, "SEED", "of the draws, which are those of KerasHub on TensorFlow");
    options.add("--stop-ids", stop_ids, "IDS", "tokens that end a text: auto, as KerasHub; none; or ids: 1,2");
    options.add("--stop", stops, "TEXT", "ends a text where this text would begin").repeatable();
    options.flag("--strip-prompt", strip_prompt, "texts without their prompts");
    options.flag("--keep-special", keep_special, "texts with their special tokens");
    options.flag("--no-start-token", no_start_token, "put no start token before the prompt");
    options.flag("--no-special", no_special, "read the names of special tokens in a prompt as letters");
    options.flag("--stream", stream, "write a text as it comes, as for one prompt on a terminal");
    options.add("--logprobs", logprobs, "N", "of --json: the log-probability of each token, and of the N likeliest")
        .not_negative();
    options.add("--logits", logits, "FILE", "write the logits of each step (sequences, steps, vocabulary) to .npz");
    options.add("--cache-dtype", cache_dtype, "DTYPE", "of the cached keys and values (the model's)")
        .one_of({"float32", "bfloat16", "float16"});
    options.add("--prefill-chunk", prefill_chunk, "N", "tokens of a prompt that are read at a time (512)").above_zero();
    options.flag("--stats", stats, "say on stderr how long it took, and what share of the memory's speed that is");
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype(options, execution.dtype);
    add_threads(options, execution.threads);
    add_weights(options, execution.weights);
    add_memory_limit(options, execution.memory_limit);
    add_matmul_precision(options, execution.precision);
    add_compat(options, execution.compat);
  }

  int run() {
    if (logits) io::check_tensor_path(*logits);
    Stopwatch watch;
    const auto backend = open_backend(execution.device, execution.backend, common.console);
    const LoadedModel loaded = load_model(model, execution, common.console);
    if (!loaded.model.decodes())
      throw bad_input("{}: a {} gives no logits of next tokens, so it cannot generate", loaded.file,
                      loaded.model.class_name());
    choose_sampler(loaded.model);
    if (prompts.ids.empty()) tokenizer_ = tokenizers::open_tokenizer(*model);
    const generate::Request request = request_for(loaded.model);
    warn_of_keras_hub(loaded.model, request);
    generate::CachedDecoderOptions options = decoder_options(request);
    options.reload = [&] { return load_weights(loaded, execution, common.console); };
    generate::CachedDecoder decoder(*backend, step_of(loaded.model, execution.dtype, cache_dtype), options.reload(),
                                    options);
    check_ids(request, decoder.vocabulary_size());
    warn_of_vocabulary(decoder.vocabulary_size());
    report::GenerationReport report;
    report.stats.load_seconds = watch.lap();

    report.results.resize(request.prompts.size());
    const generate::Generated generated = generate::generate(decoder, request);
    end_stream();
    describe(loaded, decoder, generated, request, report);
    if (!streams()) write_result(report::render(common.form(), report), common.output, Look::exact);
    if (logits) write_logits(generated);
    if (stats) {
      report.stats.bandwidth = bandwidth(*backend, report.stats);
      for (const std::string& line : split(report::stats_text(report.stats), '\n'))
        if (!line.empty()) common.console.warn(line);
    }
    return static_cast<int>(ExitCode::done);
  }

 private:
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::vector<std::string> texts_;               // the prompts
  EncoderPrompts encoded_;                       // of a model with an encoder
  std::vector<std::vector<Token>> added_;        // by sequence, while stop strings are looked for
  std::unique_ptr<tokenizers::TextStream> out_;  // of what is streamed
  double tokenize_seconds_ = 0.0;

  [[nodiscard]] bool streams() const {
    const bool possible = tokenizer_ && common.form() == Format::text && !common.output && texts_.size() == 1 &&
                          sampler.kind != SamplerKind::beam && stops.empty();
    return possible && (stream || isatty(STDOUT_FILENO) == 1);
  }

  void choose_sampler(const keras::Model& of) {
    const std::string class_name = of.class_name();
    sampler.kind = class_name.starts_with("Gemma") ? SamplerKind::greedy : SamplerKind::top_k;
    if (!sampler_name.empty()) sampler.kind = *generate::sampler_named(sampler_name);
    sampler.k = top_k;
    sampler.seed = seed;
    if (stream && sampler.kind == SamplerKind::beam)
      throw bad_usage("--stream with --sampler beam: which beam is the best is known at the end");
  }

  [[nodiscard]] std::int64_t length_for(const keras::Model& of) const {
    if (max_length) return *max_length;
    const auto task = of.task();
    if (!task || !task->preprocessor) return kUsualLength;
    const keras::Preprocessor& preprocessor = *task->preprocessor;
    return (task->packing ? preprocessor.decoder_sequence_length : preprocessor.sequence_length).value_or(kUsualLength);
  }

  generate::Request request_for(const keras::Model& of) {
    generate::Request request;
    request.sampler = sampler;
    request.max_length = length_for(of);
    if (max_new_tokens) request.max_new_tokens = *max_new_tokens;
    request.scores = logprobs.has_value();
    request.most_likely = static_cast<std::size_t>(logprobs.value_or(0));
    request.keep_logits = logits.has_value();
    Stopwatch watch;
    request.prompts = prompts_for(of, request.max_length);
    tokenize_seconds_ = watch.lap();
    request.stop_token_ids = stop_tokens();
    if (as_keras_hub() && tokenizer_ && stop_ids == "auto") request.pad_token_id = tokenizer_->specials().pad;
    for (std::size_t i = 0; i < request.prompts.size(); ++i) {
      if (request.prompts[i].empty())
        throw bad_usage("prompt {} has no tokens, and no start token comes before it", i + 1);
      if (std::ssize(request.prompts[i]) >= request.max_length)
        common.console.warn(fmt::format("prompt {} fills the {} tokens of --max-length: nothing is generated", i + 1,
                                        request.max_length));
    }
    if (max_new_tokens && !max_length) {  // as long as that needs
      std::int64_t longest = 0;
      for (const auto& prompt : request.prompts) longest = std::max<std::int64_t>(longest, std::ssize(prompt));
      request.max_length = longest + *max_new_tokens;
    }
    added_.assign(request.prompts.size(), {});
    request.on_token = [this](std::size_t sequence, Token token) { return take(sequence, token); };
    return request;
  }

  [[nodiscard]] bool as_keras_hub() const { return execution.compat == "keras-hub"; }

  [[nodiscard]] tokenizers::EncodeOptions encoding() const {
    tokenizers::EncodeOptions how;
    how.specials_in_text = !no_special;
    return how;
  }

  std::vector<std::vector<Token>> prompts_for(const keras::Model& of, std::int64_t length) {
    const auto task = of.task();
    if (!task || !task->packing) {
      if (!prompts.decoder_texts.empty() || !prompts.decoder_ids.empty())
        throw bad_usage("--decoder-prompt and --decoder-ids are for models with an encoder, and a {} has none",
                        of.class_name());
      return tokenizer_ ? tokenized(of, length) : read_ids(prompts);
    }
    if (tokenizer_) texts_ = read_texts(prompts);
    const std::int64_t room = max_new_tokens ? std::numeric_limits<std::int64_t>::max() : length;
    encoded_ = pack_prompts(prompts, texts_, *task, tokenizer_.get(), encoding(), room);
    return encoded_.decoder;
  }

  /// Says once where KerasHub would go on otherwise, and wrongly.
  void warn_of_keras_hub(const keras::Model& of, const generate::Request& request) const {
    if (as_keras_hub()) return;
    const auto task = of.task();
    std::string what = task ? task->keras_hub_error : "";
    if (tokenizer_ && stop_ids == "auto" && tokenizer_->specials().pad &&
        std::ranges::find(request.stop_token_ids, *tokenizer_->specials().pad) != request.stop_token_ids.end())
      what += std::string(what.empty() ? "" : ", and ") + "takes the padding behind a prompt for its end";
    if (!what.empty())
      common.console.warn(fmt::format("KerasHub {}; attn does not. --compat keras-hub gives its tokens.", what));
  }

  /// As CausalLMPreprocessor.generate_preprocess: cut, then a start token in front.
  std::vector<std::vector<Token>> tokenized(const keras::Model& of, std::int64_t length) {
    texts_ = read_texts(prompts);
    const auto task = of.task();
    const bool adds_start = !task || !task->preprocessor || task->preprocessor->add_start_token;
    std::optional<Token> start;
    if (adds_start && !no_start_token) start = tokenizer_->specials().start;
    std::vector<std::vector<Token>> out;
    for (const std::string& text : texts_) {
      std::vector<Token> ids = tokenizer_->encode(text, encoding());
      const std::int64_t room = length - (start ? 1 : 0);
      if (!max_new_tokens && std::ssize(ids) > room) ids.resize(static_cast<std::size_t>(room));
      if (start) ids.insert(ids.begin(), *start);
      out.push_back(std::move(ids));
    }
    return out;
  }

  [[nodiscard]] std::vector<Token> stop_tokens() const {
    if (stop_ids == "none") return {};
    if (stop_ids == "auto") return tokenizer_ ? tokenizer_->specials().stop : std::vector<Token>();
    return parse_ids("--stop-ids", stop_ids);
  }

  void check_ids(const generate::Request& request, std::int64_t size) const {
    for (const auto* rows : {&request.prompts, &encoded_.encoder})
      for (const auto& row : *rows)
        for (const Token token : row)
          if (token >= size) throw bad_usage("token {} is none of the model's {}", token, size);
  }

  /// A tokenizer and a model of two sizes; models often have some rows more.
  void warn_of_vocabulary(std::int64_t rows) const {
    if (!tokenizer_ || tokenizer_->size() == rows) return;
    common.console.warn(fmt::format(
        "the tokenizer has {} tokens and the model {}: {}", tokenizer_->size(), rows,
        tokenizer_->size() < rows ? "ids from there on have no text" : "a prompt with any of the others is refused"));
  }

  [[nodiscard]] generate::CachedDecoderOptions decoder_options(const generate::Request& request) const {
    generate::CachedDecoderOptions options;
    options.rows = static_cast<Dim>(request.prompts.size());
    options.branches = generate::branches_of(sampler);
    options.capacity = request.max_length;
    options.prefill_chunk = prefill_chunk.value_or(512);
    options.hidden = sampler.kind == SamplerKind::contrastive;
    options.encoder_tokens = encoded_.encoder;
    options.as_keras_hub = as_keras_hub();
    options.compile = execution.compile_options();
    return options;
  }

  /// Ids without special ones as text.
  [[nodiscard]] std::string text_of(std::span<const Token> ids) const {
    std::vector<Token> shown;
    const auto& specials = tokenizer_->specials().all;
    for (const Token id : ids)
      if ((keep_special || !std::ranges::binary_search(specials, id)) && tokenizer_->token(id)) shown.push_back(id);
    return tokenizer_->decode(shown);
  }

  /// A token was added: it is written, and may end the sequence.
  bool take(std::size_t sequence, Token token) {
    if (!tokenizer_) return false;
    if (streams()) write_token(token);
    if (stops.empty()) return false;
    added_[sequence].push_back(token);
    return stop_at(text_of(added_[sequence]), stops).has_value();
  }

  void write_token(Token token) {
    if (!out_) {
      out_ = std::make_unique<tokenizers::TextStream>(*tokenizer_);
      if (!strip_prompt) write_now(encoded_.begun.empty() ? texts_.front() : encoded_.begun.front());
    }
    if (!keep_special && std::ranges::binary_search(tokenizer_->specials().all, token)) return;
    if (!tokenizer_->token(token)) return;
    write_now(out_->push(token));
  }

  void end_stream() {
    if (!streams()) return;
    if (out_) write_now(out_->finish());
    write_now("\n");
  }

  static void write_now(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void describe(const LoadedModel& loaded, const generate::CachedDecoder& decoder, const generate::Generated& generated,
                const generate::Request& request, report::GenerationReport& report) const {
    report.model.path = *model;
    report.model.weights = weights_origin(loaded, execution);
    report.model.class_name = loaded.model.class_name();
    if (const auto task = loaded.model.task()) report.model.backbone = task->backbone_class;
    for (const graph::WeightSpec& spec : loaded.model.weights()) report.model.parameters += spec.shape.size();
    if (tokenizer_) report.model.tokenizer = tokenizer_->class_name();
    report.sampler = sampler;
    report.max_length = request.max_length;
    report.stop_token_ids = request.stop_token_ids;
    for (std::size_t i = 0; i < generated.sequences.size(); ++i) {
      report::GenerationResult& result = report.results[i];
      result.sequence = generated.sequences[i];
      if (!tokenizer_) continue;
      result.prompt = texts_[i];
      give_text(result);
      for (const generate::Beam& beam : result.sequence.beams) result.beams.push_back(text_of(beam.token_ids));
    }
    report.stats.tokenize_seconds = tokenize_seconds_;
    report.stats.tokens = generated.stats;
    report.stats.first_seconds = tokenize_seconds_ + generated.stats.prompt_seconds;
    report.stats.cache_bytes = decoder.cache_bytes();
    report.stats.weight_bytes = decoder.weight_bytes();
  }

  void give_text(report::GenerationResult& result) const {
    const auto& ids = result.sequence.token_ids;
    const auto behind = static_cast<std::size_t>(result.sequence.prompt_length);
    const std::span<const Token> all(ids), added = all.subspan(std::min(behind, ids.size()));
    if (!stops.empty()) {
      const std::string text = text_of(added);
      if (const auto cut = stop_at(text, stops)) {
        result.stop_string = true;
        result.text = (strip_prompt ? "" : text_of(all.first(behind))) + text.substr(0, *cut);
        return;
      }
    }
    result.text = text_of(strip_prompt ? added : all);
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
    std::ranges::fill(numbers, std::numeric_limits<float>::quiet_NaN());  // behind the end of a shorter one
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t step = 0; step < generated.sequences[row].logits.size(); ++step)
        std::ranges::copy(generated.sequences[row].logits[step],
                          numbers.begin() + static_cast<std::ptrdiff_t>((row * steps + step) * size));
    io::write_tensors(*logits, std::vector<NamedTensor>{{"logits", all}});
  }

  /// Of the memory that holds what a step reads.
  [[nodiscard]] double bandwidth(const backends::Backend& backend, const report::GenerationStats& of) const {
    const run::Peaks peaks = run::measure_peaks(backend, DType::float32, execution.compile_options());
    const bool in_cache = of.weight_bytes + of.cache_bytes < peaks.shared_bytes && peaks.shared_bytes_per_second > 0.0;
    return in_cache ? peaks.shared_bytes_per_second : peaks.memory_bytes_per_second;
  }
};

}  // namespace

Command generate_command() { return command_of<GenerateCommand>("generate", "go on with a text, token by token"); }

}  // namespace attn::cli
