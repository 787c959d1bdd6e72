#include "attn/report/generation.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "views/records.h"

namespace attn::report {
namespace {

using generate::Finish;
using generate::SamplerKind;

std::string_view finish_text(const GenerationResult& result) {
  if (result.stop_string) return "stop_string";
  switch (result.sequence.finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::caller:
      return "caller";
  }
  return "";
}

/// Returns the config of the sampler in KerasHub's form.
Json sampler_json(const generate::SamplerOptions& sampler) {
  Json config;
  const Json seed = sampler.seed ? Json(*sampler.seed) : Json();
  const std::int64_t k = sampler.k.value_or(5);
  config["temperature"] = sampler.temperature;
  switch (sampler.kind) {
    case SamplerKind::greedy:
      break;
    case SamplerKind::random:
      config["seed"] = seed;
      break;
    case SamplerKind::top_k:
      config["k"] = k;
      config["seed"] = seed;
      break;
    case SamplerKind::top_p:
      config["p"] = sampler.p;
      config["k"] = sampler.k ? Json(*sampler.k) : Json();
      config["seed"] = seed;
      break;
    case SamplerKind::beam:
      config["num_beams"] = sampler.num_beams;
      break;
    case SamplerKind::contrastive:
      config["k"] = k;
      config["alpha"] = sampler.alpha;
      break;
  }
  return {{"class_name", class_name_of(sampler.kind)}, {"config", config}};
}

Json score_json(const generate::TokenScore& score) {
  return {{"token_id", score.token}, {"log_prob", score.log_probability}};
}

Json scores_json(const generate::StepScores& step) {
  Json json = score_json(step.chosen);
  if (step.most_likely.empty()) return json;
  json["most_likely"] = Json::array();
  for (const generate::TokenScore& score : step.most_likely) json["most_likely"].push_back(score_json(score));
  return json;
}

Json result_json(const GenerationResult& result) {
  const generate::Sequence& sequence = result.sequence;
  Json json;
  if (result.prompt) json["prompt"] = json_text(*result.prompt);
  json["prompt_tokens"] = sequence.prompt_length;
  json["token_ids"] = sequence.token_ids;
  json["length"] = sequence.token_ids.size();
  json["finish"] = finish_text(result);
  if (result.text) json["text"] = json_text(*result.text);
  if (!sequence.scores.empty()) {
    double sum = 0.0;
    for (const generate::StepScores& step : sequence.scores) sum += step.chosen.log_probability;
    json["log_prob"] = sum;
    json["tokens"] = Json::array();
    for (const generate::StepScores& step : sequence.scores) json["tokens"].push_back(scores_json(step));
  }
  for (std::size_t i = 0; i < sequence.beams.size(); ++i) {
    Json beam{{"token_ids", sequence.beams[i].token_ids}, {"log_prob", sequence.beams[i].log_probability}};
    if (i < result.beams.size()) beam["text"] = json_text(result.beams[i]);
    json["beams"].push_back(std::move(beam));
  }
  return json;
}

double per_second(std::int64_t count, double seconds) {
  return seconds > 0.0 ? static_cast<double>(count) / seconds : 0.0;
}

/// Returns the upper bound of tokens per second for a single sequence, if each token reads the weights and the cache
/// once.
std::optional<double> limit_of(const GenerationStats& stats) {
  const std::int64_t bytes = stats.weight_bytes + stats.cache_bytes_read;
  if (!stats.bandwidth || bytes == 0) return std::nullopt;
  return *stats.bandwidth / static_cast<double>(bytes);
}

/// Returns the number of decode steps per second: a step generates one token for every sequence of a batch.
double steps_per_second(const GenerationStats& stats) {
  return per_second(static_cast<std::int64_t>(stats.tokens.steps.size()) - 1, stats.tokens.step_seconds);
}

Json stats_json(const GenerationStats& stats) {
  Json json;
  json["load_ms"] = kMilliseconds * stats.load_seconds;
  json["tokenize_ms"] = kMilliseconds * stats.tokenize_seconds;
  json["ttft_ms"] = kMilliseconds * stats.first_seconds;
  json["prompt_tokens"] = stats.tokens.prompt_tokens;
  json["new_tokens"] = stats.tokens.new_tokens;
  json["prompt_tokens_per_s"] = per_second(stats.tokens.prompt_tokens, stats.tokens.prompt_seconds);
  json["tokens_per_s"] = per_second(stats.tokens.new_tokens, stats.tokens.step_seconds);
  if (stats.tokens.drafted_tokens > 0) {
    json["drafted_tokens"] = stats.tokens.drafted_tokens;
    json["accepted_tokens"] = stats.tokens.accepted_tokens;
  }
  json["cache_bytes"] = stats.cache_bytes;
  json["weight_bytes"] = stats.weight_bytes;
  if (const auto limit = limit_of(stats)) json["limit_tokens_per_s"] = *limit;
  return json;
}

Json document(const GenerationReport& report) {
  Json model;
  model["path"] = json_text(report.model.path);
  model["weights"] = json_text(report.model.weights);
  model["class_name"] = json_text(report.model.class_name);
  if (report.model.backbone) model["backbone"] = json_text(*report.model.backbone);
  model["params"] = report.model.parameters;
  model["tokenizer"] = report.model.tokenizer ? Json(json_text(*report.model.tokenizer)) : Json();
  Json json;
  json["schema"] = "attn.generate/1";
  json["model"] = std::move(model);
  json["sampler"] = sampler_json(report.sampler);
  json["max_length"] = report.max_length;
  json["stop_token_ids"] = report.stop_token_ids;
  json["results"] = Json::array();
  for (const GenerationResult& result : report.results) json["results"].push_back(result_json(result));
  json["stats"] = stats_json(report.stats);
  return json;
}

std::string result_text(const GenerationResult& result) {
  if (result.text) return *result.text + "\n";
  return fmt::format("{}\n", fmt::join(result.sequence.token_ids, ","));
}

std::string beams_text(const GenerationResult& result) {
  std::string out;
  for (std::size_t i = 0; i < result.sequence.beams.size(); ++i) {
    const generate::Beam& beam = result.sequence.beams[i];
    const std::string text =
        i < result.beams.size() ? result.beams[i] : fmt::format("{}", fmt::join(beam.token_ids, ","));
    out += fmt::format("{:.4f} {}\n", beam.log_probability, text);
  }
  return out;
}

std::string texts(const GenerationReport& report) {
  std::string out;
  for (const GenerationResult& result : report.results) {
    if (!out.empty()) out += '\n';
    out += report.all_beams ? beams_text(result) : result_text(result);
  }
  return out;
}

std::string lines(const GenerationReport& report) {
  std::string out;
  for (const GenerationResult& result : report.results) out += json_line(result_json(result));
  return out;
}

}  // namespace

std::string render(Format format, const GenerationReport& report) {
  switch (format) {
    case Format::text:
      return texts(report);
    case Format::json:
      return json_document(document(report));
    case Format::jsonl:
      return lines(report);
    default:
      refuse(format);
  }
}

std::string stats_text(const GenerationStats& stats) {
  std::string out =
      fmt::format("load {}, first token {}\n", duration(stats.load_seconds), duration(stats.first_seconds));
  out += fmt::format("prompt {}, {} tokens/s\n", counted(stats.tokens.prompt_tokens, "token"),
                     measured(per_second(stats.tokens.prompt_tokens, stats.tokens.prompt_seconds)));
  out += fmt::format("generated {}, {} tokens/s", counted(stats.tokens.new_tokens, "token"),
                     measured(per_second(stats.tokens.new_tokens, stats.tokens.step_seconds)));
  if (const auto limit = limit_of(stats)) {
    out += fmt::format(", {:.0f} % of the {} steps/s that reading {} at {} a second allows",
                       100.0 * steps_per_second(stats) / *limit, measured(*limit),
                       byte_size(stats.weight_bytes + stats.cache_bytes_read),
                       byte_size(static_cast<std::int64_t>(*stats.bandwidth)));
  }
  if (const std::int64_t drafted = stats.tokens.drafted_tokens; drafted > 0)
    out += fmt::format("\ndrafted {}, {} of them accepted ({:.0f} %)", counted(drafted, "token"),
                       with_commas(stats.tokens.accepted_tokens),
                       100.0 * static_cast<double>(stats.tokens.accepted_tokens) / static_cast<double>(drafted));
  return out + fmt::format("\ncache {}\n", byte_size(stats.cache_bytes));
}

}  // namespace attn::report
