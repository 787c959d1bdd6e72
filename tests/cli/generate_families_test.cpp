// attn generate: models with an encoder, and differences to KerasHub.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../places.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

/// The run named `name` in the outputs.json of a preset.
json run_in(const std::string& preset_name, const std::string& name) {
  const json outputs = json::parse(read_text(in_repository("tests/data/generation/" + preset_name + "/outputs.json")));
  for (const json& run : outputs["runs"])
    if (run["name"] == name) return run;
  FAIL("no run ", name);
  return {};
}

/// The greedy continuation of the prompts of a run.
Result generate(const std::string& preset_name, const json& run, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"generate",     preset(preset_name),     "--sampler", "greedy", "--json",
                                    "--max-length", run["max_length"].dump()};
  const json& prompts = run["prompts"];
  for (const json& text : prompts.is_object() ? prompts["encoder_text"] : prompts)
    words.insert(words.end(), {"--prompt", text.get<std::string>()});
  if (prompts.is_object())
    for (const json& text : prompts["decoder_text"])
      words.insert(words.end(), {"--decoder-prompt", text.get<std::string>()});
  words.insert(words.end(), more.begin(), more.end());
  return run_attn(words);
}

void check_texts(const Result& result, const json& run) {
  REQUIRE(result.code == 0);
  const json made = json::parse(result.out)["results"];
  REQUIRE(made.size() == run["text"].size());
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(made[i]["text"] == run["text"][i]);
}

}  // namespace

TEST_CASE("generate: the encoder reads the prompts, and the decoder's prompts begin the texts") {
  for (const std::string name : {"bart", "t5"}) {
    CAPTURE(name);
    for (const std::string run : {"greedy_batch", "greedy_decoder_text"}) {
      CAPTURE(run);
      check_texts(generate(name, run_in(name, run)), run_in(name, run));
    }
  }
}

TEST_CASE("generate: attn warns once where KerasHub continues wrongly, and --compat keras-hub reproduces KerasHub") {
  for (const std::string name : {"gpt_neo_x", "phi3"}) {
    CAPTURE(name);
    const json run = run_in(name, name == "phi3" ? "greedy" : "greedy_auto_stop");
    const Result plain = generate(name, run), same = generate(name, run, {"--compat", "keras-hub"});
    CHECK(plain.code == 0);
    CHECK(plain.err.find("--compat keras-hub to reproduce its tokens") != std::string::npos);
    CHECK(json::parse(plain.out)["results"] != json::parse(same.out)["results"]);
    CHECK(same.err.find("--compat") == std::string::npos);
    check_texts(same, run);
  }
}

TEST_CASE("generate: a Gemma 3 with attention in both directions is rejected, because it has no next token") {
  const TemporaryFolder folder;
  const std::filesystem::path copy = folder / "gemma3";
  std::filesystem::copy(preset("gemma3"), copy, std::filesystem::copy_options::recursive);
  for (const char* file : {"config.json", "task.json"}) {
    std::string text = read_text(copy / file);
    const std::string key = "\"use_bidirectional_attention\": ";
    const std::size_t at = text.find(key + "false");
    REQUIRE(at != std::string::npos);
    text.replace(at, key.size() + 5, key + "true");
    std::ofstream(copy / file) << text;
  }
  const Result result = run_attn({"generate", copy.string(), "--ids", "1,2", "--max-new-tokens", "2"});
  CHECK(result.code == 3);
  CHECK_MESSAGE(result.err.find("a model with bidirectional attention cannot generate text") != std::string::npos,
                result.err);
  CHECK(run_attn({"run", copy.string()}).code == 0);
}

