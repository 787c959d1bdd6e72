// Output for programs and shells: completion scripts, manual pages, and JSON that matches its schemas.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "../places.h"
#include "../text.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "program.h"
#include "schema.h"

namespace attn::test {
namespace {

using attn::test::contains;
using attn::test::fixture;

using nlohmann::json;

bool has_program(const std::string& path) { return std::filesystem::exists(path); }

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> out;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) out.insert(line);
  return out;
}

/// The completions of bash after these words; the last word is incomplete.
std::set<std::string> bash_offers(const std::string& script, const std::vector<std::string>& words) {
  std::string line = ". \"$1\"; COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  line += ") COMP_CWORD=" + std::to_string(words.size() - 1) + "; _attn; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const Result result = run_program("/bin/bash", {"-c", line, "bash", script});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  return words_of(result.out);
}

TEST_CASE("completion: bash offers commands, options and the values of options") {
  const TemporaryFolder folder;
  const Result script = run_attn({"completion", "bash"});
  CHECK(script.code == 0);
  const std::string path = folder.file("attn.bash", script.out);
  CHECK(bash_offers(path, {"attn", "sum"}) == std::set<std::string>{"summary"});
  CHECK(bash_offers(path, {"attn", ""}).contains("get-config"));
  CHECK(bash_offers(path, {"attn", "summary", "--line"}) == std::set<std::string>{"--line-length"});
  CHECK(bash_offers(path, {"attn", "summary", "--format", "m"}) == std::set<std::string>{"markdown"});
  CHECK(bash_offers(path, {"attn", "summary", "--format", "=", "j"}) == std::set<std::string>{"json"});
  CHECK(bash_offers(path, {"attn", "summary", "--format", "="}).contains("csv"));
  CHECK(bash_offers(path, {"attn", "run", "--device", ""}) == std::set<std::string>{"cpu", "cuda", "auto"});
  CHECK(bash_offers(path, {"attn", "bench", "--dtype", "float32,b"}) == std::set<std::string>{"float32,bfloat16"});
  CHECK(bash_offers(path, {"attn", "compare", "--backend", "ref"}) == std::set<std::string>{"reference"});
  CHECK(bash_offers(path, {"attn", "run", "--seed", ""}).empty());
  CHECK(bash_offers(path, {"attn", "help", "conv"}) == std::set<std::string>{"convert"});
  CHECK(bash_offers(path, {"attn", "completion", "z"}) == std::set<std::string>{"zsh"});
  CHECK(bash_offers(path, {"attn", "summary", "conf"}).empty());  // files, which bash completes itself
  CHECK(bash_offers(path, {"attn", "nonsense", "-"}).empty());
}

TEST_CASE("completion: bash offers the layers of the given model, with any names") {
  const TemporaryFolder folder;
  const std::string path =
      folder.file("attn.bash", "PATH=" + std::filesystem::path(attn_program()).parent_path().string() + ":$PATH\n" +
                                   run_attn({"completion", "bash"}).out);
  CHECK(bash_offers(path, {"attn", "heatmap", "--layer", "multi"}) == std::set<std::string>{"multi_head_attention"});
  CHECK(bash_offers(path, {"attn", "explain", "layer_n"}) ==
        std::set<std::string>{"layer_normalization", "layer_normalization_1"});
  const std::string nested = in_repository("tests/data/keras/model/nested/model.keras");
  CHECK(bash_offers(path, {"attn", "get-config", nested, "--layer", "block/d"}).contains("block/dense"));
  const std::string hostile = folder.file("hostile.json", R"json({"class_name": "Sequential", "config": {"name": "s",
    "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
               {"class_name": "Dense", "config": {"name": "$(touch attn_pwned)", "units": 2}}]}})json");
  CHECK(bash_offers(path, {"attn", "explain", hostile, "$"}).size() == 1);
  CHECK_FALSE(std::filesystem::exists("attn_pwned"));
  CHECK(run_attn({"completion", "--layers", "missing.keras"}).code == 3);
  CHECK(run_attn({"completion"}).code == 2);
}

