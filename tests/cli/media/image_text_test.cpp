// Models of images and texts as a user runs them, compared with KerasHub (tests/oracle/make_image_text_cases.py).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../places.h"
#include "../../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::in_repository;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

const std::string kCases = "tests/data/image_text/", kPictures = "tests/data/images/", kSounds = kCases + "sounds/";

json expected_of(const std::string& name) {
  std::ifstream file(in_repository(kCases + name + "/expected.json"));
  return json::parse(file);
}

/// Returns the arguments for files in a folder.
std::vector<std::string> given(const std::string& option, const std::string& folder, const json& files) {
  std::vector<std::string> out;
  for (const json& file : files) {
    out.push_back(option);
    out.push_back(folder + file.get<std::string>());
  }
  return out;
}
std::vector<std::string> shown(const json& images) { return given("--image", kPictures, images); }

/// Returns a WAV file of `count` samples of 16 bits.
std::string wav_of_zeros(unsigned rate, unsigned count) {
  const auto bytes_of = [](std::uint32_t value, int size) {
    std::string out;
    for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
    return out;
  };
  const std::string format =
      bytes_of(1, 2) + bytes_of(1, 2) + bytes_of(rate, 4) + bytes_of(2 * rate, 4) + bytes_of(2, 2) + bytes_of(16, 2);
  return "RIFF" + bytes_of(36 + 2 * count, 4) + "WAVEfmt " + bytes_of(16, 4) + format + "data" +
         bytes_of(2 * count, 4) + std::string(2 * count, '\0');
}

std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("summary: tasks of images and sounds show KerasHub's converters and inputs") {
  for (const std::string name : {"gemma3n_audio", "gemma4_audio"}) {
    CAPTURE(name);
    const std::string folder = in_repository(kCases + name);
    const Result result = run_attn({"summary", folder + "/preset", "--line-length", "100", "--quiet"});
    CHECK(result.out == attn::test::read_text(folder + "/summary.txt"));
  }
}

TEST_CASE("labels: probabilities of texts for images equal KerasHub's") {
  const TemporaryFolder folder;
  for (const std::string name : {"clip", "clip_end_padded", "metaclip_2", "siglip"}) {
    CAPTURE(name);
    const json expected = expected_of(name);
    const std::string labels = folder.file(name + ".json", expected["texts"].dump());
    const Result run =
        run_attn(joined({"run", kCases + name + "/preset", "--texts", labels, "--json"}, shown(expected["images"])));
    CAPTURE(run.err);
    REQUIRE(run.code == 0);
    const json got = json::parse(run.out)["labels"];
    CHECK(got["activation"] == expected["activation"]);
    CHECK(got["texts"] == expected["texts"]);
    REQUIRE(got["images"].size() == expected["images"].size());
    for (std::size_t i = 0; i < got["images"].size(); ++i) {
      CHECK(contains(got["images"][i]["image"].get<std::string>(), expected["images"][i].get<std::string>()));
      const json& row = got["images"][i]["probabilities"];
      REQUIRE(row.size() == expected["texts"].size());
      for (std::size_t text = 0; text < row.size(); ++text)
        CHECK(std::abs(row[text].get<double>() - expected["probabilities"][i][text].get<double>()) <= 1e-5);
    }
  }
}

TEST_CASE("labels: the table has the most probable text first, and --text takes a single label") {
  const Result run = run_attn(
      {"run", kCases + "clip/preset", "--image", kPictures + "wide.png", "--text", "a cat", "--text", "12 dogs"});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "Probability"));
  CHECK(contains(run.out, "wide.png"));
}

