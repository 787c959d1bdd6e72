// Every preset in tests/data/generation, compared with the results, summaries and generated text of KerasHub.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "../capture.h"
#include "../largest.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/keras/families.h"
#include "attn/report/summary.h"
#include "attn/tokenizers/open.h"
#include "generation_cases.h"

namespace {

using namespace attn;
using namespace attn::test;
using generate::Token;
using nlohmann::json;

const std::vector<std::unique_ptr<backends::Backend>>& all_backends() {
  static const auto made = [] {
    std::vector<std::unique_ptr<backends::Backend>> out;
    out.push_back(backends::make_reference_backend());
    out.push_back(backends::make_cpu_backend());
    return out;
  }();
  return made;
}

/// The inputs in backbone.npz by their names in the model.
std::map<std::string, Tensor> inputs_in(const std::map<std::string, Tensor>& arrays) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : arrays)
    if (name.starts_with("in_")) out.emplace(name.substr(3), tensor);
  return out;
}

/// A layer that KerasHub's constructor does not name has a number that counts layers of the whole process. Replaces
/// "get_item_2" by "get_item" with padding, as in a table cell.
std::string without_counts(std::string text) {
  for (const auto& [counted, plain] : {std::pair{"multiply_1 (Multiply)", "multiply (Multiply)  "},
                                       {"multiply_1[0][0], ", "multiply[0][0],   "},
                                       {"get_item_2 (GetItem)", "get_item (GetItem)  "},
                                       {"get_item_3 (GetItem)", "get_item_1 (GetItem)"},
                                       {"get_item_2[0][0], ", "get_item[0][0],   "},
                                       {"get_item_2[0][0] ", "get_item[0][0]   "},
                                       {"get_item_3[0][0],", "get_item_1[0][0],"}})
    for (std::size_t at = text.find(counted); at != std::string::npos; at = text.find(counted))
      text.replace(at, std::string(counted).size(), plain);
  return text;
}

/// The backbone's summary as printed by KerasHub. KerasHub cannot load a quantized backbone on its own; then it is the
/// summary of the task's backbone, whose embedding was last called for the logits of 400 tokens instead of the 32
/// features of each.
std::string backbone_summary(const PresetCase& preset) {
  std::string text = without_counts(read_text(preset.path / "summary.txt"));
  const std::string called = "(None, None, 400)", alone = "(None, None, 32) ";
  if (preset.is_quantized()) {
    const std::size_t at = text.find(called);
    REQUIRE(at != std::string::npos);
    text.replace(at, called.size(), alone);
  }
  return text;
}

std::string printed(const keras::Summary& summary) {
  report::SummaryOptions options;
  options.line_length = 80;
  return report::render(report::Format::table, summary, options);
}

generate::SamplerOptions sampler_of(const json& sampler) {
  generate::SamplerOptions out;
  for (const auto kind :
       {generate::SamplerKind::greedy, generate::SamplerKind::random, generate::SamplerKind::top_k,
        generate::SamplerKind::top_p, generate::SamplerKind::beam, generate::SamplerKind::contrastive})
    if (generate::class_name_of(kind) == sampler["class_name"].get<std::string>()) out.kind = kind;
  const json& config = sampler["config"];
  out.temperature = config.value("temperature", 1.0);
  if (config.contains("k") && !config["k"].is_null()) out.k = config["k"].get<std::int64_t>();
  out.p = config.value("p", out.p);
  out.num_beams = config.value("num_beams", out.num_beams);
  out.alpha = config.value("alpha", out.alpha);
  if (config.contains("seed")) out.seed = config["seed"].get<std::int64_t>();
  return out;
}

/// The first `lengths[i]` tokens of each row.
std::vector<std::vector<Token>> cut(const json& rows, const std::vector<std::size_t>& lengths) {
  std::vector<std::vector<Token>> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.push_back(rows[i].get<std::vector<Token>>());
    out.back().resize(lengths[i]);
  }
  return out;
}

std::vector<std::size_t> lengths_of(const json& masks) {
  std::vector<std::size_t> out;
  for (const json& mask : masks) out.push_back(static_cast<std::size_t>(std::ranges::count(mask, json(1))));
  return out;
}

/// (rows, length) int32
Tensor integers(const json& rows) {
  Tensor out(DType::int32, {static_cast<Dim>(rows.size()), static_cast<Dim>(rows[0].size())});
  std::int64_t i = 0;
  for (const json& row : rows)
    for (const json& value : row) out.set(i++, value.get<double>());
  return out;
}

generate::Request request_of(const json& run, const tokenizers::Tokenizer& tokenizer) {
  generate::Request request;
  const json& input = run["input"];
  const std::string side = input.contains("decoder_token_ids") ? "decoder_" : "";
  request.prompts = cut(input[side + "token_ids"], lengths_of(input[side + "padding_mask"]));
  request.sampler = sampler_of(run["sampler"]);
  request.max_length = run["max_length"].get<Dim>();
  const json& stop = run["stop_token_ids"];
  if (stop.is_array()) request.stop_token_ids = stop.get<std::vector<Token>>();
  if (stop == "auto") {
    request.stop_token_ids = tokenizer.specials().stop;
    request.pad_token_id = tokenizer.specials().pad;
  }
  return request;
}