TEST_CASE("completion: zsh and fish accept their scripts if they are installed") {
  const TemporaryFolder folder;
  const std::string zsh = folder.file("_attn", run_attn({"completion", "zsh"}).out);
  CHECK(read_text(zsh).starts_with("#compdef attn\n"));
  if (has_program("/usr/bin/zsh")) {
    CHECK(run_program("/usr/bin/zsh", {"-n", zsh}).code == 0);
    // Prints the specification that the completion script passes to _arguments.
    const Result asked = run_program(
        "/usr/bin/zsh", {"-fc",
                         "compdef() {}; _arguments() { print -rl -- \"$@\" }; . \"$1\"; words=(attn summary x); "
                         "CURRENT=3; _attn",
                         "zsh", zsh});
    CHECK(asked.code == 0);
    CHECK(asked.err.empty());
    CHECK(contains(asked.out,
                   "--depth[levels to expand inside layers; 1 shows attention's query, key, value and output]:N: "));
    CHECK(contains(asked.out, ":(table json markdown csv)"));
    const Result loaded = run_program("/usr/bin/zsh", {"-fc",
                                                       "autoload -Uz compinit; compinit -u -d \"$2\"; . \"$1\"; "
                                                       "print ${_comps[attn]}",
                                                       "zsh", zsh, folder / "dump"});
    CHECK(loaded.out == "_attn\n");
    CHECK(loaded.err.empty());
  } else {
    MESSAGE("zsh is not installed");
  }
  const std::string fish = folder.file("attn.fish", run_attn({"completion", "fish"}).out);
  if (has_program("/usr/bin/fish")) {
    const auto offers = [&](const std::string& line) {
      const Result result =
          run_program("/usr/bin/fish", {"--no-config", "-c", "source " + fish + "; complete -C '" + line + "'"});
      CHECK(result.code == 0);
      CHECK(result.err.empty());
      return result.out;
    };
    CHECK(offers("attn summ").starts_with("summary\tshow a model"));
    CHECK(contains(offers("attn summary --for"), "--format\toutput format"));
    CHECK(contains(offers("attn summary --format m"), "markdown"));
    CHECK(contains(offers("attn run --matmul-precision "), "highest"));
    CHECK(contains(offers("attn compare --backend "), "onednn"));
    CHECK(contains(offers("attn summary confi"), "configs/"));
  } else {
    MESSAGE("fish is not installed");
  }
}

TEST_CASE("man: groff accepts the page of each command without a warning") {
  const TemporaryFolder folder;
  CHECK(run_attn({"man", "--all", "-o", folder / "man1"}).code == 0);
  std::set<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "man1")) pages.insert(entry.path().filename());
  CHECK(pages.contains("attn.1"));
  for (const char* command : {"summary", "run", "bench", "get-config", "doctor", "help"})
    CHECK(pages.contains("attn-" + std::string(command) + ".1"));
  CHECK(read_text(folder / "man1/attn-summary.1") == run_attn({"man", "summary"}).out);
  CHECK(read_text(folder / "man1/attn.1") == run_attn({"man"}).out);
  const std::string page = run_attn({"man", "run"}).out;
  for (const char* section : {"NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"})
    CHECK(contains(page, ".SH " + std::string(section) + "\n"));
  CHECK(contains(run_attn({"man"}).out, "ATTN_FORMAT"));
  CHECK(run_attn({"man", "--all"}).code == 2);
  if (!has_program("/usr/bin/groff")) {
    MESSAGE("groff is not installed");
    return;
  }
  for (const std::string& name : pages) {
    const Result shown = run_program("/usr/bin/groff", {"-man", "-Tutf8", "-ww", "-z", folder / "man1/" + name});
    CHECK(shown.code == 0);
    CHECK_MESSAGE(shown.err.empty(), name << ": " << shown.err);
  }
}

/// A file of docs/schemas, by the schema name in a result.
json schema_of(const std::string& name) {
  const std::string path = in_repository("docs/schemas/") + name.substr(0, name.find('/')) + ".1.schema.json";
  CHECK_MESSAGE(std::filesystem::exists(path), path);
  return json::parse(read_text(path));
}