TEST_CASE("labels: models that do not compare images with texts, and texts without images, are rejected") {
  const auto refused = [](const std::vector<std::string>& words, int code, const std::string& part) {
    CAPTURE(words.back());
    const Result run = run_attn(words);
    CHECK(run.code == code);
    CAPTURE(run.err);
    CHECK(contains(run.err, part));
  };
  refused({"run", "tests/data/images/classifier.keras", "--image", kPictures + "wide.png", "--text", "a"}, 3,
          "--texts requires a model that compares images with texts");
  refused({"run", kCases + "clip/preset", "--text", "a"}, 2, "--texts needs images to compare with: give --image");
  refused({"run", kCases + "clip/preset", "--image", kPictures + "wide.png", "--text", "a", "--output-dir", "x"}, 2,
          "cannot be combined with --output-dir");
}

TEST_CASE("generate: prompts with images and sounds give KerasHub's tokens and texts") {
  for (const std::string name : {"pali_gemma", "gemma3", "gemma3n", "gemma3n_audio", "gemma4", "gemma4_audio", "blip2",
                                 "blip2_flan_t5", "qwen3_5", "qwen3_5_moe"}) {
    CAPTURE(name);
    const json expected = expected_of(name);
    for (const json& run : expected["runs"]) {
      CAPTURE(run["prompts"].dump());
      std::vector<std::string> words = {
          "generate", kCases + name + "/preset", "--json", "--stop-ids", "none", "--sampler", "greedy", "--max-length",
          "40"};
      for (const json& prompt : run["prompts"]) words = joined(words, {"--prompt", prompt.get<std::string>()});
      const std::vector<std::string> sounds = given("--audio", kSounds, run.value("audio", json::array()));
      const Result result = run_attn(joined(joined(words, shown(run["images"])), sounds));
      CAPTURE(result.err);
      REQUIRE(result.code == 0);
      const json got = json::parse(result.out)["results"];
      REQUIRE(got.size() == run["token_ids"].size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i]["token_ids"] == run["token_ids"][i]);
        CHECK(got[i]["text"] == run["texts"][i]);
      }
    }
  }
}

TEST_CASE("generate: beams share an image and give the tokens of a separate search") {
  const std::vector<std::string> words = {"generate", kCases + "pali_gemma/preset",
                                          "--json",   "--stop-ids",
                                          "none",     "--sampler",
                                          "beam",     "--num-beams",
                                          "3",        "--max-length",
                                          "20"};
  const Result one = run_attn(joined(words, {"--prompt", "a photo", "--image", kPictures + "wide.png"}));
  const Result two = run_attn(joined(words, {"--prompt", "a photo", "--prompt", "a photo", "--image",
                                             kPictures + "wide.png", "--image", kPictures + "gray.jpg"}));
  CAPTURE(one.err);
  CAPTURE(two.err);
  REQUIRE(one.code == 0);
  REQUIRE(two.code == 0);
  CHECK(json::parse(one.out)["results"][0]["token_ids"] == json::parse(two.out)["results"][0]["token_ids"]);
}

TEST_CASE("generate: beams of whole sequences see the images of their prompt") {
  const std::string prompt = "<|vision_start|><|image_pad|><|vision_end|>what";
  const std::vector<std::string> words = {"generate", kCases + "qwen3_5/preset",
                                          "--json",   "--stop-ids",
                                          "none",     "--sampler",
                                          "beam",     "--num-beams",
                                          "3",        "--max-length",
                                          "40"};
  const std::vector<std::string> wide = {"--prompt", prompt, "--image", kPictures + "wide.png"},
                                 gray = {"--prompt", prompt + "s", "--image",
                                         kPictures + "gray.jpg"};  // both prompts have 11 tokens
  const Result one = run_attn(joined(words, wide)), other = run_attn(joined(words, gray)),
               both = run_attn(joined(joined(words, wide), gray));
  CAPTURE(both.err);
  REQUIRE(one.code == 0);
  REQUIRE(other.code == 0);
  REQUIRE(both.code == 0);
  const json all = json::parse(both.out)["results"];
  CHECK(all[0]["token_ids"] == json::parse(one.out)["results"][0]["token_ids"]);
  CHECK(all[1]["token_ids"] == json::parse(other.out)["results"][0]["token_ids"]);
}

