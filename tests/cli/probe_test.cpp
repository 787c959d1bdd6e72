// attn probe as a user runs it.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../places.h"
#include "program.h"

using namespace attn::test;
using nlohmann::json;

namespace {

const std::string kGpt2 = preset("gpt2");
const std::string kBert = preset("bert_classifier");

json probed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "probe");
  arguments.emplace_back("--json");
  const Result result = run_attn(arguments);
  REQUIRE_MESSAGE(result.code == 0, result.err);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("probe: --list shows the points of a model, with the same names for every family") {
  const Result result = run_attn({"probe", kGpt2, "--list"});
  CHECK(result.code == 0);
  for (const char* name : {"embed", "resid_pre.0", "pattern.1", "z.0", "mlp_out.1", "final_norm", "logits"})
    CHECK_MESSAGE(result.out.find(name) != std::string::npos, name);
  CHECK(result.out.find("(B, T, 4, 8)") != std::string::npos);
  const json bert = probed({"capture", kBert, "--list"});
  CHECK(bert["points"].size() == 24);
}

TEST_CASE("probe: every operation writes JSON, CSV and text, and a picture if it has a grid") {
  TemporaryFolder folder;
  const std::string positive = folder.file("positive.txt", "#5,6,7\n"),
                    negative = folder.file("negative.txt", "#8,9\n");
  const std::vector<std::vector<std::string>> all = {
      {"lens", kGpt2, "--ids", "5,6,7"},    {"dla", kGpt2, "--ids", "5,6,7"},
      {"ablate", kGpt2, "--ids", "5,6,7"},  {"patch", kGpt2, "--clean", "#5,6,7", "--corrupt", "#5,9,7"},
      {"rollout", kGpt2, "--ids", "5,6,7"}, {"saliency", kGpt2, "--ids", "5,6,7"},
      {"heads", kGpt2, "--length", "6"},    {"outliers", kGpt2, "--ids", "5,6,7"},
      {"scan", kGpt2, "--ids", "5,6,7"}};
  for (const std::vector<std::string>& arguments : all) {
    CAPTURE(arguments.front());
    const json result = probed(arguments);
    CHECK(result["schema"] == "attn.probe-" + arguments.front() + "/1");
    for (const char* format : {"table", "csv"}) {
      std::vector<std::string> with = {"probe"};
      with.insert(with.end(), arguments.begin(), arguments.end());
      with.insert(with.end(), {"--format", format});
      const Result text = run_attn(with);
      CHECK(text.code == 0);
      CHECK(text.out.size() > 40);
    }
    if (arguments.front() == "outliers") continue;
    std::vector<std::string> drawn = {"probe"};
    drawn.insert(drawn.end(), arguments.begin(), arguments.end());
    drawn.insert(drawn.end(), {"-o", folder / "grid.svg"});
    CHECK(run_attn(drawn).code == 0);
    CHECK(read_text(folder / "grid.svg").starts_with("<svg"));
  }
  const Result steered = run_attn({"probe", "steer", kGpt2, "--positive", positive, "--negative", negative, "--layer",
                                   "0", "-o", folder / "v.npz"});
  CHECK(steered.code == 0);
  const Result captured = run_attn(
      {"probe", "capture", kGpt2, "--ids", "5,6,7", "--points", "z,resid_post.0", "-o", folder / "a.safetensors"});
  CHECK(captured.code == 0);
  CHECK(probed({"compare", kGpt2, kGpt2, "--ids", "5,6,7"})["points"][0]["max_abs"] == 0);
}

TEST_CASE("probe: a picture that an operation lacks is rejected before arrays are written") {
  const TemporaryFolder folder;
  const std::string prompts = folder.file("prompts.txt", "#5,6,7\n"), out = folder / "v.npz";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"steer", kGpt2, "--positive", prompts, "--negative", prompts, "--format", "svg"},
           {"capture", kGpt2, "--ids", "5,6", "--format", "html"}}) {
    std::vector<std::string> words = {"probe"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"-o", out});
    const Result result = run_attn(words);
    CHECK(result.code == 2);
    CHECK(result.err.find("has no picture") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(out));
  }
}

TEST_CASE("probe: the embeddings of an encoder, which belong to no layer, can be patched") {
  const json result = probed({"patch", preset("bart"), "--clean", "a", "--corrupt", "b", "--points", "encoder.embed"});
  CHECK(result["results"][0]["layer"] == 0);
}

TEST_CASE("generate: a steering vector with too many layers or of a wrong size is rejected with its place") {
  const TemporaryFolder folder;
  const std::string prompts = folder.file("prompts.txt", "#5,6,7\n"), vector = folder / "v.npz";
  REQUIRE(
      run_attn({"probe", "steer", preset("llama3"), "--positive", prompts, "--negative", prompts, "-o", vector}).code ==
      0);
  const Result wide = run_attn({"generate", kGpt2, "--ids", "5", "--steer", vector, "--steer-layer", "0:2147483647"});
  CHECK(wide.code == 2);
  CHECK(wide.err.find("--steer-layer 0:2147483647: at most 1000 layers") != std::string::npos);
  const Result other = run_attn({"score", preset("bloom"), "--ids", "5,6", "--steer", vector});
  CHECK(other.code == 3);
  CHECK(other.err.find("v.npz: the steering vector has ") != std::string::npos);
}

