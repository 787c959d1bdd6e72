// Model folders as scripts see them.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "../capture.h"
#include "../places.h"
#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

std::string model(const std::string& name) { return attn::test::in_repository("tests/data/generation/") + name; }

/// The ids of a text that both libraries split into the same words.
std::string ids_of(const std::string& path) {
  const Result result = run_attn({"tokenize", path, "--text", "the model reads", "--format", "ids"});
  CHECK_MESSAGE(result.code == 0, result.err);
  return result.out;
}

json arrays_of(const std::string& path) { return json::parse(run_attn({"weights", path, "--json"}).out)["arrays"]; }

}  // namespace

TEST_CASE("convert --to: converting between formats keeps weights and tokenizer") {
  for (const std::string name : {"gpt2", "falcon", "bert_classifier"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const std::string start = model(name + "/preset"), ids = ids_of(start);
    std::string last = start;
    for (const auto& [form, place] : {std::pair("hf", "a"), {"preset", "b"}, {"keras", "c.keras"}, {"hf", "d"}}) {
      CAPTURE_BINDING(form);
      const Result converted = run_attn({"convert", last, "-o", folder / place, "--to", form});
      CHECK_MESSAGE(converted.code == 0, converted.err);
      CHECK(converted.err.empty());
      last = folder / place;
      CHECK(run_attn({"weights", last, "--expect", start}).code == 0);
      CHECK(ids_of(last) == ids);
    }
    CHECK(folder.names() == std::vector<std::string>{"a", "b", "c.keras", "d"});
    CHECK(json::parse(read_text(folder / "a/config.json")) == json::parse(read_text(folder / "d/config.json")));
  }
}

TEST_CASE("convert --to hf: every family survives the round trip through transformers' names and layouts") {
  for (const std::string name :
       {"gpt2", "opt", "gpt_neo_x", "falcon", "llama", "llama3", "mistral", "mixtral", "qwen2", "qwen3", "phi3",
        "gemma", "gemma2", "gemma3", "bart", "t5", "t5_tied", "bert_classifier", "bert_masked_lm"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const std::string start = model(name + "/preset");
    const Result there = run_attn({"convert", start, folder / "hf", "--to", "hf", "--max-shard-size", "40KB"});
    CHECK_MESSAGE(there.code == 0, there.err);
    CHECK(std::filesystem::exists(folder / "hf/model.safetensors.index.json"));
    CHECK(!std::filesystem::exists(folder / "hf/model.safetensors"));
    const Result back = run_attn({"convert", folder / "hf", folder / "preset", "--to", "preset"});
    CHECK_MESSAGE(back.code == 0, back.err);
    const Result same = run_attn({"weights", folder / "preset", "--expect", start});
    CHECK_MESSAGE(same.code == 0, same.out << same.err);
  }
}

TEST_CASE("a Hugging Face folder of an image model computes the results of transformers, and survives a round trip") {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(attn::test::in_repository("tests/data/hugging_face_images"))) {
    const std::string start = entry.path().string();
    CAPTURE(start);
    ++count;
    const Result run = run_attn(
        {"run", start, "--input", start + "/x.npz", "--expect", start + "/y.npz", "--rtol", "1e-4", "--atol", "1e-4"});
    CHECK_MESSAGE(run.code == 0, run.out << run.err);
    const TemporaryFolder folder;
    for (const auto& [source, target, form] : {std::tuple(start, folder / "preset", "preset"),
                                               {folder / "preset", folder / "hf", "hf"},
                                               {folder / "hf", folder / "back", "preset"}}) {
      const Result converted = run_attn({"convert", source, target, "--to", form});
      CHECK_MESSAGE(converted.code == 0, converted.err);
    }
    const Result same = run_attn({"weights", folder / "back", "--expect", folder / "preset"});
    CHECK_MESSAGE(same.code == 0, same.out << same.err);
    CHECK(json::parse(read_text(folder / "hf/config.json"))["torch_dtype"] == "float32");
  }
  CHECK(count == 5);
}

TEST_CASE("a Hugging Face folder's preprocessor_config.json converts images for attn run") {
  const std::string picture = attn::test::in_repository("tests/data/images/wide.png");
  for (const std::string name : {"deit", "dinov2", "swin"}) {
    CAPTURE(name);
    const std::string folder = attn::test::in_repository("tests/data/hugging_face_images/" + name);
    const Result result = run_attn({"run", folder, "--image", picture, "--json"});
    CHECK_MESSAGE(result.code == 0, result.err);
  }
}

TEST_CASE("convert --to hf: each expert has separate arrays, and blocks without experts are listed") {
  for (const std::string name : {"qwen_moe", "qwen_moe_dense", "qwen3_moe"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const std::string start = attn::test::in_repository("tests/data/keras/families/" + name + "/model.keras");
    const Result there = run_attn({"convert", start, folder / "hf", "--to", "hf"});
    CHECK_MESSAGE(there.code == 0, there.err);
    const Result back = run_attn({"convert", folder / "hf", folder / "back.keras"});
    CHECK_MESSAGE(back.code == 0, back.err);
    const Result same = run_attn({"weights", folder / "back.keras", "--expect", start});
    CHECK_MESSAGE(same.code == 0, same.out << same.err);
  }
}

TEST_CASE("convert --to hf: a Bloom narrower than transformers' is padded with zeros and scores the same") {
  const TemporaryFolder folder;
  const std::string start = model("bloom/preset"), hf = folder / "hf";
  REQUIRE(run_attn({"convert", start, hf, "--to", "hf"}).code == 0);
  CHECK(ids_of(hf) == ids_of(start));
  const auto score_of = [](const std::string& path) {
    const Result result = run_attn({"score", path, "--ids", "5,6,7,100,8", "--json"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return json::parse(result.out)["results"][0]["log_prob"].get<double>();
  };
  CHECK(score_of(hf) == doctest::Approx(score_of(start)).epsilon(1e-5));
  for (const json& array : arrays_of(hf + "/model.safetensors"))
    if (array["name"].get<std::string>().ends_with("mlp.dense_h_to_4h.weight"))
      CHECK(array["shape"] == json({144, 36}));

  json config = json::parse(read_text(start + "/config.json"));
  config["config"]["intermediate_dim"] = 145;
  REQUIRE(run_attn({"init", folder.file("wide.json", config.dump()), "-o", folder / "wide.keras"}).code == 0);
  const Result wider = run_attn({"convert", folder / "wide.keras", folder / "b", "--to", "hf"});
  CHECK(wider.code == 3);
  CHECK(contains(wider.err, "= 144 features, and 145 are more"));
}

TEST_CASE("weights: weights that share a path are listed by it and compared separately") {
  for (const auto& [name, shared] : {std::pair("t5", "self_attention/embeddings"), {"smollm3", "o_proj/kernel"}}) {
    CAPTURE_BINDING(name);
    const std::string place = model(std::string(name) + "/preset");
    const std::string wanted = shared;
    const json listed = arrays_of(place);
    CHECK(std::count_if(listed.begin(), listed.end(), [&](const json& one) { return one["name"] == wanted; }) > 1);
    const TemporaryFolder folder;
    REQUIRE(run_attn({"convert", place, folder / "w.npz"}).code == 0);
    CHECK(run_attn({"weights", folder / "w.npz", "--expect", place}).code == 0);
  }
}

TEST_CASE("folders: a T5 without scaled logits uses its token embedding as head") {
  const TemporaryFolder folder;
  const std::string hf = folder / "hf";
  REQUIRE(run_attn({"convert", model("t5_tied/preset"), hf, "--to", "hf"}).code == 0);
  const auto first = [&] {
    const Result made = run_attn({"generate", hf, "--ids", "5,6,7", "--decoder-ids", "0", "--sampler", "greedy",
                                  "--max-new-tokens", "6", "--logprobs", "0", "--json"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    return json::parse(made.out)["results"][0];
  };
  const json scaled = first();
  json config = json::parse(read_text(hf + "/config.json"));
  config["scale_decoder_outputs"] = false;  // written by transformers 5, with tie_word_embeddings true
  CHECK(folder.file("hf/config.json", config.dump()) == hf + "/config.json");
  const json plain = first();
  CHECK(plain["token_ids"] == scaled["token_ids"]);
  CHECK(plain["log_prob"].get<double>() > scaled["log_prob"].get<double>());  // larger logits give higher probabilities
}

TEST_CASE("convert --max-shard-size: an index names the file of each array") {
  const TemporaryFolder folder;
  REQUIRE(run_attn({"convert", model("gpt2/preset"), folder / "hf", "--to", "hf", "--max-shard-size", "60KB"}).code ==
          0);
  const json index = json::parse(read_text(folder / "hf/model.safetensors.index.json"));
  const json whole = json::parse(run_attn({"weights", folder / "hf", "--json"}).out);
  std::int64_t bytes = 0;  // total of all arrays, without file headers
  for (const auto& entry : std::filesystem::directory_iterator(folder / "hf"))
    if (entry.path().extension() == ".safetensors")
      for (const json& array : arrays_of(entry.path().string())) bytes += array["bytes"].get<std::int64_t>();
  CHECK(index["metadata"]["total_size"] == bytes);
  CHECK(index["weight_map"]["transformer.wte.weight"].get<std::string>().starts_with("model-0000"));
  CHECK(whole["arrays"].size() > index["weight_map"].size());  // query, key and value are one array
  CHECK(run_attn({"convert", model("gpt2/preset"), folder / "x", "--to", "preset", "--max-shard-size", "1MB"}).code ==
        2);
  CHECK(run_attn({"convert", model("gpt2/preset"), folder / "x", "--to", "hf", "--max-shard-size", "much"}).code == 2);
  CHECK(folder.names() == std::vector<std::string>{"hf"});
}

TEST_CASE("weights: a config represents its folder") {
  for (const std::string file : {"gpt2/preset/config.json", "gpt2/preset/task.json", "gpt2/hf/config.json"}) {
    CAPTURE(file);
    CHECK(run_attn({"weights", model(file), "--expect", model("gpt2/preset")}).code == 0);
  }
  CHECK(run_attn({"weights", "configs/encoder.json"}).code == 3);
}

TEST_CASE("summary: the preprocessor table of a task shows the vocabulary size") {
  for (const std::string name : {"gpt2", "t5", "bert_classifier"}) {
    CAPTURE(name);
    const Result result = run_attn({"summary", model(name + "/preset"), "--line-length", "80"});
    CHECK(contains(result.out, "Vocab size: 400 │"));
  }
}

TEST_CASE("summary: the preprocessor table of a task shows what its audio converter returns") {
  json task = json::parse(read_text(attn::test::in_repository("tests/data/keras/families/moonshine/model.json")));
  const auto shape_of = [&](const char* class_name, const json& config) {
    task["config"]["preprocessor"] = {{"module", "keras_hub.models"},
                                      {"class_name", "MoonshineAudioToTextPreprocessor"},
                                      {"registered_name", "keras_hub>MoonshineAudioToTextPreprocessor"},
                                      {"config",
                                       {{"name", "p"},
                                        {"audio_converter",
                                         {{"module", "keras_hub.layers"},
                                          {"class_name", class_name},
                                          {"registered_name", std::string("keras_hub>") + class_name},
                                          {"config", config}}}}}};
    return run_attn({"summary", "-", "--line-length", "100"}, task.dump()).out;
  };
  CHECK(contains(shape_of("MoonshineAudioConverter", {{"name", "a"}}), "Audio shape: (None) "));
  CHECK(contains(shape_of("WhisperAudioConverter", {{"name", "a"}, {"num_mels", 128}}), "Audio shape: (30, 128) "));
}

TEST_CASE("convert --to: an existing target is kept, and a failure leaves nothing") {
  const TemporaryFolder folder;
  const std::string kept = folder.file("kept", "mine");
  const Result over = run_attn({"convert", model("gpt2/preset"), kept, "--to", "hf"});
  CHECK(over.code == 3);
  CHECK(contains(over.err, "it already exists, and is left unchanged"));
  CHECK(read_text(kept) == "mine");
  std::filesystem::create_directory(folder / "full");
  static_cast<void>(folder.file("full/x", "mine"));
  CHECK(run_attn({"convert", model("gpt2/preset"), folder / "full", "--to", "preset"}).code == 3);
  CHECK(folder.names() == std::vector<std::string>{"full", "kept"});

  // Converting a model without a Hugging Face family fails even if its weights are present.
  const Result encoder = run_attn({"init", "configs/encoder.json", "-o", folder / "encoder.keras"});
  REQUIRE(encoder.code == 0);
  const Result refused = run_attn({"convert", folder / "encoder.keras", folder / "new", "--to", "hf"});
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "cannot be written as a Hugging Face folder"));
  CHECK(folder.names() == std::vector<std::string>{"encoder.keras", "full", "kept"});

  // An empty folder can be the target.
  std::filesystem::create_directory(folder / "empty");
  CHECK(run_attn({"convert", model("gpt2/preset"), folder / "empty", "--to", "preset", "--dtype", "bfloat16"}).code ==
        0);
  const json arrays = json::parse(run_attn({"weights", folder / "empty", "--json"}).out);
  CHECK(arrays["arrays"][0]["dtype"] == "bfloat16");
  CHECK(run_attn({"convert", model("gpt2/preset"), "--to", "preset"}).code == 2);
  CHECK(contains(run_attn({"convert", model("gpt2/preset"), "", "--to", "hf"}).err, "an output folder without a name"));
}

TEST_CASE("convert --to hf: a tokenizer with fields of a wrong type is omitted with a warning that names them") {
  const TemporaryFolder folder;
  for (const auto& [from, field, value] : std::vector<std::array<std::string, 3>>{
           {"bloom", "add_prefix_space", "2"}, {"bert_classifier", "lowercase", "\"yes\""}}) {
    CAPTURE_BINDING(from);
    const std::string changed = folder / from;
    std::filesystem::copy(model(from + "/preset"), changed, std::filesystem::copy_options::recursive);
    json tokenizer = json::parse(read_text(changed + "/tokenizer.json"));
    tokenizer["config"][field] = json::parse(value);
    std::filesystem::permissions(changed + "/tokenizer.json", std::filesystem::perms::owner_all);
    std::ofstream(changed + "/tokenizer.json") << tokenizer;
    const Result result = run_attn({"convert", changed, folder / ("hf_" + from), "--to", "hf"});
    CHECK(result.code == 0);
    CHECK_MESSAGE(contains(result.err, "/config/" + field + ": expected true or false; the result has no tokenizer"),
                  result.err);
  }
}

TEST_CASE("folders: each command accepts a folder as MODEL") {
  const TemporaryFolder folder;
  for (const std::string name : {"gpt2/preset", "gpt2/hf", "bert_classifier/preset"}) {
    CAPTURE(name);
    const std::string path = model(name);
    for (const std::vector<std::string>& words : {std::vector<std::string>{"summary", path},
                                                  {"explain", path},
                                                  {"validate", path},
                                                  {"get-config", path},
                                                  {"weights", path},
                                                  {"plan", path},
                                                  {"plot", path},
                                                  {"run", path, "--seq-len", "8"},
                                                  {"compare", path, path},
                                                  {"heatmap", path, "--seq-len", "8"},
                                                  {"bench", path, "--seq-len", "8", "--iterations", "1"},
                                                  {"tokenize", path, "--text", "a"},
                                                  {"convert", path, folder / "out.npz"}}) {
      CAPTURE(words.front());
      const Result result = run_attn(words);
      CHECK_MESSAGE(result.code == 0, result.err);
    }
  }
}

TEST_CASE("generate: a Hugging Face folder continues like the preset, and a text shows no ids without tokens") {
  const std::vector<std::string> words = {"--prompt", "The model", "--seed", "1", "--max-length", "20", "--quiet"};
  const auto generated = [&](const std::string& path) {
    std::vector<std::string> all = {"generate", path};
    all.insert(all.end(), words.begin(), words.end());
    const Result result = run_attn(all);
    CHECK_MESSAGE(result.code == 0, result.err);
    return result.out;
  };
  const std::string expected = generated(model("gpt2/preset"));
  CHECK(generated(model("gpt2/hf")) == expected);
  CHECK(generated(model("gpt2/task.keras")) == expected);

  // A vocabulary with fewer tokens than the model has rows, as in many models.
  const TemporaryFolder folder;
  std::filesystem::copy(model("gpt2/hf"), folder / "hf");
  json tokenizer = json::parse(read_text(folder / "hf/tokenizer.json"));
  json& vocabulary = tokenizer["model"]["vocab"];
  for (auto it = vocabulary.begin(); it != vocabulary.end();)
    it = it.value() >= 300 && it.key() != "<|endoftext|>" ? vocabulary.erase(it) : std::next(it);
  tokenizer["model"]["merges"] = json::array();
  static_cast<void>(folder.file("hf/tokenizer.json", tokenizer.dump()));
  const Result result = run_attn({"generate", folder / "hf", "--prompt", "The", "--sampler", "random", "--seed", "3",
                                  "--max-new-tokens", "30", "--stop-ids", "none"});
  CHECK_MESSAGE(result.code == 0, result.err);
  CHECK(contains(result.err, "have no text"));
}

TEST_CASE("score: the score of a text is the sum of log-probabilities, and the perplexity uses their mean") {
  const std::string path = model("gpt2/preset");
  const Result result = run_attn({"score", path, "--text", "The model reads", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json score = json::parse(result.out);
  CHECK(score["schema"] == "attn.score/1");
  const json& text = score["results"][0];
  CHECK(text["tokens"][0]["log_prob"].is_null());
  double sum = 0;
  for (const json& token : text["tokens"])
    if (token["log_prob"].is_number()) sum += token["log_prob"].get<double>();
  CHECK(text["scored"] == text["tokens"].size() - 1);
  CHECK(text["log_prob"].get<double>() == doctest::Approx(sum));
  CHECK(text["perplexity"].get<double>() == doctest::Approx(std::exp(-sum / text["scored"].get<double>())));

  CHECK(run_attn({"score", path, "--text", ""}).code == 2);
  CHECK(run_attn({"score", path, "--ids", "1,500"}).code == 2);
  CHECK(run_attn({"score", model("bert_classifier/preset"), "--text", "a"}).code == 3);
}

TEST_CASE("score: Llama folders with linear scaling or a separate head size equal transformers") {
  for (const std::string name : {"rope_linear", "head_dim"}) {
    CAPTURE(name);
    const std::string path = attn::test::in_repository("tests/data/llama_variants/" + name);
    const json expected = json::parse(read_text(path + "/expected.json"));
    std::string ids;
    for (const json& id : expected["ids"]) ids += (ids.empty() ? "" : ",") + std::to_string(id.get<int>());
    const Result result = run_attn({"score", path, "--ids", ids, "--json"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    const json tokens = json::parse(result.out)["results"][0]["tokens"];
    REQUIRE(tokens.size() == expected["ids"].size());
    for (std::size_t i = 1; i < tokens.size(); ++i)
      CHECK(std::abs(tokens[i]["log_prob"].get<double>() - expected["logprobs"][i - 1].get<double>()) < 1e-4);
    // The same for a folder that attn wrote.
    const TemporaryFolder folder;
    REQUIRE(run_attn({"convert", path, "-o", folder / "new", "--to", "hf"}).code == 0);
    CHECK(json::parse(run_attn({"score", folder / "new", "--ids", ids, "--json"}).out)["results"] ==
          json::parse(result.out)["results"]);
  }
}

TEST_CASE("convert --to hf: a symlink that leaves a folder is rejected, for every file") {
  for (const std::string name : {"chat_template.jinja", "tokenizer_config.json", "special_tokens_map.json",
                                 "config.json", "model.safetensors", "generation_config.json"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    std::filesystem::copy(model("gpt2/hf"), folder / "model", std::filesystem::copy_options::recursive);
    const std::string secret = folder.file("secret", "{\"secret\": true}");
    std::filesystem::remove(folder / "model/" + name);
    std::filesystem::create_symlink(secret, folder / "model/" + name);
    const Result result = run_attn({"convert", folder / "model", "-o", folder / "new", "--to", "hf"});
    CHECK(result.code == 3);
    CHECK(contains(result.err, name + ": a symbolic link, which is not followed here"));
    CHECK(folder.names() == std::vector<std::string>{"model", "secret"});
  }
}

TEST_CASE("preset: a symlink in place of weights is not followed out of the folder") {
  for (const std::string name : {"model.weights.h5", "task.weights.h5"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    std::filesystem::copy(model("bert_classifier/preset"), folder / "model", std::filesystem::copy_options::recursive);
    std::filesystem::rename(folder / "model/" + name, folder / "outside.h5");
    std::filesystem::create_symlink(folder / "outside.h5", folder / "model/" + name);
    const Result result = run_attn({"convert", folder / "model", "-o", folder / "new.npz"});
    CHECK(result.code == 3);
    CHECK(contains(result.err, name + ": a symbolic link, which is not followed here"));
  }
}

TEST_CASE("folders: a snapshot of Hugging Face's cache is read and copied through its symlinks, also for shards") {
  const TemporaryFolder folder;
  const std::string cache = folder / "models--a", snapshot = cache + "/snapshots/1";
  REQUIRE(
      run_attn({"convert", model("gpt2/hf"), "-o", folder / "whole", "--to", "hf", "--max-shard-size", "100KB"}).code ==
      0);
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(cache + "/blobs");
  int number = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "whole")) {
    const std::string blob = std::to_string(number++);
    std::filesystem::rename(entry.path(), cache + "/blobs/" + blob);
    std::filesystem::create_symlink("../../blobs/" + blob, snapshot + "/" + entry.path().filename().string());
  }
  CHECK(run_attn({"weights", snapshot, "--expect", model("gpt2/hf")}).code == 0);
  CHECK(ids_of(snapshot) == ids_of(model("gpt2/hf")));
  CHECK(run_attn({"convert", snapshot, "-o", folder / "copy", "--to", "hf"}).code == 0);
  CHECK(ids_of(folder / "copy") == ids_of(model("gpt2/hf")));
}

TEST_CASE("folders: a pipe in place of any file is rejected without waiting for a writer") {
  const TemporaryFolder folder;
  REQUIRE(
      run_attn({"convert", model("gpt2/hf"), "-o", folder / "whole", "--to", "hf", "--max-shard-size", "100KB"}).code ==
      0);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "whole")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    std::filesystem::copy(folder / "whole", folder / "odd");
    std::filesystem::remove(folder / "odd/" + name);
    REQUIRE(::mkfifo((folder / "odd/" + name).c_str(), 0600) == 0);
    const bool of_model = name == "config.json" || name.find(".safetensors") != std::string::npos;
    for (const std::vector<std::string>& words :
         of_model
             ? std::vector<std::vector<std::string>>{{"weights", folder / "odd"},
                                                     {"run", folder / "odd"},
                                                     {"summary", folder / "odd"},
                                                     {"convert", folder / "odd", "-o", folder / "new", "--to", "hf"}}
             : std::vector<std::vector<std::string>>{{"convert", folder / "odd", "-o", folder / "new", "--to", "hf"}}) {
      CAPTURE(words[0]);
      const Result result = run_attn(words);
      const bool needs_weights = words[0] != "summary" || name == "config.json";
      if (needs_weights) {
        CHECK(result.code == 3);
        CHECK(contains(result.err, "a pipe or a device, not a file"));
      }
    }
    std::filesystem::remove_all(folder / "odd");
  }
}

TEST_CASE("convert: an OUT without an extension is an error that asks for the kind of folder") {
  const TemporaryFolder folder;
  const Result asked = run_attn({"convert", model("gpt2/preset"), folder / "out"});
  CHECK(asked.code == 2);
  CHECK(asked.err.find("add --to preset, --to hf or --to keras") != std::string::npos);
  CHECK(!std::filesystem::exists(std::string(folder / "out")));
}
