// attn transcribe, against tokens that transformers generates (tests/oracle/make_transcribe_cases.py).
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../places.h"
#include "../../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::in_repository;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

std::string sound_case(const std::string& name) { return in_repository("tests/data/transcribe/") + name; }

/// Copies a folder of tests/data/transcribe to `place` with a changed field of one of its JSON files.
void copy_with(const std::string& model, const std::string& place, const std::string& file, const std::string& field,
               const json& value) {
  std::filesystem::copy(sound_case(model), place, std::filesystem::copy_options::recursive);
  const std::string path = place + "/" + file;
  json changed = json::parse(read_text(path));
  changed[field] = value;
  std::ofstream(path) << changed.dump();
}

/// Returns the token ids of all segments.
std::vector<int> tokens_of(const json& result) {
  std::vector<int> out;
  for (const auto& segment : result["segments"])
    for (const int id : segment["token_ids"].get<std::vector<int>>()) out.push_back(id);
  return out;
}

}  // namespace

TEST_CASE("transcribe: tokens equal those of transformers, greedily and with beams, with and without timestamps") {
  const json runs = json::parse(read_text(sound_case("expected.json")));
  REQUIRE(runs.size() >= 7);
  for (const json& expected : runs) {
    const auto model = expected["model"].get<std::string>();
    std::vector<std::string> words = {"transcribe", sound_case(model), sound_case(expected["sound"].get<std::string>()),
                                      "--json"};
    for (const auto& word : expected["options"]) words.push_back(word.get<std::string>());
    CAPTURE(expected["options"].dump());
    const Result result = run_attn(words);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    const json report = json::parse(result.out);
    std::vector<int> got = tokens_of(report["results"][0]);
    const auto tokens = expected["tokens"].get<std::vector<int>>();
    if (!expected["whole"].get<bool>() && got.size() > tokens.size()) got.resize(tokens.size());
    CHECK(got == tokens);
    if (!expected.contains("words")) continue;
    std::size_t count = 0;
    for (const json& segment : report["results"][0]["segments"])
      for (const json& word : segment["words"]) {
        if (count == expected["words"].size()) break;
        const json& wanted = expected["words"][count++];
        CHECK(word["text"] == wanted[0]);
        CHECK(word["start"].get<double>() == doctest::Approx(wanted[1].get<double>()));
        CHECK(word["end"].get<double>() == doctest::Approx(wanted[2].get<double>()));
      }
    CHECK(count == expected["words"].size());
  }
}

