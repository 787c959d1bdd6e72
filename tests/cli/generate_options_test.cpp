// attn generate: drafts, scores, beams as text, models that are not tasks; the KV cache in attn plan.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

std::vector<std::string> line(const std::string& model, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"generate", model};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Ids such as 5,5,5 with this length.
std::string ids_of_length(int length) {
  std::string ids = "5";
  for (int i = 1; i < length; ++i) ids += ",5";
  return ids;
}

TEST_CASE("generate: a draft keeps the ids for each sampler") {
  const std::vector<std::string> prompt = {"--ids", "399,51,257,399,51", "--max-new-tokens", "12", "--json", "--seed",
                                           "5"};
  for (const std::string sampler : {"greedy", "top_p"}) {
    CAPTURE(sampler);
    std::vector<std::string> words = line(preset("gpt2"), prompt);
    words.insert(words.end(), {"--sampler", sampler});
    if (sampler == "top_p") words.insert(words.end(), {"--top-p", "0.9"});
    const json plain = json::parse(run_attn(words).out);
    for (const std::string& draft : {std::string("prompt-lookup:3"), preset("gpt2")}) {
      std::vector<std::string> drafted = words;
      drafted.insert(drafted.end(), {"--draft", draft});
      const Result result = run_attn(drafted);
      REQUIRE(result.code == 0);
      const json made = json::parse(result.out);
      CHECK(made["results"] == plain["results"]);
      // With greedy sampling, a model's own guesses are always accepted.
      if (draft != "prompt-lookup:3" && sampler == "greedy")
        CHECK(made["stats"]["accepted_tokens"] == made["stats"]["drafted_tokens"]);
    }
  }
}

TEST_CASE("generate: a draft requires one prompt, a sampler of one sequence, and the model's vocabulary") {
  struct Row {
    std::vector<std::string> words;
    std::string reason;
  };
  const std::string ids = "--ids";
  for (const Row& row : std::vector<Row>{
           {{ids, "1,2", ids, "3", "--draft", "prompt-lookup"}, "a single prompt"},
           {{ids, "1,2", "--sampler", "beam", "--draft", "prompt-lookup"}, "greedy, random, top_k and top_p"},
           {{ids, "1,2", "--draft", "prompt-lookup:0"}, "prompt-lookup:N"},
           {{"--prompt", "The", "--draft", preset("llama3")}, "the same vocabulary"},
           {{ids, "1,2", "--all-beams"}, "--sampler beam"}}) {
    const Result result = run_attn(line(preset("gpt2"), row.words));
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("generate: an option of one sampler selects it, and an option without effect is an error") {
  const auto run = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--ids", "5,6", "--max-new-tokens", "2", "--json"});
    return run_attn(line(preset("gpt2"), words));
  };
  struct Selected {
    std::vector<std::string> words;
    std::string class_name;
  };
  for (const Selected& one :
       std::vector<Selected>{{{"--top-p", "0.5"}, "TopPSampler"},
                             {{"--top-p", "0.5", "--top-k", "3"}, "TopPSampler"},
                             {{"--num-beams", "2"}, "BeamSampler"},
                             {{"--num-beams", "2", "--all-beams"}, "BeamSampler"},
                             {{"--penalty-alpha", "0.5", "--top-k", "3"}, "ContrastiveSampler"},
                             {{"--temperature", "0.5"}, "TopKSampler"},
                             {{"--sampler", "random", "--temperature", "0.5"}, "RandomSampler"}}) {
    const Result result = run(one.words);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    CHECK(json::parse(result.out)["sampler"]["class_name"] == one.class_name);
  }
  struct Refused {
    std::vector<std::string> words;
    std::string reason;
  };
  for (const Refused& one : std::vector<Refused>{
           {{"--top-p", "1.5"}, "--top-p '1.5': expected a number from 0 to 1"},
           {{"--top-p", "-0.5"}, "expected a number from 0 to 1"},
           {{"--stop-ids", "3,400"}, "token 400 is outside the model's vocabulary of 400"},
           {{"--temperature", "0"}, "--temperature 0: expected at least 1e-30; use --sampler greedy"},
           {{"--temperature", "-1"}, "--temperature -1: expected at least 1e-30"},
           {{"--temperature", "1e-300"}, "--temperature 1e-300: expected at least 1e-30; use --sampler greedy"},
           {{"--temperature", "nan"}, "--temperature 'nan': expected a number"},
           {{"--top-k", "0"}, "--top-k 0: expected a whole number above 0; use --sampler random"},
           {{"--top-k", "1.5"}, "--top-k '1.5': expected a whole number"},
           {{"--num-beams", "0"}, "--num-beams '0': expected a number above 0"},
           {{"--sampler", "greedy", "--top-p", "0.9"}, "--top-p has no effect with greedy sampling"},
           {{"--sampler", "greedy", "--temperature", "0.5"}, "--temperature has no effect with greedy sampling"},
           {{"--sampler", "top_k", "--num-beams", "2"},
            "--num-beams has no effect with top_k sampling: use --sampler beam"},
           {{"--sampler", "random", "--top-k", "5"}, "--top-k has no effect with random sampling"},
           {{"--sampler", "beam", "--penalty-alpha", "0.5"}, "--penalty-alpha has no effect with beam sampling"},
           {{"--top-p", "0.5", "--num-beams", "2"}, "--top-p and --num-beams select different samplers"},
           {{"--num-beams", "2", "--top-k", "3"}, "--top-k has no effect with beam sampling"}}) {
    const Result result = run(one.words);
    CAPTURE(one.reason);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(one.reason) != std::string::npos);
  }
}