generate::Generated generated(const PresetCase& preset, const backends::Backend& backend,
                              const generate::Request& request, bool as_keras_hub,
                              std::vector<std::vector<Token>> encoder_tokens = {}) {
  generate::CachedDecoderOptions options;
  options.rows = std::ssize(request.prompts);
  options.branches = generate::branches_of(request.sampler);
  options.capacity = request.max_length;
  options.hidden = request.sampler.kind == generate::SamplerKind::contrastive;
  options.as_keras_hub = as_keras_hub;
  options.encoder_tokens = std::move(encoder_tokens);
  options.compile.threads = 1;
  generate::CachedDecoder decoder = decoder_of(preset, backend, options);
  return generate::generate(decoder, request);
}

/// In half precision, another order of summation may select another token if two are almost equally probable: the
/// logits of the first different token must agree within twice the tolerance.
void check_first_difference(const PresetCase& preset, const generate::Sequence& sequence,
                            const std::vector<Token>& expected) {
  const auto [got, wanted] = std::ranges::mismatch(sequence.token_ids, expected);
  REQUIRE(got != sequence.token_ids.end());
  REQUIRE(wanted != expected.end());
  const auto place = static_cast<std::size_t>(got - sequence.token_ids.begin() - sequence.prompt_length);
  const std::vector<float>& logits = sequence.logits.at(place);
  const Tensor exact = read_arrays(preset.path / "backbone.npz").at("logits");
  CHECK(logits[static_cast<std::size_t>(*got)] - logits[static_cast<std::size_t>(*wanted)] <=
        2.0 * preset.tolerance("logits", exact));
}

/// The number of sampled runs, and of those that equal KerasHub's.
struct Drawn {
  int runs = 0, equal = 0;
};

bool is_drawn(generate::SamplerKind kind) {
  return kind == generate::SamplerKind::random || kind == generate::SamplerKind::top_k ||
         kind == generate::SamplerKind::top_p;
}

/// Checks a run of outputs.json.
void check_run(const PresetCase& preset, const backends::Backend& backend, const json& run,
               const tokenizers::Tokenizer& tokenizer, Drawn& drawn) {
  CAPTURE(run["name"].get<std::string>());
  generate::Request request = request_of(run, tokenizer);
  request.keep_logits = preset.is_half();
  const json& input = run["input"];
  std::vector<std::vector<Token>> encoder_tokens;
  if (input.contains("encoder_token_ids"))
    encoder_tokens = cut(input["encoder_token_ids"], lengths_of(input["encoder_padding_mask"]));
  const generate::Generated made = generated(preset, backend, request, true, std::move(encoder_tokens));
  const auto lengths = run["lengths"].get<std::vector<std::size_t>>();
  const auto expected = cut(run["token_ids"], lengths);
  if (is_drawn(request.sampler.kind)) {
    const bool equal = std::ranges::equal(made.sequences, expected, {}, &generate::Sequence::token_ids);
    ++drawn.runs;
    drawn.equal += equal ? 1 : 0;
    if (!equal) return;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const generate::Sequence& sequence = made.sequences[i];
    if (preset.is_half() && sequence.token_ids != expected[i]) {
      check_first_difference(preset, sequence, expected[i]);
      continue;
    }
    CHECK(sequence.token_ids == expected[i]);
    // The text is that of the tokens without special ones, and without the prompt if it is stripped.
    std::vector<Token> shown;
    const std::size_t skipped = run["strip_prompt"].get<bool>() ? request.prompts[i].size() : 0;
    for (std::size_t t = skipped; t < sequence.token_ids.size(); ++t)
      if (!tokenizer.specials().hides(sequence.token_ids[t])) shown.push_back(sequence.token_ids[t]);
    CHECK(tokenizers::valid_utf8(tokenizer.decode(shown)) == run["text"][i].get<std::string>());
    if (!run.contains("beams")) continue;
    for (std::size_t beam = 0; beam < sequence.beams.size(); ++beam) {
      const generate::Beam& got = sequence.beams[beam];
      const auto all = run["beams"][i][beam].get<std::vector<Token>>();
      CHECK(std::equal(got.token_ids.begin(), got.token_ids.end(), all.begin()));
      // A sum of about ten log-probabilities, each with the error of the logits.
      CHECK(got.log_probability == doctest::Approx(run["beam_log_probs"][i][beam].get<double>()).epsilon(1e-4));
    }
  }
}

}  // namespace

TEST_CASE("generation: a backbone and its task compute KerasHub's hidden states and logits") {
  for (const PresetCase& preset : preset_cases()) {
    CAPTURE(preset.name);
    const auto arrays = read_arrays(preset.path / "backbone.npz");
    for (const auto& backend : all_backends()) {
      CAPTURE(backend->name());
      const auto results = run_backbone(preset, *backend, inputs_in(arrays));
      for (const auto& [name, got] : results) {
        CAPTURE_BINDING(name);
        CHECK(largest_error(arrays.at(name), got) <= preset.tolerance(name, arrays.at(name)));
      }
      const Tensor& logits = arrays.at("logits");
      CHECK(largest_error(logits, run_task(preset, *backend, inputs_in(arrays))) <= preset.tolerance("logits", logits));
    }
  }
}