TEST_CASE("generate: a draft keeps the tokens of a prompt with an image") {
  const std::string model = kCases + "qwen3_5/preset";
  const std::vector<std::string> words = {"generate",
                                          model,
                                          "--json",
                                          "--sampler",
                                          "greedy",
                                          "--prompt",
                                          "<|vision_start|><|image_pad|><|vision_end|>what",
                                          "--image",
                                          kPictures + "wide.png"};
  const Result plain = run_attn(words);
  CAPTURE(plain.err);
  REQUIRE(plain.code == 0);
  for (const std::string& draft : {model, std::string("prompt-lookup")}) {
    const Result drafted = run_attn(joined(words, {"--draft", draft}));
    CAPTURE(drafted.err);
    REQUIRE(drafted.code == 0);
    CHECK(json::parse(drafted.out)["results"][0]["token_ids"] == json::parse(plain.out)["results"][0]["token_ids"]);
  }
}

TEST_CASE("generate: images that do not match the prompts are rejected") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& part) {
    const Result run = run_attn(joined({"generate"}, words));
    CAPTURE(part);
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(contains(run.err, part));
  };
  const std::string pali = kCases + "pali_gemma/preset", gemma = kCases + "gemma3/preset",
                    image = kPictures + "wide.png";
  refused({pali, "--prompt", "a"}, "begin with an image: give --image");
  refused({pali, "--prompt", "a", "--prompt", "a", "--prompt", "a", "--image", image, "--image", image},
          "2 images were given for 3 prompts");
  refused({pali, "--prompt", "a", "--prompt", "a photo of a cat", "--image", image}, "must have one length");
  refused({pali, "--prompt", "a", "--image", image, "--sampler", "contrastive"}, "--sampler contrastive");
  refused({gemma, "--prompt", "a", "--image", image}, "the prompts have 0 marks <start_of_image>");
  const std::string qwen = kCases + "qwen3_5/preset", mark = "<|image_pad|>";
  refused({qwen, "--prompt", "a", "--image", image}, "the prompts have 0 marks <|image_pad|>");
  refused({qwen, "--prompt", mark, "--image", image, "--sampler", "contrastive"}, "--sampler contrastive");
  refused({qwen, "--prompt", mark, "--image", image, "--cache-dtype", "bfloat16"}, "--cache-dtype cannot be combined");
  refused({qwen, "--prompt", mark, "--image", image, "--steer", "x.npy"}, "--steer cannot be combined with --image");
  refused({qwen, "--prompt", mark + "a"}, "0 images were given, and the prompts have 1 marks");
  refused({qwen, "--prompt", mark + mark, "--image", image}, "1 images were given, and the prompts have 2 marks");
  refused({qwen, "--prompt", mark + "a", "--image", image, "--max-length", "4"},
          "prompt 1 has 4 of the 5 tokens of an image");
  refused({qwen, "--ids", "1,2", "--image", image},
          "--image needs prompts of text, in which <|image_pad|> stands for an image");
  refused({kCases + "gemma4/preset", "--prompt", "<|image|>"}, "0 images were given, and the prompts have 1 marks");
  refused({kCases + "gemma4/preset", "--prompt", "<|image|>", "--max-length", "5", "--image", image},
          "prompt 1 has 2 of the 6 tokens of an image: give a larger --max-length");
  refused({"tests/data/generation/gpt2/preset", "--prompt", "a", "--image", image},
          "--image was given, but a GPT2CausalLM reads no images");
}

TEST_CASE("generate: images whose patches the model cannot place are rejected before the run") {
  const std::string model = kCases + "gemma4/preset", prompt = "a <|image|> b";
  for (const auto& [name, size] : {std::pair("long", "236 columns and 2 rows"), {"narrow", "2 columns and 236 rows"}}) {
    const std::string image = kPictures + "large/" + name + ".png";
    const Result run = run_attn({"generate", model, "--prompt", prompt, "--image", image});
    CAPTURE(run.err);
    CHECK(run.code == 3);
    CHECK(contains(run.err, image + ": the model's converter cuts the image into "));
    CHECK(contains(run.err, size));
    CHECK(contains(run.err, "but the model has positions for 12 of each: crop the image"));
  }
}