TEST_CASE("generate: sizes above the model's or the memory's limit are rejected in a sentence") {
  struct Row {
    std::string model;
    std::vector<std::string> words;
    int code;
    std::string reason;
  };
  const std::string ids = ids_of_length(65), most = "9223372036854775807";
  std::string text;
  for (int i = 0; i < 100; ++i) text += "The model ";
  for (const Row& row : std::vector<Row>{
           {"gpt2", {"--ids", "1", "--sampler", "contrastive", "--top-k", "5000"}, 2, "the model has only"},
           {"gpt2", {"--ids", "1", "--max-new-tokens", most}, 4, ""},
           {"llama", {"--ids", "1", "--max-length", most}, 4, ""},
           {"gpt2", {"--ids", ids}, 2, "prompt 1 has 65 tokens, but the model has 64 positions"},
           {"opt", {"--ids", "1", "--ids", ids, "--max-new-tokens", "2"}, 2, "prompt 2 has 65 tokens"},
           {"gpt2", {"--prompt", text, "--max-new-tokens", "2"}, 2, "but the model has 64 positions"},
           {"qwen2", {"--ids", "5", "--max-new-tokens", "99", "--draft", preset("gpt2")}, 2, "it has 64 positions"},
           {"bart", {"--ids", ids, "--decoder-ids", "2"}, 2, "prompt 1 has 65 tokens for the encoder"},
           {"bart", {"--prompt", "a", "--decoder-prompt", text, "--max-new-tokens", "2"}, 2, "prompt 1 has"}}) {
    const Result result = run_attn(line(preset(row.model), row.words));
    CAPTURE(result.err);
    CHECK(result.code == row.code);
    CHECK(contains(result.err, row.reason));
    CHECK(contains(result.err, "layer '") == false);
  }
  CHECK(run_attn({"score", preset("gpt2"), "--ids", ids}).code == 2);
}

TEST_CASE("generate: sequences end at a model's last position, and long texts are cut") {
  const auto made = [](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> words = line(preset(model), {"--seed", "1", "--stop-ids", "none", "--json"});
    words.insert(words.end(), more.begin(), more.end());
    const Result result = run_attn(words);
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    return std::pair(json::parse(result.out), result.err);
  };
  for (const std::string model : {"gpt2", "opt"}) {
    CAPTURE(model);
    for (const std::string option : {"--max-length", "--max-new-tokens"}) {
      const auto [report, warnings] = made(model, {"--ids", "5", option, "100"});
      CHECK(report["results"][0]["length"] == 64);
      CHECK(contains(warnings, "the model has 64 positions: sequences end there"));
    }
  }
  std::string text;
  for (int i = 0; i < 100; ++i) text += "The model ";
  CHECK(made("bart", {"--ids", "5", "--decoder-ids", "2"}).first["max_length"] == 64);  // the default without a limit
  CHECK(contains(made("gpt2", {"--prompt", text, "--max-length", "100"}).second, "sequences end there"));
  const auto [report, warnings] = made("bart", {"--prompt", text, "--max-new-tokens", "3"});
  CHECK(contains(warnings, "the encoder reads the first 64"));
  CHECK(report["results"][0]["length"] == 5);
}

TEST_CASE("generate: invalid UTF-8 bytes are U+FFFD in JSON and unchanged in text") {
  const std::vector<std::string> words = {"--prompt", "The model", "--sampler",    "random",
                                          "--seed",   "3",         "--max-length", "24"};
  CHECK(contains(run_attn(line(preset("bart"), words)).out, "asasas\321as ha"));
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const json made = json::parse(run_attn(line(preset("bart"), as_json)).out);
  CHECK(contains(made["results"][0]["text"].get<std::string>(), "asasas\357\277\275as ha"));
}