TEST_CASE("generation: summaries equal KerasHub's byte for byte") {
  for (const PresetCase& preset : preset_cases()) {
    CAPTURE(preset.name);
    CHECK(printed(preset.backbone.summary()) + "\n" == backbone_summary(preset));
    keras::Summary task = preset.task.summary();
    const auto tokenizer = tokenizers::open_tokenizer((preset.path / "preset").string(), keras::tokenizer_tables());
    for (keras::PreprocessorPart& part : task.preprocessor->parts) part.vocabulary_size = tokenizer->size();
    CHECK(printed(task) + "\n" == without_counts(read_text(preset.path / "task_summary.txt")));
  }
}

TEST_CASE("generation: weights have KerasHub's paths, shapes, dtypes and order") {
  for (const PresetCase& preset : preset_cases()) {
    CAPTURE(preset.name);
    json got = json::array();
    for (const graph::WeightSpec& spec : preset.backbone.weights())
      got.push_back({spec.path, spec.shape.dims(), std::string(name_of(spec.dtype))});
    CHECK(got == read_json(preset.path / "weights.json"));
  }
}

TEST_CASE("generation: get-config returns the configs that were read") {
  for (const PresetCase& preset : preset_cases()) {
    CAPTURE(preset.name);
    for (const auto& [file, model] : {std::pair{"config.json", &preset.backbone}, {"task.json", &preset.task}}) {
      json got = json::parse(model->config({}));
      for (const char* key : {"build_config", "compile_config"}) got.erase(key);  // not in a preset
      CHECK(json::diff(read_json(preset.path / "preset" / file), got).dump() == "[]");
    }
  }
}

TEST_CASE("generation: tokens equal KerasHub's for every sampler and seed") {
  Drawn drawn;
  for (const PresetCase& preset : preset_cases()) {
    CAPTURE(preset.name);
    const auto tokenizer = tokenizers::open_tokenizer((preset.path / "preset").string(), keras::tokenizer_tables());
    const json outputs = read_json(preset.path / "outputs.json");
    for (const auto& backend : all_backends()) {
      CAPTURE(backend->name());
      for (const json& run : outputs["runs"]) check_run(preset, *backend, run, *tokenizer, drawn);
    }
  }
  // A random number within the rounding of a step of the distribution may fall on the other side.
  CHECK(20 * (drawn.runs - drawn.equal) <= drawn.runs);
}

TEST_CASE("generation: logits of tokens read one by one equal those of the whole sequence") {
  for (const PresetCase& preset : preset_cases()) {
    CAPTURE(preset.name);
    const json outputs = read_json(preset.path / "outputs.json");
    const json& run = outputs["runs"][preset.is_half() ? 0 : 1];
    const json& input = run["input"];
    const bool encodes = input.contains("encoder_token_ids");
    std::map<std::string, Tensor> inputs;
    for (const auto& [name, rows] : input.items()) inputs.emplace(name, integers(rows));
    const std::string side = encodes ? "decoder_" : "";
    const Tensor tokens = integers(run["token_ids"]);
    const Dim rows = tokens.shape()[0], length = tokens.shape()[1];
    inputs[side + "token_ids"] = tokens;
    for (Dim i = 0; i < tokens.size(); ++i) inputs[side + "padding_mask"].set(i, 1.0);
    const double tolerance = preset.tolerance("logits", read_arrays(preset.path / "backbone.npz").at("logits"));
    for (const auto& backend : all_backends()) {
      CAPTURE(backend->name());
      const Tensor whole = run_task(preset, *backend, inputs);
      generate::CachedDecoderOptions options;
      options.rows = rows;
      options.capacity = length;
      options.prefill_chunk = 2;
      if (encodes) options.encoder_tokens = cut(input["encoder_token_ids"], lengths_of(input["encoder_padding_mask"]));
      generate::CachedDecoder decoder = decoder_of(preset, *backend, options);
      double error = 0.0;
      for (Dim position = 0; position < length;) {
        const Dim count = position == 0 ? 5 : 1;
        std::vector<Token> given;
        for (Dim row = 0; row < rows; ++row)
          for (Dim t = position; t < position + count; ++t)
            given.push_back(static_cast<Token>(tokens.at(row * length + t)));
        const Tensor logits = decoder.advance({given, rows, count, position, {}, true}).logits;
        const Dim size = logits.shape()[2];
        for (Dim row = 0; row < rows; ++row)
          for (Dim i = 0; i < count * size; ++i)
            error = std::max(
                error, std::abs(logits.at(row * count * size + i) - whole.at((row * length + position) * size + i)));
        position += count;
      }
      CHECK(error <= tolerance);
    }
  }
}