TEST_CASE("probe: a wrong point, head or token is an error that lists the valid ones") {
  const auto fails = [](std::vector<std::string> arguments, int code, const std::string& part) {
    arguments.insert(arguments.begin(), "probe");
    const Result result = run_attn(arguments);
    CAPTURE(part);
    CHECK_MESSAGE(result.code == code, result.err);
    CHECK_MESSAGE(result.err.find(part) != std::string::npos, result.err);
    CHECK(result.err.find('\n') == result.err.size() - 1);
  };
  fails({"lense", kGpt2}, 2, "did you mean 'lens'?");
  fails({"lens"}, 2, "needs a model");
  fails({"lens", kGpt2, "--ids", "5,6", "--fuse", "max"}, 2, "--fuse has no effect on lens; it belongs to rollout");
  fails({"lens", kGpt2, "--ids", "5,400"}, 2, "token 400 is outside the model's vocabulary of 400");
  fails({"dla", kGpt2, "--ids", "5,6", "--position", "2"}, 2, "there are 2");
  fails({"dla", kBert, "--ids", "5,6"}, 3, "use ablate or patch");
  fails({"dla", kGpt2, "--ids", "5,6", "--versus", "#7"}, 2, "--versus requires --token");
  fails({"dla", kGpt2, "--ids", "5,6", "--token", "#400"}, 2, "0 to 399");
  fails({"capture", kGpt2, "--ids", "5,6", "--points", "z.7", "-o", "/tmp/never.npz"}, 2, "no point 'z.7'");
  fails({"capture", kGpt2, "--ids", "5,6"}, 2, "give -o FILE.npz");
  fails({"patch", kGpt2, "--clean", "#5,6", "--corrupt", "#5"}, 2, "2 tokens and the corrupted one 1");
  fails({"saliency", preset("llama3_int8"), "--ids", "5,6"}, 3, "its weights are quantized; use ablate or patch");
  fails({"lens", kGpt2, "--ids", "5,6", "--token", "#400"}, 2, "0 to 399");
  fails({"lens", kGpt2, "--ids", "5,6", "--token", ""}, 2, "a token is empty");
  fails({"lens", kGpt2, "--ids", "5,6", "--token", "#99999999999"}, 2, "no token has this id");
  fails({"lens", kGpt2, "--ids", "5,6", "--prompt", "a"}, 2, "either texts or --ids");
  fails({"lens", preset("t5"), "--ids", "5,6"}, 2, "requires --decoder-ids");
  fails({"ablate", kBert, "--ids", "5,6", "--token", "yes"}, 2, "are classes; give one as #0");
  fails({"ablate", kGpt2, "--ids", "5,6", "--parts", "head"}, 2, "heads, attn and mlp");
  fails({"ablate", kGpt2, "--ids", "5,6", "--with", "resample"}, 2, "--reference is missing");
  fails({"compare", kGpt2, preset("t5"), "--ids", "5,6"}, 2, "for the encoder");
  fails({"compare", kGpt2, "--ids", "5,6", "--scale", "mlp_out.0=inf"}, 2, "a finite factor");
  fails({"heads", kGpt2, "--length", "1"}, 2, "at least 2 tokens");
  fails({"rollout", kGpt2, "--ids", "5,6", "--layer", "7"}, 2, "there are 2");
  fails({"patch", kGpt2, "--clean", "#5,6", "--corrupt", "#5,7", "--ids", "5"}, 2, "from other options");
  fails({"patch", preset("gpt_neo_x"), "--clean", "#5,6", "--corrupt", "#5,7", "--points", "resid_mid"}, 2, "no point");
  fails({"patch", preset("llama3_int4"), "--clean", "#5,6", "--corrupt", "#5,7", "--approximate"}, 3, "are quantized");
  fails({"scan", "tests/data/keras/families/f_net/model.keras", "--ids", "5,6"}, 3, "found no attention");
  fails({"lens", "configs/vit_tiny.json", "--ids", "5"}, 3, "expected a model that reads only texts");
  std::string many = "1";
  for (int i = 0; i < 64; ++i) many += ",1";
  fails({"lens", kGpt2, "--ids", many}, 2, "64 positions");
}

TEST_CASE("probe: a word of several tokens is rejected with its pieces") {
  const Result result = run_attn({"probe", "dla", kGpt2, "--ids", "5,6", "--token", "unbelievable"});
  CHECK(result.code == 2);
  CHECK(result.err.find("is not one token but") != std::string::npos);
}