TEST_CASE("generate: decoder prompts require an encoder, and one prompt or as many as encoder prompts") {
  struct Row {
    std::vector<std::string> words;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {{preset("opt"), "--ids", "1,2", "--decoder-prompt", "x"}, "require an encoder-decoder model"},
      {{preset("bart"), "--ids", "1,2"}, "requires --decoder-ids"},
      {{preset("bart"), "--prompt", "a", "--decoder-ids", "2"}, "--decoder-ids requires --ids"},
      {{preset("bart"), "--prompt", "a", "--decoder-prompt", "x", "--decoder-prompt", "y"}, "2 --decoder-prompt"}};
  for (const Row& row : rows) {
    std::vector<std::string> words = {"generate"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Result result = run_attn(words);
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("generate: layers that share keys and values give KerasHub's tokens, with one cache for all of them") {
  struct Row {
    const char *model, *prompt, *ids;
  };
  for (const Row& row : {Row{"gemma3n_causal_lm", "3,5,7", "[3,5,7,1,4,1,4,1,4,1,4,1]"},
                         Row{"gemma3n_causal_lm", "4,2,8,1", "[4,2,8,1,4,1,4,1,4,1,4,1]"},
                         Row{"gemma4_causal_lm", "3,5,7", "[3,5,7,6,5,6,5,6,5,6,5,6]"},
                         Row{"gemma4_causal_lm", "4,2,8,1", "[4,2,8,1,6,4,6,5,6,5,6,5]"}}) {
    CAPTURE(row.model);
    CAPTURE(row.prompt);
    const std::string model = in_repository(std::string("tests/data/keras/families/") + row.model + "/model.keras");
    for (const char* chunk : {"1", "3"}) {
      const Result result = run_attn({"generate", model, "--ids", row.prompt, "--max-length", "12", "--stop-ids",
                                      "none", "--sampler", "greedy", "--prefill-chunk", chunk, "--json"});
      REQUIRE_MESSAGE(result.code == 0, result.err);
      CHECK(nlohmann::json::parse(result.out)["results"][0]["token_ids"] == nlohmann::json::parse(row.ids));
    }
  }
}

TEST_CASE("generate: a model with a recurrent state gives KerasHub's tokens") {
  struct Row {
    const char *model, *prompt, *ids;
  };
  for (const Row& row : {Row{"rwkv7_causal_lm", "3,5,7", "[3,5,7,2,7,7,7,7,7,7,7,7]"},
                         Row{"rwkv7_causal_lm", "4,2,8,1", "[4,2,8,1,2,7,7,7,7,7,7,7]"},
                         Row{"qwen3_5_causal_lm", "3,5,7", "[3,5,7,0,2,1,7,0,7,0,7,0]"},
                         Row{"qwen3_5_causal_lm", "4,2,8,1", "[4,2,8,1,4,3,0,2,1,1,0,7]"}}) {
    CAPTURE(row.model);
    CAPTURE(row.prompt);
    const std::string model = in_repository(std::string("tests/data/keras/families/") + row.model + "/model.keras");
    const std::vector<std::string> words = {"generate",   model,  "--ids",     row.prompt, "--max-length", "12",
                                            "--stop-ids", "none", "--sampler", "greedy",   "--json"};
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--prefill-chunk", "1"},
                                                 {"--draft", "prompt-lookup:3"},
                                                 {"--compat", "keras-hub"}}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), more.begin(), more.end());
      const Result result = run_attn(all);
      REQUIRE_MESSAGE(result.code == 0, result.err);
      CHECK(nlohmann::json::parse(result.out)["results"][0]["token_ids"] == nlohmann::json::parse(row.ids));
    }
  }
  const Result cache = run_attn({"generate", in_repository("tests/data/keras/families/rwkv7_causal_lm/model.keras"),
                                 "--ids", "3,5,7", "--cache-dtype", "bfloat16"});
  CHECK(cache.code == 2);
  CHECK_MESSAGE(
      cache.err.find("--cache-dtype: a RWKV7CausalLM has recurrent states and no KV cache") != std::string::npos,
      cache.err);
  // More new tokens than the usual length of a model without one, 128.
  const Result longer = run_attn({"generate", in_repository("tests/data/keras/families/rwkv7_causal_lm/model.keras"),
                                  "--ids", "3,5,7", "-n", "140", "--stop-ids", "none", "--json"});
  REQUIRE_MESSAGE(longer.code == 0, longer.err);
  CHECK(nlohmann::json::parse(longer.out)["results"][0]["token_ids"].size() == 143);
}

}  // namespace attn::test