TEST_CASE("generate: a converter of another model is rejected") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& prompt, const std::string& field,
                           const json& value, const std::string& part) {
    CAPTURE(name);
    CAPTURE(field);
    const std::filesystem::path copy = folder / "preset";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(in_repository(kCases + name + "/preset"), copy, std::filesystem::copy_options::recursive);
    std::ifstream file(copy / "task.json");
    json task = json::parse(file);
    task["config"]["preprocessor"]["config"]["image_converter"]["config"][field] = value;
    std::ofstream(copy / "task.json") << task.dump();
    const Result run =
        run_attn({"generate", copy, "--prompt", prompt, "--image", kPictures + "wide.png", "--max-length", "200"});
    CAPTURE(run.err);
    CHECK(run.code == 3);
    CHECK(contains(run.err, part));
  };
  const std::string gemma = "a <|image|> b", qwen = "<|vision_start|><|image_pad|><|vision_end|>what is";
  refused("gemma4", gemma, "patch_size", 8, "wide.png: the model's converter gives");
  refused(
      "gemma4", gemma, "max_soft_tokens", 4,
      "wide.png: the model's converter gives 16 patches, of which 4 become one position, but the preprocessor has 6");
  refused("qwen3_5", qwen, "patch_size", 8, "wide.png: the model's converter gives");
  refused("qwen3_5", qwen, "temporal_patch_size", 4, "wide.png: the model's converter gives");
}

TEST_CASE("generate: sounds that do not match the prompts or the model are rejected") {
  const auto refused = [](const std::vector<std::string>& words, int code, const std::string& part) {
    const Result run = run_attn(joined({"generate"}, words));
    CAPTURE(part);
    CAPTURE(run.err);
    CHECK(run.code == code);
    CHECK(contains(run.err, part));
  };
  const std::string gemma3n = kCases + "gemma3n_audio/preset", gemma4 = kCases + "gemma4_audio/preset",
                    sound = kSounds + "short.wav", mark = "<|audio|>";
  refused({gemma4, "--prompt", "a", "--audio", sound}, 2,
          "1 sounds were given, and the prompts have 0 marks <|audio|>");
  refused({gemma4, "--prompt", mark}, 2, "0 sounds were given, and the prompts have 1 marks");
  refused({gemma4, "--prompt", mark, "--audio", kSounds + "long.wav", "--max-length", "6"}, 2,
          "prompt 1 has 3 of the 5 tokens of a sound: give a larger --max-length");
  refused({gemma4, "--ids", "1,2", "--audio", sound}, 2, "--audio needs prompts of text");
  refused({gemma3n, "--prompt", "<start_of_audio>", "--max-length", "9"}, 2, "0 sounds were given");
  refused({gemma3n, "--prompt", "<start_of_audio>", "--prompt", "a", "--audio", sound}, 2, "must have one length");
  refused({kCases + "gemma3/preset", "--prompt", "a", "--audio", sound}, 2,
          "--audio was given, but a Gemma3CausalLM reads no sounds");
  refused({"tests/data/generation/gpt2/preset", "--prompt", "a", "--audio", sound}, 2, "reads no sounds");
  refused({gemma4, "--prompt", mark, "--audio", kPictures + "wide.png"}, 3, "wide.png");
  refused({gemma4, "--prompt", mark, "--audio", "tests/data/audio/pcm_16.wav"}, 3,
          "s, and the model needs at least 0.0100 s: give a longer one");
  const TemporaryFolder folder;
  const std::string long_sound = folder.file("long.wav", wav_of_zeros(4000, 4100));
  refused({gemma4, "--prompt", mark, "--audio", long_sound}, 3,
          "the sound has 1.02 s, and the model reads at most 1.00 s: cut it");
}