TEST_CASE("schemas: every --json output matches docs/schemas") {
  const TemporaryFolder folder;
  const std::string weights = "tests/data/io/model.weights.h5";
  const std::string archive = "tests/data/io/model.keras";
  const std::string half = folder / "half.safetensors";
  REQUIRE(run_attn({"convert", weights, half, "--dtype", "float16", "--model", archive}).code == 0);
  REQUIRE(run_attn({"run", "-o", folder / "out.npz"}).code == 0);
  REQUIRE(
      run_attn({"convert", fixture("model/encoder/model.keras"), folder / "int8.keras", "--quantize", "int8"}).code ==
      0);
  const std::string brief = "--min-time=0";
  const Result baseline = run_attn({"bench", brief, "--json"});
  const std::string earlier = folder.file("bench.json", baseline.out);
  const std::vector<NamedTensor> odd = {{"nan", {DType::float32, {0}}}, {"flags", {DType::boolean, {2}}}};
  io::write_tensors(folder / "odd.npz", odd);
  std::vector<NamedTensor> infinite = io::read_tensors(in_repository("tests/data/training/norm/batch/data.npz"));
  for (const NamedTensor& array : infinite) array.tensor.set(0, std::numeric_limits<double>::infinity());
  io::write_tensors(folder / "infinite.npz", infinite);
  const std::string reader = fixture("model/encoder_decoder/model.json");
  const std::string wrong =
      folder.file("wrong.json", R"({"input_shape": [5, 8], "num_head": 2, "key_dim": "4", "activation": "rleu"})");
  REQUIRE(run_attn({"run", "--dump", folder / "dump"}).code == 0);
  const std::string unbuilt =
      folder.file("dense.json", R"({"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}})");
  // Inputs with NaN, and their results.
  const std::string encoder = folder / "encoder.npz", nan = folder / "nan.npz", nan_input = folder / "nan_input.npz",
                    nan_output = folder / "nan_output.npz";
  REQUIRE(run_attn({"init", "-o", encoder}).code == 0);
  std::vector<NamedTensor> ill = io::read_tensors(encoder);
  for (const NamedTensor& array : ill)
    if (array.name.ends_with("query/kernel")) array.tensor.set(0, std::numeric_limits<double>::quiet_NaN());
  io::write_tensors(nan, ill);
  const Tensor no_numbers(DType::float32, {1, 50, 512});
  for (float& x : no_numbers.as<float>()) x = std::numeric_limits<float>::quiet_NaN();
  io::write_tensors(nan_output, std::vector<NamedTensor>{{"output_0", no_numbers}});
  io::write_tensors(nan_input, std::vector<NamedTensor>{{"input_layer", no_numbers}});
  const Tensor large(DType::float32, {4, 3});
  for (float& x : large.as<float>()) x = 3e38F;
  const std::string narrow = folder.file(
      "narrow.json",
      R"({"name": "encoder", "input_shape": [50, 512], "num_heads": 8, "key_dim": 32, "intermediate_dim": 2048})");
  const std::string bert = folder.file("bert.json", R"({"class_name": "BertBackbone", "config": {"num_layers": 1,
      "vocabulary_size": 9, "num_heads": 1, "hidden_dim": 8, "intermediate_dim": 8, "max_sequence_length": 8}})");
  const std::string idle = folder.file("idle.json", R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}},
      {"class_name": "Dropout", "config": {"name": "d", "rate": 0.5}}]}})");
  json fast = json::parse(baseline.out);
  for (const char* time : {"min", "p10", "median", "mean", "p90"}) fast["rows"][0]["ms"][time] = 0;
  const std::string instant = folder.file("instant.json", fast.dump());
  const std::string norm =
      folder.file("norm.json", R"({"class_name": "LayerNormalization", "config": {"name": "norm"}})");
  io::write_tensors(folder / "torch.safetensors", std::vector<NamedTensor>{{"norm.weight", {DType::float32, {2}}},
                                                                           {"norm.bias", {DType::float32, {2}}}});
  io::write_tensors(folder / "short.npz", std::vector<NamedTensor>{{"output_0", {DType::float32, {2}}}});
  const std::string flat = folder.file("flat.json", R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}},
      {"class_name": "Dense", "config": {"name": "d", "units": 3}}]}})");
  io::write_tensors(folder / "large.npz",
                    std::vector<NamedTensor>{{"d/kernel", large}, {"d/bias", {DType::float32, {3}}}});
  io::write_tensors(folder / "zero.npz", std::vector<NamedTensor>{{"d/kernel", {DType::float32, {4, 3}}},
                                                                  {"d/bias", {DType::float32, {3}}}});
  REQUIRE(run_attn({"init", flat, "-o", folder / "flat.npz"}).code == 0);
  REQUIRE(run_attn({"run", flat, "--dump", folder / "flat", "--matmul-precision", "high"}).code == 0);
  REQUIRE(run_attn({"run", flat, "--dump", folder / "medium", "--matmul-precision", "medium"}).code == 0);
  const std::string decoder = "tests/data/generation/gpt2/preset";
  const std::string classifier = "tests/data/generation/bert_classifier/preset";
  const std::string some = folder.file("some.txt", "#5,6\n");
  std::string any_id = "0";
  for (int id = 1; id < 400; ++id) any_id += "," + std::to_string(id);
  const std::vector<std::vector<std::string>> lines = {
      {"generate", decoder, "--prompt", "The model", "--seed", "1", "--logprobs", "2", "--max-new-tokens", "3"},
      {"generate", decoder, "--prompt", "The", "--sampler", "beam", "--num-beams", "2", "--max-new-tokens", "2"},
      {"generate", decoder, "--ids", "1,2", "--sampler", "top_p", "--max-new-tokens", "2"},
      {"generate", decoder, "--ids", "1,2", "--sampler", "top_p", "--top-k", "3", "--max-new-tokens", "2"},
      {"generate", decoder, "--ids", "1,2", "--sampler", "contrastive", "--max-new-tokens", "2"},
      {"generate", decoder, "--prompt", "The", "--stop-ids", any_id, "--sampler", "random", "--max-new-tokens", "2"},
      {"generate", decoder, "--prompt", "The", "--stop", "a", "--stop", "e", "--stop", " ", "--stop", "i", "--stop",
       "o", "--stop", "t", "--sampler", "greedy"},
      {"generate", decoder, "--ids", "5,6,7,5,6", "--sampler", "greedy", "--draft", "prompt-lookup", "--max-new-tokens",
       "8"},
      {"bench", decoder, "--iterations", "1", "--pp", "3", "--tg", "2", "--depth", "0,2"},
      {"plan", decoder},
      {"probe", decoder, "--list"},
      {"probe", "capture", decoder, "--ids", "5,6", "-o", folder / "points.npz"},
      {"probe", "lens", decoder, "--ids", "5,6,7"},
      {"probe", "dla", decoder, "--ids", "5,6", "--token", "#7", "--versus", "#8"},
      {"probe", "dla", decoder, "--ids", "5,6"},
      {"probe", "ablate", decoder, "--ids", "5,6"},
      {"probe", "ablate", classifier, "--ids", "5,6", "--token", "#1", "--versus", "#0"},
      {"probe", "patch", decoder, "--clean", "#5,6", "--corrupt", "#5,7"},
      {"probe", "patch", decoder, "--clean", "#5,6", "--corrupt", "#5,7", "--points", "z", "--approximate"},
      {"probe", "patch", decoder, "--clean", "#5,6", "--corrupt", "#5,7", "--points", "z", "--token", "#4"},
      {"probe", "rollout", decoder, "--ids", "5,6"},
      {"probe", "saliency", decoder, "--ids", "5,6"},
      {"probe", "saliency", decoder, "--ids", "5,6", "--method", "integrated", "--token", "#7", "--versus", "#8"},
      {"probe", "saliency", "tests/data/generation/t5_tied/preset", "--ids", "5,6", "--decoder-ids", "0"},
      {"probe", "steer", decoder, "--positive", some, "--negative", some, "-o", folder / "vector.npz"},
      {"probe", "heads", decoder, "--length", "4"},
      {"probe", "outliers", decoder, "--ids", "5,6"},
      {"probe", "compare", decoder, decoder, "--ids", "5,6"},
      {"probe", "compare", decoder, "tests/data/generation/gpt_neo_x/preset", "--ids", "5,6"},
      {"probe", "scan", decoder, "--ids", "5,6"},
      {"probe", "scan", classifier, "--ids", "5,6"},
      {"score", decoder, "--text", "The model"},
      {"score", decoder, "--ids", "1,2,3"},
      {"evaluate", "tests/data/training/norm/batch/start.keras", "--data", "tests/data/training/norm/batch/data.npz"},
      {"evaluate", "tests/data/training/norm/batch/start.keras", "--data", folder / "infinite.npz"},
      {"evaluate", "tests/data/metrics/one_hot/model.keras", "--data", "tests/data/metrics/one_hot/data.npz"},
      {"evaluate", "tests/data/training/embedding/adam/start.keras", "--data",
       "tests/data/training/embedding/adam/data.npz"},
      {"embed", "tests/data/embed/bert", "--text", "mars", "--text", "a red planet"},
      {"transcribe", "tests/data/transcribe/whisper", "tests/data/transcribe/speech.wav", "--timestamps"},
      {"transcribe", "tests/data/transcribe/whisper", "tests/data/transcribe/long.wav", "--words"},
      {"transcribe", "tests/data/transcribe/whisper", "tests/data/transcribe/speech.wav", "--language", "de", "--task",
       "translate"},
      {"transcribe", "tests/data/transcribe/moonshine", "tests/data/transcribe/speech.wav"},
      {"tokenize", decoder, "--text", "The model"},
      {"tokenize", decoder, "--ids", "1,2,3"},
      {"tokenize", "tests/data/tokenizers/qwen2/preset", "--text", "The model"},
      {"tokenize", "tests/data/tokenizers/gpt2/hf", "--text", "The model"},
      {"summary"},
      {"summary", "configs/vit_tiny.json", "--expand-nested"},
      {"summary", "configs/bert_base.json"},
      {"summary", reader, "--masks"},
      {"summary", "--costs"},
      {"summary", reader, "--costs", "--depth", "2", "--weights", "--expand-nested"},
      {"summary", "--depth", "1"},
      {"summary", "--weights"},
      {"summary", unbuilt, "--input-shape", "4"},
      {"summary", idle, "--costs"},
      {"summary", flat, "--costs"},
      {"explain"},
      {"explain", "configs/gpt2_base.json"},
      {"explain", "multi_head_attention"},
      {"explain", "dropout_1"},
      {"explain", "configs/lstm_attention.json"},
      {"explain", idle},
      {"explain", flat, "d"},
      {"explain", narrow, "multi_head_attention"},
      {"run"},
      {"run", in_repository("tests/data/text/named/model.keras")},
      {"run", "--expect", folder / "out.npz", "--check-finite"},
      {"run", "--expect", folder / "odd.npz"},
      {"run", archive},
      {"run", fixture("model/encoder_decoder/model.keras"), "--parallel", "tensor=1"},
      {"run", "--parallel", "data=1"},
      {"run", "--parallel", "sequence=1"},
      {"run", fixture("model/encoder_decoder/model.keras"), "--input", fixture("model/encoder_decoder/inputs.npz"),
       "--input", wrong, "--output-dir", folder / "files"},
      {"run", fixture("model/encoder_decoder/model.keras"), "--input", fixture("model/encoder_decoder/inputs.npz"),
       "--output-dir", folder / "claimed", "--schedule", "claim"},
      {"plan", fixture("model/encoder_decoder/model.keras"), "--parallel", "tensor=2"},
      {"plan", "--parallel", "data=2", "--batch-size", "2"},
      {"plan", "--parallel", "sequence=2"},
      {"plan", "--parallel", "tensor=4,data=2", "--batch-size", "2"},
      {"run", flat},
      {"run", "--matmul-precision", "high"},
      {"run", "--matmul-precision", "medium"},
      {"run", bert, "--seq-len", "4", "--skip-padding"},
      {"run", "--weights", nan, "--check-finite", "--expect", folder / "out.npz"},
      {"run", "--input", nan_input, "--check-finite"},
      {"run", flat, "--weights", folder / "large.npz", "--dtype", "float16", "--check-finite"},
      {"run", "--expect", nan_output},
      {"bench", brief},
      {"bench", brief, "--profile", "--roofline", "--samples", "--baseline", earlier, "--batch-size", "1,2"},
      {"bench", brief, "--ops"},
      {"bench", flat, brief, "--matmul-precision", "high"},
      {"bench", brief, "--baseline", instant},
      {"bench", flat, brief, "--matmul-precision", "medium"},
      {"bench", flat, brief, "--matmul-precision", "high", "--ops"},
      {"bench", flat, brief, "--matmul-precision", "medium", "--ops"},
      {"bench", bert, brief, "--seq-len", "4", "--mean-length", "0.5", "--skip-padding"},
      {"bench", bert, brief, "--seq-len", "4", "--mean-length", "0.5", "--skip-padding", "--ops"},
      {"bench", brief, "--iterations", "1", "--batch-size", "64"},
      {"bench", brief, "--weights", nan},
      {"bench", brief, "--attention", "--seq-len", "32", "--head-dim", "16"},
      {"weights", weights},
      {"weights", archive},
      {"weights", archive, "--model", archive},
      {"weights", folder / "odd.npz"},
      {"weights", folder / "odd.npz", "--model", archive},
      {"weights", archive, "--sha256"},
      {"weights", encoder, "--model", narrow},
      {"weights", encoder, "--expect", nan},
      {"weights", nan, "--expect", encoder},
      {"weights", folder / "zero.npz", "--expect", folder / "large.npz"},
      {"weights", weights, "--expect", half, "--model", archive},
      {"weights", archive, "--expect", folder / "odd.npz"},
      {"convert", archive, folder / "c.npz"},
      {"convert", folder / "torch.safetensors", folder / "n.npz", "--from", "torch", "--model", norm, "--input-shape",
       "5,2"},
      {"init", "-o", folder / "i.npz"},
      {"validate"},
      {"validate", "configs/encoder_decoder.json"},
      {"validate", wrong},
      {"compare", fixture("model/encoder/model.keras"), fixture("model/encoder/model.keras")},
      {"compare"},
      {"compare", "--dtype", "float32,bfloat16", "--rtol", "0"},
      {"compare", "--expect", folder / "dump"},
      {"compare", "--expect", folder / "out.npz"},
      {"compare", "--weights", nan, "--weights", encoder},
      {"compare", "--weights", encoder, "--weights", nan},
      {"compare", flat, "--matmul-precision", "high,medium"},
      {"compare", flat, "--matmul-precision", "medium,high"},
      {"compare", "--expect", folder / "short.npz"},
      {"compare", flat, "--weights", folder / "zero.npz", "--weights", folder / "flat.npz"},
      {"compare", "configs/encoder.json", "configs/vit_tiny.json"},
      {"compare", fixture("model/encoder/model.keras"), folder / "int8.keras"},
      {"plan"},
      {"plan", "configs/lstm_attention.json", "--kernels"},
      {"plan", unbuilt, "--input-shape", "4"},
      {"plan", idle},
      {"plan", bert, "--kernels"},
      {"plan", reader},
      {"plan", fixture("families/einsum_dense/model.json")},
      {"train", "tests/data/training/norm/batch/start.keras", "--data", "tests/data/training/norm/batch/data.npz", "-o",
       folder / "trained.keras"},
      {"train", "tests/data/training/norm/batch/start.keras", "--data", "tests/data/training/norm/batch/data.npz", "-o",
       folder / "trained.keras", "--parallel", "data=1"},
      {"train", "tests/data/training/norm/batch/start.keras", "--data", "tests/data/training/norm/batch/data.npz",
       "--plan"},
      {"train", "tests/data/training/norm/batch/start.keras", "--data", "tests/data/training/norm/batch/data.npz",
       "--overfit", "2"},
      {"train", "tests/data/training/embedding/adam/start.keras", "--data",
       "tests/data/training/embedding/adam/data.npz", "-o", folder / "trained.keras", "--matmul-precision", "high"},
      {"train", "tests/data/training/norm/batch/start.keras", "--data", folder / "infinite.npz", "-o",
       folder / "lost.keras", "--matmul-precision", "medium", "--batch-size", "64"},
      {"train", "tests/data/training/norm/batch/start.keras", "--data", "tests/data/training/norm/batch/data.npz", "-o",
       folder / "trained.keras", "--validation", folder / "infinite.npz"},
      {"train", "tests/data/training/conv/conv_pool/start.keras", "--data",
       "tests/data/training/conv/conv_pool/data.npz", "-o", folder / "trained.keras"},
      {"bench", "--parallel", "tensor=1", "--batch-size", "1,2", "--warmup", "0", "--iterations", "1"},
      {"bench", flat, "--parallel", "data=1", "--warmup", "0", "--iterations", "1", "--matmul-precision", "high"},
      {"bench", "--parallel", "sequence=1", "--warmup", "0", "--iterations", "1", "--matmul-precision", "medium",
       "--cluster", "h200-ndr"},
      {"bench", "--train", brief, "--iterations", "2", "--dtype", "float32,bfloat16"},
      {"bench", "--train", brief, "--iterations", "1", "--profile", "--recompute", "layer", "--matmul-precision",
       "high"},
      {"bench", "--train", unbuilt, "--input-shape", "4", brief, "--iterations", "1", "--matmul-precision", "medium"},
      {"grad", "--by", "weight", "-o", folder / "grad.npz"},
      {"grad", "--by", "weight", "--weights", nan, "--expect", folder / "grad.npz", "-o", folder / "nan_grad.npz"},
      {"grad", "--expect", folder / "nan_grad.npz"},
      {"grad", archive, "--check", "--directions", "1", "--input-gradients", "--by", "weight", "--no-training"},
      {"grad", "tests/data/training/norm/batch/start.keras"},
      {"grad", archive, "--training", "--by", "block", "--sort", "norm", "--matmul-precision", "high"},
      {"grad", archive, "--expect", folder / "odd.npz", "--matmul-precision", "medium"},
      {"plot"},
      {"summary", "tests/data/custom/classifier/model.keras"},
      {"summary", "tests/data/custom/notebook/model.json"},
      {"plot", reader, "--expand-nested"},
      {"plot", fixture("model/nested/model.json"), "--expand-nested"},
      {"heatmap"},
      {"heatmap", reader},
      {"heatmap", "--weights", nan},
      {"heatmap", "configs/vit_tiny.json", "--matmul-precision", "high"},
      {"heatmap", "--matmul-precision", "medium"},
      {"devices"},
      {"get-config", "--list", "layers"},
      {"get-config", "--list", "operations"},
      {"get-config", "--list", "families"},
      {"doctor"},
      {"run", "tests/data/image_text/clip/preset", "--image", "tests/data/images/gray.jpg", "--text", "the cat"},
      {"run", "tests/data/image_text/siglip/preset", "--image", "tests/data/images/gray.jpg", "--text", "the cat"},
  };
  std::map<std::string, std::set<std::string>> seen;  // parts that were used, by schema
  for (std::vector<std::string> line : lines) {
    const std::string said = join(line, " ");
    line.emplace_back("--json");
    const Result result = run_attn(line);
    CHECK_MESSAGE((result.code == 0 || result.code == 1 || line.front() == "validate"), said << ": " << result.err);
    const json value = json::parse(result.out, nullptr, false);
    REQUIRE_MESSAGE(value.is_object(), said);
    const std::string name = value.value("schema", "");
    const std::vector<std::string> errors = schema_errors(schema_of(name), value, &seen[name]);
    CHECK_MESSAGE(errors.empty(), said << "\n" << join(errors, "\n"));
  }
  for (const char* dump : {"dump", "flat", "medium"}) {
    const json manifest = json::parse(read_text(folder / dump + "/manifest.json"));
    CHECK(schema_errors(schema_of("attn.dump/1"), manifest, &seen["attn.dump/1"]).empty());
  }
  // Every part of every schema must be used by some output, except for the following.
  const auto elsewhere = [](const std::string& part) {
    constexpr std::array kElsewhere = {
        "attn.devices/",  // depends on the machine
        "attn.doctor/",
        "attn.generate/1/properties/stats/properties/limit_tokens_per_s",  // measured with --stats, in seconds
        "attn.bench/1/properties/environment/",
        "attn.bench/1/properties/rows/items/properties/noise/properties/other_cores/",
        "attn.bench/1/properties/rows/items/properties/gpu",
        "attn.bench/1/properties/rows/items/properties/profile/items/properties/bound/",  // depends on the machine
        "attn.bench/1/properties/rows/items/properties/partial",                          // only if interrupted
        "attn.bench/1/properties/operations/items/properties/partial",
        "attn.bench-train/1/properties/rows/items/properties/partial",
        "attn.bench/1/properties/rows/items/properties/verified/properties/error/",  // infinite only for a faulty
                                                                                     // backend
        "attn.run/1/properties/parallel/properties/collectives/items/properties/predicted/",  // needs several processes
        "attn.run/1/properties/parallel/properties/launcher/",
        "attn.run/1/properties/parallel/properties/collectives/items/properties/seconds/",  // null on GPUs
        "attn.run/1/properties/parallel/properties/imbalance/",
        "attn.run/1/properties/parallel/properties/per_rank/items/properties/collective_seconds/",
        "attn.bench-parallel/1/properties/rows/items/properties/parallel/",  // needs several processes
        "attn.bench-parallel/1/properties/rows/items/properties/alone_ms/",  // needs a model too large for one rank
        "attn.bench-parallel/1/properties/rows/items/properties/speed_up/",
        "attn.bench-parallel/1/properties/rows/items/properties/efficiency/",
        "attn.bench-parallel/1/properties/rows/items/properties/difference/",
        "attn.train/1/properties/parallel/properties/collectives/items/properties/predicted/",
        "attn.train/1/properties/parallel/properties/launcher/",
        "attn.train/1/properties/parallel/properties/collectives/items/properties/seconds/",
        "attn.train/1/properties/parallel/properties/imbalance/",
        "attn.train/1/properties/parallel/properties/per_rank/items/properties/collective_seconds/",
        "attn.compare/1/properties/arrays/items/properties/atol/",  // float64 values whose squares overflow
        "attn.run/1/properties/labels/properties/images/items/properties/probabilities/items/type/1",  // null for NaN
        "attn.embed/1/properties/results/items/properties/embedding/items/type/1",  // null only for an infinite vector
        "attn.embed/1/properties/similarity/items/items/type/1",
        "attn.embed/1/properties/similarity/type/1",  // null only for more than 1,000 texts
    };
    return std::ranges::any_of(kElsewhere, [&](const char* place) { return part.starts_with(place); });
  };
  for (const auto& entry : std::filesystem::directory_iterator(in_repository("docs/schemas"))) {
    const std::string file = entry.path().filename();
    const std::string name = file.substr(0, file.find(".1.schema.json")) + "/1";
    for (const std::string& part : schema_parts(schema_of(name)))
      CHECK_MESSAGE((seen[name].contains(part) || elsewhere(name + part)), name << part);
  }
}

TEST_CASE("schemas: the validator finds missing, extra and wrong members") {
  const json schema = json::parse(R"({"type": "object", "required": ["a"], "additionalProperties": false,
    "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "array", "minItems": 1, "items": {"enum": ["x", null]}},
                   "c": {"anyOf": [{"type": "null"}, {"const": 3}]}},
    "$defs": {"n": {"type": ["integer", "null"], "minimum": 0}}})");
  const auto count = [&](const char* text) { return schema_errors(schema, json::parse(text)).size(); };
  CHECK(count(R"({"a": 1, "b": ["x", null], "c": 3})") == 0);
  CHECK(count(R"({"a": null})") == 0);
  CHECK(count(R"({})") == 1);
  CHECK(count(R"({"a": 1.5})") == 1);
  CHECK(count(R"({"a": -1})") == 1);
  CHECK(count(R"({"a": 1, "d": 2})") == 1);
  CHECK(count(R"({"a": 1, "b": []})") == 1);
  CHECK(count(R"({"a": 1, "b": ["y"], "c": 4})") == 2);
  CHECK(schema_errors(json::parse(R"({"pattern": "x"})"), "x").size() == 1);
}

}  // namespace
}  // namespace attn::test