TEST_CASE("generate: ids end where the text would end, without a tokenizer") {
  const auto made = [](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--ids", "390,310,67,68,75", "--sampler", "random", "--seed",
                                      "3",     "--max-length",     "24",        "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json::parse(run_attn(line(model, words)).out);
  };
  const json ended = made(preset("qwen2"), {});
  CHECK(ended["stop_token_ids"] == json({399}));
  CHECK(ended["results"][0]["length"] == 8);
  CHECK(made(preset("qwen2"), {"--stop-ids", "none"})["results"][0]["length"] == 24);
  const TemporaryFolder folder;
  const std::filesystem::path bare = folder / "bare";
  std::filesystem::copy(preset("qwen2"), bare, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(bare / "assets");
  CHECK(made(bare.string(), {})["results"][0]["length"] == 24);
}

TEST_CASE("generate: --expect accepts the ids that generate writes, and exits with code 1 for others") {
  const TemporaryFolder folder;
  const std::vector<std::string> words =
      line(preset("gpt2"), {"--ids", "5,6,7", "--sampler", "greedy", "--max-new-tokens", "4", "--stop-ids", "none"});
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_attn(all);
  };
  const std::string lines = with({}).out, document = with({"--json"}).out;
  const std::string array = "[[" + lines.substr(0, lines.size() - 1) + "]]";
  for (const std::string& text : {lines, document, array})
    CHECK(with({"--expect", folder.file("ids", text)}).code == 0);
  const Result other = with({"--expect", folder.file("other", "5,6,7,0,0,0,0\n")});
  CHECK(other.code == 1);
  CHECK(contains(other.err, "at token 3: expected 0, got "));
  CHECK(with({"--expect", folder.file("two", lines + lines)}).code == 1);
  for (const std::string text : {"", "{}", "[[-1]]", "[1]", "words\n", R"({"results": [{}]})", "[[1"}) {
    CAPTURE(text);
    CHECK(with({"--expect", folder.file("bad", text)}).code == 3);
  }
}

TEST_CASE("generate: --all-beams writes each beam with its log-probability, and --stats a plain block") {
  const Result result = run_attn(line(preset("gpt2"), {"--ids", "5,6", "--sampler", "beam", "--num-beams", "3",
                                                       "--max-new-tokens", "2", "--all-beams", "--stats"}));
  REQUIRE(result.code == 0);
  std::vector<double> scores;
  std::size_t from = 0;
  for (std::size_t end; (end = result.out.find('\n', from)) != std::string::npos; from = end + 1)
    scores.push_back(std::stod(result.out.substr(from)));
  REQUIRE(scores.size() == 3);
  CHECK(scores[0] >= scores[1]);
  CHECK(scores[1] >= scores[2]);
  CHECK(contains(result.out, " 5,6,"));
  CHECK(result.err.starts_with("load "));
  CHECK_FALSE(contains(result.err, "warning"));
}

TEST_CASE("generate: a model that is not a task reads and writes ids, also with an encoder") {
  const std::vector<std::string> words = {"--ids", "11,12,13", "--decoder-ids", "1", "--max-new-tokens", "4", "--json"};
  std::vector<std::string> greedy = line("configs/encoder_decoder.json", words);
  greedy.insert(greedy.end(), {"--sampler", "greedy"});
  const Result result = run_attn(greedy);
  REQUIRE(result.code == 0);
  const json made = json::parse(result.out);
  CHECK(made["max_length"] == 48);
  CHECK(made["results"][0]["token_ids"].size() == 5);
  std::vector<std::string> beam = line("configs/encoder_decoder.json", words);
  beam.insert(beam.end(), {"--sampler", "beam", "--num-beams", "2"});
  CHECK(run_attn(beam).code == 0);
  const Result alone =
      run_attn({"generate", "configs/gpt_small.json", "--ids", "3,4", "--sampler", "greedy", "--max-new-tokens", "2"});
  CHECK(alone.code == 0);
  CHECK(alone.out.starts_with("3,4,"));
  for (const std::string config : {"encoder", "bert_base", "gpt2_base", "vit_tiny"}) {
    CAPTURE(config);
    const Result refused = run_attn({"generate", "configs/" + config + ".json", "--ids", "1"});
    CHECK(refused.code == 3);
    CHECK(contains(refused.err, "cannot generate"));
  }
  CHECK(run_attn({"generate", "configs/encoder_decoder.json", "--ids", "1"}).code == 2);
  CHECK(run_attn({"generate", "configs/encoder_decoder.json", "--ids", "1", "--decoder-ids", "1", "--max-length", "60"})
            .code == 2);
}

TEST_CASE("plan: a decoder's KV cache is shown by layer, token and length, and other models have none") {
  const json plan = json::parse(run_attn({"plan", preset("gpt2"), "--max-length", "100", "--batch-size", "2",
                                          "--cache-dtype", "bfloat16", "--json"})
                                    .out);
  const json& cache = plan["cache"];
  CHECK(cache["sequences"] == 2);
  CHECK(cache["positions"] == 100);
  std::int64_t bytes = 0, token_bytes = 0;
  for (const json& layer : cache["layers"]) {
    CHECK(layer["dtype"] == "bfloat16");
    CHECK(layer["bytes"] == layer["token_bytes"].get<std::int64_t>() * 2 * 100);
    bytes += layer["bytes"].get<std::int64_t>();
    token_bytes += layer["token_bytes"].get<std::int64_t>();
  }
  CHECK(cache["bytes"] == bytes);
  CHECK(cache["token_bytes"] == token_bytes);
  CHECK(json::parse(run_attn({"plan", preset("bart"), "--json"}).out)["cache"]["positions"] ==
        64);  // the maximum of the model
  CHECK(contains(run_attn({"plan", preset("bart")}).out, "KV cache: "));
  CHECK_FALSE(json::parse(run_attn({"plan", "--json"}).out).contains("cache"));
  CHECK(run_attn({"plan", "--max-length", "5"}).code == 2);
}

}  // namespace
}  // namespace attn::test
