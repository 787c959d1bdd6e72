// attn transcribe, against tokens that transformers generates (tests/oracle/make_transcribe_cases.py).
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::in_repository;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

std::string data(const std::string& name) { return in_repository("tests/data/transcribe/") + name; }

/// Returns the token ids of all segments.
std::vector<int> tokens_of(const json& result) {
  std::vector<int> out;
  for (const auto& segment : result["segments"])
    for (const int id : segment["token_ids"].get<std::vector<int>>()) out.push_back(id);
  return out;
}

}  // namespace

TEST_CASE("transcribe: tokens equal those of transformers, greedily and with beams, with and without timestamps") {
  const json runs = json::parse(read_text(data("expected.json")));
  REQUIRE(runs.size() >= 7);
  for (const json& expected : runs) {
    const auto model = expected["model"].get<std::string>();
    std::vector<std::string> words = {"transcribe", data(model), data(expected["sound"].get<std::string>()), "--json"};
    for (const auto& word : expected["options"]) words.push_back(word.get<std::string>());
    CAPTURE(expected["options"].dump());
    const Result result = run_attn(words);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    const json report = json::parse(result.out);
    std::vector<int> got = tokens_of(report["results"][0]);
    const auto tokens = expected["tokens"].get<std::vector<int>>();
    if (!expected["whole"].get<bool>() && got.size() > tokens.size()) got.resize(tokens.size());
    CHECK(got == tokens);
  }
}

TEST_CASE("transcribe: a long recording is read in windows, and segments do not overlap") {
  const Result result = run_attn({"transcribe", data("whisper"), data("long.wav"), "--language", "en", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json segments = json::parse(result.out)["results"][0]["segments"];
  REQUIRE(segments.size() == 3);
  CHECK(segments[1]["start"] == 2.0);
  CHECK(segments[2]["end"].get<double>() == doctest::Approx(4.4));
}

TEST_CASE("transcribe: subtitles have numbers, times and texts") {
  const TemporaryFolder folder;
  const Result result =
      run_attn({"transcribe", data("whisper"), data("speech.wav"), "--language", "en", "--srt", folder / "speech.srt"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(result.out.starts_with("[00:00:00."));
  const std::string text = read_text(folder / "speech.srt");
  if (!text.empty()) CHECK(text.starts_with("1\n00:00:0"));
}

TEST_CASE("transcribe: wrong models, sounds and options are errors with a way out") {
  const TemporaryFolder folder;
  std::filesystem::copy(data("whisper"), folder / "deaf", std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder / "deaf/preprocessor_config.json");
  const std::string gpt2 = in_repository("tests/data/generation/gpt2/preset");
  const std::string speech = data("speech.wav"), broken = in_repository("tests/data/audio/refused/");
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{gpt2, speech}, 3, "a GPT2CausalLM does not transcribe; expected a WhisperBackbone or a MoonshineAudioToText"},
      {{folder / "deaf", speech}, 3, "the model has no converter of sound"},
      {{data("whisper"), broken + "cut.wav"}, 3, "a WAV file that is cut"},
      {{data("whisper"), broken + "x.mp3"}, 3, "an MP3 file; convert it to WAV or FLAC"},
      {{data("whisper"), speech, "--language", "Klingon"}, 2, "--language 'Klingon' is not one of the model's"},
      {{data("whisper"), speech, "--task", "sing"}, 2, "--task"},
      {{data("whisper"), speech, "--num-beams", "0"}, 2, "--num-beams"},
      {{data("whisper"), speech, speech, "--srt", folder / "x.srt"}, 2, "--srt requires a single FILE"},
      {{data("moonshine"), speech, "--language", "en"}, 2, "a Moonshine model has no languages"},
      {{data("moonshine"), in_repository("tests/data/audio/pcm_16.wav")}, 3, "a Moonshine model needs 0.1"},
      {{data("whisper"), speech, "--mem-limit", "1"}, 4, "--mem-limit"},
  };
  const Result generated = run_attn({"generate", data("whisper"), "--ids", "1,2"});
  CHECK(generated.code == 3);
  CHECK(
      contains(generated.err, "a WhisperBackbone reads sound, so it cannot continue tokens; attn transcribe runs it"));
  for (const Case& one : cases) {
    std::vector<std::string> words = one.words;
    words.insert(words.begin(), "transcribe");
    const Result result = run_attn(words);
    CAPTURE(result.err);
    CHECK(result.code == one.code);
    CHECK(contains(result.err, one.says));
  }
}