TEST_CASE("transcribe: a long recording is read in windows, and segments do not overlap") {
  const Result result =
      run_attn({"transcribe", sound_case("whisper"), sound_case("long.wav"), "--language", "en", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json segments = json::parse(result.out)["results"][0]["segments"];
  REQUIRE(segments.size() == 3);
  CHECK(segments[1]["start"] == 2.0);
  CHECK(segments[2]["end"].get<double>() == doctest::Approx(4.4));
}

TEST_CASE("transcribe: subtitles have numbers, times and texts") {
  const TemporaryFolder folder;
  const Result result = run_attn({"transcribe", sound_case("whisper"), sound_case("speech.wav"), "--language", "en",
                                  "--srt", folder / "speech.srt"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(result.out.starts_with("[00:00:00."));
  const std::string text = read_text(folder / "speech.srt");
  if (!text.empty()) CHECK(text.starts_with("1\n00:00:0"));
}

TEST_CASE("transcribe: words have lines and subtitles of their own, in order, also without a list of heads") {
  const TemporaryFolder folder;
  copy_with("whisper", folder / "plain", "generation_config.json", "alignment_heads", nullptr);
  for (const std::string& model : {sound_case("whisper"), folder / "plain"}) {
    const Result result = run_attn(
        {"transcribe", model, sound_case("long.wav"), "--language", "en", "--words", "--srt", folder / "words.srt"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    CHECK(result.out.starts_with("[00:00:00."));
    CHECK(read_text(folder / "words.srt").starts_with("1\n00:00:0"));
    const Result page =
        run_attn({"transcribe", model, sound_case("speech.wav"), "--language", "en", "--words", "--format", "html"});
    CHECK(contains(page.out, R"("title":"Transcript")"));
    CHECK(contains(page.out, "\"Words\""));
    const Result report =
        run_attn({"transcribe", model, sound_case("long.wav"), "--language", "en", "--words", "--json"});
    const json segments = json::parse(report.out)["results"][0]["segments"];
    double last = 0;
    std::size_t count = 0;
    for (const json& segment : segments)
      for (const json& word : segment["words"]) {
        CHECK(word["start"].get<double>() <= word["end"].get<double>());
        CHECK(word["end"].get<double>() >= last);
        last = word["end"].get<double>();
        ++count;
      }
    CHECK(count > 1);
    CHECK(last <= 4.41);
  }
}

TEST_CASE("transcribe: heads that the model does not have are an error of generation_config.json") {
  const TemporaryFolder folder;
  int number = 0;
  struct Case {
    const char *value, *says;
  };
  for (const Case& one : {Case{"[[2, 0]]", "has head 0 of layer 2, but the decoder has 2 layers of 2 heads"},
                          {"[[0, 2]]", "has head 2 of layer 0"},
                          {"[[0, -1]]", "no integer from 0 to 2^30"},
                          {"[1, 2]", "must have pairs of a layer and a head"},
                          {"\"x\"", "must be a list"}}) {
    const std::string place = folder / std::to_string(number++);
    copy_with("whisper", place, "generation_config.json", "alignment_heads", json::parse(one.value));
    const Result result = run_attn({"transcribe", place, sound_case("speech.wav"), "--words"});
    CAPTURE(result.err);
    CHECK(result.code == 3);
    CHECK(contains(result.err, one.says));
  }
}

TEST_CASE("transcribe: a window with only timestamps ends at the last pair, and the next one begins there") {
  const TemporaryFolder folder;
  constexpr int kTokens = 375, kTime = 300;  // 0.52 seconds
  json suppressed = json::array();
  for (int id = 0; id < kTokens; ++id)
    if (id != kTime) suppressed.push_back(id);
  copy_with("whisper", folder / "times", "generation_config.json", "suppress_tokens", suppressed);
  const Result result = run_attn({"transcribe", folder / "times", sound_case("speech.wav"), "-n", "2", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json segments = json::parse(result.out)["results"][0]["segments"];
  REQUIRE(segments.size() == 3);
  CHECK(segments[0]["start"].get<double>() == doctest::Approx(0.52));
  CHECK(segments[0]["token_ids"] == json({kTime, kTime}));
  CHECK(segments[1]["start"].get<double>() == doctest::Approx(1.04));
}

TEST_CASE("transcribe: the largest --max-new-tokens changes nothing") {
  for (const char* model : {"whisper", "moonshine"}) {
    const std::vector<std::string> words = {"transcribe", sound_case(model), sound_case("speech.wav"), "--json"};
    std::vector<std::string> limited = words;
    limited.insert(limited.end(), {"--max-new-tokens", "9223372036854775807"});
    const Result result = run_attn(words);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    CHECK(run_attn(limited).out == result.out);
  }
}

TEST_CASE("transcribe: a 'max_length' that the prompt fills is an error of generation_config.json") {
  const TemporaryFolder folder;
  const auto run_with = [&](const char* model, const json& value) {
    const std::string place = folder / (model + value.dump());
    copy_with(model, place, "generation_config.json", "max_length", value);
    return run_attn({"transcribe", place, sound_case("speech.wav")});
  };
  for (const json& value : {json(-1), json(0), json(1), json(4), json("5"), json(5.5)}) {
    const Result result = run_with("whisper", value);
    CAPTURE(value.dump());
    CHECK(result.code == 3);
    CHECK(contains(result.err, "generation_config.json: 'max_length' must be an integer > 4"));
  }
  CHECK(contains(run_with("moonshine", 1).err, "generation_config.json: 'max_length' must be an integer > 1"));
  copy_with("whisper", folder / "positions", "config.json", "max_target_positions", 4);
  const Result positions = run_attn({"transcribe", folder / "positions", sound_case("speech.wav")});
  CHECK(positions.code == 3);
  CHECK(contains(positions.err, "config.json: the model reads at most 4 tokens, but its prompt has 4; expected more"));
  CHECK(run_with("whisper", 5).code == 0);
  CHECK(run_with("whisper", std::int64_t{9223372036854775807}).code == 0);
}

TEST_CASE("transcribe: an error names its file, and follows the transcripts of the files before it") {
  const TemporaryFolder folder;
  const std::string speech = sound_case("speech.wav"), brief = in_repository("tests/data/audio/pcm_16.wav");
  const Result whole = run_attn({"transcribe", sound_case("moonshine"), speech, "--json"});
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  const Result result = run_attn({"transcribe", sound_case("moonshine"), speech, brief, speech, "--json"});
  CHECK(result.code == 3);
  CHECK(contains(result.err, brief + ": the sound has"));
  CHECK(result.out == whole.out);
  const Result written = run_attn(
      {"transcribe", sound_case("moonshine"), speech, folder / "absent.wav", "--json", "-o", folder / "result.json"});
  CHECK(written.code == 3);
  CHECK(contains(written.err, "absent.wav"));
  CHECK(read_text(folder / "result.json") == whole.out);
  const Result first = run_attn({"transcribe", sound_case("moonshine"), brief, speech});
  CHECK(first.code == 3);
  CHECK(first.out.empty());
}

TEST_CASE("transcribe: wrong models, sounds and options are errors with a way out") {
  const TemporaryFolder folder;
  std::filesystem::copy(sound_case("whisper"), folder / "deaf", std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder / "deaf/preprocessor_config.json");
  const auto other_converter = [&](const std::string& key, int value) {
    std::string place = folder / (key + std::to_string(value));
    copy_with("whisper", place, "preprocessor_config.json", key, value);
    return place;
  };
  const std::string gpt2 = in_repository("tests/data/generation/gpt2/preset");
  const std::string speech = sound_case("speech.wav"), broken = in_repository("tests/data/audio/refused/");
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{gpt2, speech}, 3, "a GPT2CausalLM does not transcribe; expected a WhisperBackbone or a MoonshineAudioToText"},
      {{folder / "deaf", speech}, 3, "the model has no converter of sound"},
      {{other_converter("feature_size", 7), speech},
       3,
       "the converter makes 7 features of each frame, but the model reads 8"},
      {{other_converter("hop_length", 1), speech}, 3, "positions, but the layer has"},
      {{other_converter("hop_length", 100000), speech}, 3, "are more than the"},
      {{other_converter("n_fft", 100000), speech},
       3,
       "preprocessor_config.json: 'n_fft' must be an integer from 2 to 65536"},
      {{other_converter("chunk_length", 0), speech}, 3, "'chunk_length' must be an integer from 1 to 3600"},
      {{sound_case("whisper"), broken + "cut.wav"}, 3, "a WAV file that is cut"},
      {{sound_case("whisper"), broken + "x.mp3"}, 3, "an MP3 file; convert it to WAV or FLAC"},
      {{sound_case("whisper"), speech, "--language", "Klingon"}, 2, "--language 'Klingon' is not one of the model's"},
      {{sound_case("whisper"), speech, "--task", "sing"}, 2, "--task"},
      {{sound_case("whisper"), speech, "--num-beams", "0"}, 2, "--num-beams"},
      {{sound_case("whisper"), speech, speech, "--srt", folder / "x.srt"}, 2, "--srt requires a single FILE"},
      {{sound_case("moonshine"), speech, "--language", "en"}, 2, "a Moonshine model has no languages"},
      {{sound_case("moonshine"), speech, "--words"}, 2, "times of words"},
      {{sound_case("moonshine"), in_repository("tests/data/audio/pcm_16.wav")}, 3, "a Moonshine model needs 0.1"},
      {{sound_case("whisper"), speech, "--mem-limit", "1"}, 4, "--mem-limit"},
  };
  const Result generated = run_attn({"generate", sound_case("whisper"), "--ids", "1,2"});
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
