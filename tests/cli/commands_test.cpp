// The commands as scripts see them: stdout, stderr, exit codes, files.
#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "../places.h"
#include "../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

using attn::test::contains;
using attn::test::fixture;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::run_program;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

const std::vector<std::string> kConfigs = {"encoder",         "encoder_keras",  "transformer_base", "gpt_small",
                                           "encoder_decoder", "lstm_attention", "lstm_regression",  "vit_tiny"};

struct Backbone {
  std::string name, class_name;
  std::int64_t params;
};
const std::vector<Backbone> kBackbones = {
    {"bert_base", "BertBackbone", 109482240},       {"distilbert_base", "DistilBertBackbone", 66362880},
    {"roberta_base", "RobertaBackbone", 124052736}, {"albert_base", "AlbertBackbone", 11683584},
    {"gpt2_base", "GPT2Backbone", 124439808},       {"vit_base", "ViTBackbone", 85798656},
};

}  // namespace

TEST_CASE("attn: --version and --help print to stdout") {
  const Result version = run_attn({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.rfind("attn ", 0) == 0);
  CHECK(version.err.empty());
  const Result help = run_attn({"--help"});
  CHECK(help.code == 0);
  for (const char* command : {"summary", "run", "bench", "get-config"}) CHECK(contains(help.out, command));
  CHECK(run_attn({"summary", "--help"}).code == 0);
}

TEST_CASE("attn: --version lists the backends, the companions and the libraries") {
  const Result version = run_attn({"--version"});
  for (const char* part : {"\nbuild       ", "\nCPU         oneDNN 3.", "\nCUDA        ", "attn-hdf5 (HDF5 1.",
                           "attn-image (libjpeg", "attn-audio (libFLAC", "CLI11 2.", "zlib 1."})
    CHECK(contains(version.out, part));
}

TEST_CASE("attn: a misspelled command is reported with a suggestion and exit code 2") {
  const Result result = run_attn({"sumary"});
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "unknown command 'sumary' (did you mean 'summary'?)"));
}

TEST_CASE("attn: an unknown option is a usage error") {
  CHECK(run_attn({"summary", "--depht", "2"}).code == 2);
  CHECK(run_attn({"run", "--batch-size", "0"}).code == 2);
  CHECK(run_attn({"run", "--device", "tpu"}).code == 2);
  CHECK(run_attn({"run", "--backend", "onedn"}).code == 2);
}

TEST_CASE("attn: --color always colors the label of a message, and a file gets no color by default") {
  CHECK(contains(run_attn({"summary", "nowhere.json", "--color", "always"}).err, "\x1b["));
  CHECK_FALSE(contains(run_attn({"summary", "nowhere.json"}).err, "\x1b["));
}

TEST_CASE("attn: all commands work without arguments and print nothing to stderr") {
  for (const char* command : {"summary", "run", "get-config"}) {
    CAPTURE(command);
    const Result result = run_attn({command});
    CHECK(result.code == 0);
    CHECK_FALSE(result.out.empty());
    CHECK(result.err.empty());
  }
  CHECK(run_attn({"bench", "--min-time", "0", "--iterations", "1", "--warmup", "0"}).code == 0);
}

TEST_CASE("attn: the backbones in configs/ have KerasHub's parameters and configs") {
  for (const Backbone& backbone : kBackbones) {
    CAPTURE(backbone.name);
    const std::string path = "configs/" + backbone.name + ".json";
    CHECK(json::parse(run_attn({"summary", path, "--json"}).out)["total_params"] == backbone.params);
    const json config = json::parse(run_attn({"get-config", path}).out);
    CHECK(config["registered_name"] == "keras_hub>" + backbone.class_name);
    const json file = json::parse(read_text(attn::test::in_repository(path)));
    for (const auto& [key, value] : file["config"].items())
      if (key != "patch_size") CHECK(config["config"][key] == value);
  }
  const Result run = run_attn({"run", "configs/albert_base.json", "--seq-len", "16", "--json"});
  CHECK(run.code == 0);
  CHECK(json::parse(run.out)["outputs"].size() == 2);
}

TEST_CASE("attn: every other file in configs/ can be summarized, run and written as a config") {
  for (const std::string& name : kConfigs) {
    CAPTURE(name);
    const std::string path = "configs/" + name + ".json";
    CHECK(run_attn({"summary", path}).code == 0);
    const Result run = run_attn({"run", path, "--json"});
    CHECK(run.code == 0);
    CHECK(json::parse(run.out)["schema"] == "attn.run/1");
    const Result config = run_attn({"get-config", path});
    CHECK(config.code == 0);
    CHECK(json::parse(config.out)["class_name"] == "Functional");
  }
}

TEST_CASE("summary: the built-in encoder has 3,415,040 parameters, its attention 1,050,624") {
  const Result text = run_attn({"summary"});
  CHECK(contains(text.out, "Total params: 3,415,040 (13.03 MB)"));
  CHECK(contains(text.out, "1,050,624"));
  const json summary = json::parse(run_attn({"summary", "--json"}).out);
  CHECK(summary["schema"] == "attn.summary/1");
  CHECK(summary["name"] == "encoder");
  CHECK(summary["class_name"] == "Functional");
  CHECK(summary["total_params"] == 3415040);
  CHECK(summary["trainable_params"] == 3415040);
  CHECK(summary["non_trainable_params"] == 0);
  CHECK(summary["total_bytes"] == 13660160);
  const json& attention = summary["layers"][1];
  CHECK(attention["class_name"] == "MultiHeadAttention");
  CHECK(attention["params"] == 1050624);
  CHECK(attention["trainable_params"] == 1050624);
  CHECK(attention["output_shape"] == json::parse("[null, 50, 512]"));
  CHECK(attention["connected_to"] == json::parse(R"(["input_layer[0][0]", "input_layer[0][0]"])"));
}

TEST_CASE("summary: a short config and the same Keras code give the same model") {
  const Result by_hand = run_attn({"summary", "configs/encoder.json"});
  CHECK(by_hand.out == run_attn({"summary", "configs/encoder_keras.json"}).out);
  CHECK(json::parse(run_attn({"get-config", "configs/encoder.json"}).out) ==
        json::parse(read_text(attn::test::in_repository("configs/encoder_keras.json"))));
}

TEST_CASE("run: --check-finite names the layer that exceeds float16's range, or reports that all is finite") {
  const TemporaryFolder folder;
  const std::string model = R"({"module": "keras", "class_name": "Sequential", "config": {"name": "m", "layers": [
    {"module": "keras.layers", "class_name": "InputLayer", "config": {"name": "x", "batch_shape": [null, 4],
     "dtype": "int32"}},
    {"module": "keras.layers", "class_name": "Embedding", "config": {"name": "tokens", "input_dim": 9, "output_dim": 8,
     "mask_zero": true, "dtype": "mixed_float16"}},
    {"module": "keras.layers", "class_name": "Dense", "config": {"name": "big\u001b", "units": 4,
     "dtype": "mixed_float16", "bias_initializer": {"class_name": "Constant", "config": {"value": 1e9}}}},
    {"module": "keras.layers", "class_name": "Softmax", "config": {"name": "softmax"}}]}})";
  const std::string path = folder.file("m.json", model);
  for (const std::string backend : {"reference", "onednn"}) {
    CAPTURE(backend);
    const Result text = run_attn({"run", path, "--check-finite", "--backend", backend});
    CHECK(text.code == 1);
    CHECK(contains(text.out,
                   "NaN or Inf appeared in 'big\\u{1b}' (Dense): (1, 4, 4) float16, 16 Inf of 16, first inf at [0, 0, "
                   "0]\n  it left float16's range ±65504\n  1 more layer contains NaN or Inf\n"));
    CHECK(contains(text.err, "NaN or Inf appeared in 'big\\u{1b}' (Dense), which left float16's range ±65504\n"));
    const Result json_run = run_attn({"run", path, "--check-finite", "--backend", backend, "--json"});
    CHECK(json_run.code == 1);
    const json found = json::parse(json_run.out)["non_finite"];
    REQUIRE(found.size() == 2);
    CHECK(found[0]["name"] == "big\x1b");
    CHECK(found[0]["source"] == true);
    CHECK(found[0]["inf"] == 16);
    CHECK(found[0]["reason"] == "left float16's range ±65504");
    CHECK(found[1]["source"] == false);
  }
  const Result fine = run_attn({"run", "--check-finite"});
  CHECK(fine.code == 0);
  CHECK(contains(fine.out, "all 10 layer outputs are finite\n"));
  CHECK(fine.err.empty());
  CHECK(json::parse(run_attn({"run", "--check-finite", "--json"}).out)["non_finite"] == json::array());
  CHECK_FALSE(json::parse(run_attn({"run", "--json"}).out).contains("non_finite"));
}

TEST_CASE("run: infinities that mask padding are not a finding of --check-finite") {
  const std::string model = fixture("model/encoder_decoder/model.json");
  const TemporaryFolder folder;
  const std::string tokens = folder / "tokens.npz";
  // All tokens are padding.
  const std::vector<attn::NamedTensor> arrays = {{"source", {attn::DType::int32, {2, 5}}},
                                                 {"target", {attn::DType::int32, {2, 10}}}};
  attn::io::write_tensors(tokens, arrays);
  for (const std::string backend : {"reference", "onednn"}) {
    const Result result = run_attn({"run", model, "--input", tokens, "--check-finite", "--backend", backend});
    CHECK(result.code == 0);
    CHECK(contains(result.out, " layer outputs are finite\n"));
  }
}

TEST_CASE("summary: --masks shows the use of masks in every format, and rejects options of the table") {
  const std::string model = fixture("model/encoder_decoder/model.json");
  const Result table = run_attn({"summary", "--masks", model});
  CHECK(table.code == 0);
  CHECK(contains(table.out, "uses query_mask, value_mask"));
  CHECK(contains(table.out, "Warning: 'self_attention' removed the mask of the output of 'embedding_1'"));
  const json values = json::parse(run_attn({"summary", "--masks", "--json", model}).out);
  CHECK(values["schema"] == "attn.summary/1");
  CHECK(values["masks"].size() > 3);
  CHECK_FALSE(values["mask_warnings"].empty());
  CHECK(values.contains("total_params"));
  CHECK(
      contains(run_attn({"summary", "--masks", "--format", "csv", model}).out, "name,class_name,level,call,masks_in"));
  CHECK(contains(run_attn({"summary", "--masks", "--format", "markdown", model}).out, "| Masks in"));
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--layer-range", "embedding", "add"},
                                                  {"--line-length", "100"},
                                                  {"--show-trainable"}}) {
    CAPTURE(options[0]);
    std::vector<std::string> words = {"summary", model, "--masks"};
    words.insert(words.end(), options.begin(), options.end());
    const Result refused = run_attn(words);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, options[0] + " changes the table that --masks replaces"));
  }
}

TEST_CASE("summary: --line-length prints Keras's table") {
  const std::string model = fixture("model/encoder/model.json");
  const Result narrow = run_attn({"summary", "--line-length", "80", model});
  CHECK(narrow.out == read_text(fixture("model/encoder/summary.txt")));
  const Result wide = run_attn({"summary", "--line-length", "120", "--expand-nested", "--show-trainable", model});
  CHECK(wide.out == read_text(fixture("model/encoder/summary_120.txt")));
}

TEST_CASE("summary: no name is cut if stdout is not a terminal") {
  CHECK_FALSE(contains(run_attn({"summary"}).out, "…"));
}

TEST_CASE("summary: a Dense of 10^12 units is summarized, because its weights are not created") {
  const Result result = run_attn({"summary", "-"}, R"({"input_shape": [4, 1000], "num_heads": 1, "intermediate_dim": 10,
                                                  "units": 1000000000000})");
  CHECK(result.code == 0);
  CHECK(contains(result.out, "1,001,000,000,000,000"));
}

TEST_CASE("summary: .keras archives and models from stdin are read") {
  const std::string keras = fixture("model/encoder/model.keras"), model = fixture("model/encoder/model.json");
  CHECK(run_attn({"summary", keras}).out == run_attn({"summary", model}).out);
  CHECK(run_attn({"summary", "-"}, read_text(model)).out == run_attn({"summary", model}).out);
}

TEST_CASE("summary: a single layer needs an input shape, from its build_config or from --input-shape") {
  const std::string layer = fixture("layers/multi_head_attention.json");
  const Result refused = run_attn({"summary", layer});
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "--input-shape"));
  const Result shown = run_attn({"summary", layer, "--input-shape", "50,512"});
  CHECK(shown.code == 0);
  CHECK(contains(shown.out, "1,050,624"));
}

TEST_CASE("run: outputs are written under their names and agree with --expect") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.npz", model = fixture("model/encoder_decoder/model.keras");
  const Result result = run_attn({"run", model, "--input", fixture("model/encoder_decoder/inputs.npz"), "-o", out,
                                  "--expect", fixture("model/encoder_decoder/outputs.npz")});
  CAPTURE(result.out);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "probabilities"));
  CHECK(contains(result.out, "cross_scores"));
  CHECK(run_attn({"run", model, "--input", fixture("model/encoder_decoder/inputs.npz"), "--expect", out, "--rtol", "0",
                  "--atol", "0"})
            .code == 0);
}

TEST_CASE("run: different numbers exit with code 1 and are reported with place and difference") {
  const Result result = run_attn({"run", fixture("model/encoder/model.keras"), "--seed", "1", "--batch-size", "2",
                                  "--expect", fixture("model/encoder/outputs.npz"), "--json"});
  CHECK(result.code == 1);
  const json report = json::parse(result.out);
  const json& compare = report["compare"]["outputs"][0];
  CHECK(compare["pass"] == false);
  CHECK(compare["mismatches"] > 0);
  CHECK(compare["worst_index"].size() == 3);
}

TEST_CASE("run: an output without finite numbers has no mean") {
  const Result result = run_attn({"run", "-", "--json", "--dtype", "float16", "--quiet"}, R"({"input_shape": [3, 8],
      "num_heads": 2, "intermediate_dim": 8,
      "kernel_initializer": {"class_name": "RandomNormal", "config": {"stddev": 1e5}}})");
  const json output = json::parse(result.out)["outputs"][0];
  CHECK(output["non_finite"] == 24);
  CHECK(output["mean"] == nullptr);
  CHECK(output["max"] == nullptr);
}

TEST_CASE("run: --scores numbers the calls of a shared layer") {
  const TemporaryFolder folder;
  const std::string scores = folder / "scores.npz";
  CHECK(run_attn({"run", "-", "--scores", scores}, R"({"class_name": "AlbertBackbone", "config": {"vocabulary_size": 9,
      "num_layers": 2, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 8, "embedding_dim": 4}})")
            .code == 0);
  CHECK(contains(read_text(scores), "self_attention_layer.npy"));
  CHECK(contains(read_text(scores), "self_attention_layer[1].npy"));
}

TEST_CASE("run: --scores writes the attention weights of every attention layer") {
  const TemporaryFolder folder;
  const std::string scores = folder / "scores.npz";
  CHECK(run_attn({"run", "configs/transformer_base.json", "--seq-len", "7", "--scores", scores}).code == 0);
  CHECK(contains(read_text(scores), "multi_head_attention_5"));
  CHECK(run_attn({"run", "-", "--scores", scores}, R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}},
      {"class_name": "Dense", "config": {"name": "d", "units": 2}}]}})")
            .code == 3);
}

TEST_CASE("run: equal seeds give equal outputs, and different seeds different ones") {
  const TemporaryFolder folder;
  const std::string a = folder / "a.npz", b = folder / "b.npz", c = folder / "c.npz";
  CHECK(run_attn({"run", "--seed", "7", "-o", a}).code == 0);
  CHECK(run_attn({"run", "--seed", "7", "-o", b}).code == 0);
  CHECK(run_attn({"run", "--seed", "8", "-o", c}).code == 0);
  CHECK(read_text(a) == read_text(b));
  CHECK(read_text(a) != read_text(c));
}

TEST_CASE("run: both backends agree on the built-in encoder") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.npz";
  CHECK(run_attn({"run", "--backend", "reference", "-o", out}).code == 0);
  CHECK(run_attn({"run", "--backend", "onednn", "--expect", out}).code == 0);
}

TEST_CASE("bench: JSON has the documented keys, and one row per combination") {
  const Result result = run_attn({"bench", "--batch-size", "1,2", "--iterations", "2", "--warmup", "0", "--json"});
  CHECK(result.code == 0);
  const json report = json::parse(result.out);
  CHECK(report["schema"] == "attn.bench/1");
  REQUIRE(report["rows"].size() == 2);
  for (const char* key : {"model", "device", "backend", "dtype", "matmul_precision", "batch", "seq_len", "threads",
                          "iterations", "ms", "tokens_per_second", "gflop", "gflops_per_second", "peak_bytes"})
    CHECK_MESSAGE(report["rows"][0].contains(key), key);
  for (const char* key : {"min", "p10", "median", "mean", "p90", "p99", "max"})
    CHECK_MESSAGE(report["rows"][0]["ms"].contains(key), key);
  CHECK(report["rows"][0]["iterations"] == 2);
  CHECK(report["rows"][1]["batch"] == 2);
}

TEST_CASE("bench: at least ten runs are measured by default") {
  const json report = json::parse(run_attn({"bench", "--min-time", "0", "--json"}).out);
  CHECK(report["rows"][0]["iterations"] >= 10);
}

TEST_CASE("bench: --baseline compares with an earlier result") {
  const TemporaryFolder folder;
  const std::string earlier = folder / "earlier.json";
  CHECK(run_attn({"bench", "--iterations", "2", "--json", "-o", earlier}).code == 0);
  const Result result = run_attn({"bench", "--iterations", "2", "--json", "--baseline", earlier});
  CHECK(result.code == 0);
  CHECK(json::parse(result.out)["rows"][0].contains("baseline"));
  CHECK(run_attn({"bench", "--iterations", "1", "--baseline", "configs/encoder.json"}).code == 3);
}

TEST_CASE("bench: CSV has a record per operation of --ops, and --csv with --profile is an error") {
  const Result operations = run_attn({"bench", "--ops", "--iterations", "1", "--warmup", "0", "--format", "csv"});
  CHECK(operations.code == 0);
  CHECK(contains(operations.out, "layer,operation,implementation,times,ms,gflop"));
  CHECK(contains(operations.out, "multi_head_attention,"));
  const Result profile = run_attn({"bench", "--profile", "--format", "csv"});
  CHECK(profile.code == 2);
  CHECK(contains(profile.err, "--profile"));
}

TEST_CASE("bench: an invalid baseline is an error with attn's own message") {
  const TemporaryFolder folder;
  const auto of_counts = [](const std::string& batch, const std::string& length, const std::string& threads) {
    return R"({"schema": "attn.bench/1", "rows": [{"model": "encoder", "device": "cpu", "backend": "onednn",
      "dtype": "float32", "matmul_precision": "highest", "ms": {"median": 1, "p90": 1}, "batch": )" +
           batch + R"(, "seq_len": )" + length + R"(, "threads": )" + threads + "}]}";
  };
  const std::vector<std::string> texts = {"{",
                                          "[]",
                                          R"({"schema": "attn.bench/1", "rows": [{"model": 3}]})",
                                          of_counts("true", "50", "2"),
                                          of_counts("1", "5184467440737095516150", "2"),
                                          of_counts("1", "1.5", "2"),
                                          of_counts("1", "-50", "2"),
                                          of_counts("18446744073709551615", "50", "2"),
                                          of_counts("1", "50", "4294967297")};
  CHECK(
      run_attn({"bench", "--iterations", "1", "--baseline", folder.file("old.json", of_counts("1", "50", "2"))}).code ==
      0);
  for (const std::string& text : texts) {
    CAPTURE(text);
    const Result result = run_attn({"bench", "--iterations", "1", "--baseline", folder.file("old.json", text)});
    CHECK(result.code == 3);
    CHECK(contains(result.err, "old.json: not written by attn bench as JSON: "));
    CHECK_FALSE(contains(result.err, "json.exception"));
  }
}

TEST_CASE("bench: --fail-if-slower exits with code 1 if a median exceeds the baseline's by more") {
  const TemporaryFolder folder;
  const std::string earlier = folder / "earlier.json";
  CHECK(run_attn({"bench", "--iterations", "3", "--warmup", "1", "--json", "-o", earlier}).code == 0);
  json report = json::parse(read_text(earlier));
  const auto compared = [&](double median) {
    report["rows"][0]["ms"]["median"] = report["rows"][0]["ms"]["p90"] = median;
    return run_attn({"bench", "--iterations", "3", "--warmup", "1", "--baseline", "-", "--fail-if-slower", "5%"},
                    report.dump());
  };
  CHECK(compared(1e6).code == 0);
  const Result slower = compared(1e-6);
  CHECK(slower.code == 1);
  CHECK(contains(slower.err, "slower than - by over 5%"));
  // A row that the baseline lacks cannot be compared, and the check fails.
  const Result unmatched = run_attn(
      {"bench", "--iterations", "1", "--batch-size", "2", "--baseline", earlier, "--fail-if-slower", "5%", "--quiet"});
  CHECK(unmatched.code == 1);
  CHECK(contains(unmatched.err, "has no measurement for 1 of the 1 settings"));
  CHECK(run_attn({"bench", "--fail-if-slower", "5%"}).code == 2);
  CHECK(run_attn({"bench", "--fail-if-slower", "five", "--baseline", earlier}).code == 2);
}

TEST_CASE("bench: the reference backend checks outputs, and samples are written on request") {
  const json report = json::parse(run_attn({"bench", "--iterations", "3", "--warmup", "1", "--samples", "--json"}).out);
  CHECK(report["rows"][0]["verified"]["against"] == "reference");
  CHECK(report["rows"][0]["verified"]["pass"] == true);
  CHECK(report["rows"][0]["samples_ms"].size() == 3);
  CHECK(report["environment"]["cores"] >= 1);
  CHECK(report["partial"] == false);
  const json repeat = json::parse(run_attn({"bench", "configs/distilbert_base.json", "--seq-len", "64", "--iterations",
                                            "1", "--warmup", "0", "--json"})
                                      .out);
  CHECK(repeat["rows"][0]["verified"]["against"] == "first pass");
  CHECK(repeat["rows"][0]["verified"]["pass"] == true);
}

TEST_CASE("bench: --ops measures each operation separately, and reports what bounds it") {
  const json alone = json::parse(run_attn({"bench", "--ops", "--iterations", "2", "--warmup", "0", "--json"}).out);
  CHECK(alone["rows"].empty());
  REQUIRE(alone["operations"].size() == 1);
  CHECK(alone["operations"][0]["operations"].size() >= 5);
  CHECK(alone["operations"][0]["operations"][0]["count"] >= 1);
  CHECK(alone["operations"][0]["operations"][0]["bound_ms"] > 0);
  CHECK(run_attn({"bench", "--ops", "--attention"}).code == 2);
}

TEST_CASE("bench: --attention measures the sizes of --size, each with its own heads, in one process") {
  const Result result = run_attn(
      {"bench", "--attention", "--size", "1x2x16x8,2x1x9x4:causal", "--no-peak", "--iterations", "1", "--json"});
  CHECK(result.code == 0);
  const json rows = json::parse(result.out)["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["model"] == "attention h2 d8");
  CHECK(rows[0]["seq_len"] == 16);
  CHECK(rows[1]["model"] == "attention h1 d4 causal");
  CHECK(rows[1]["batch"] == 2);
  CHECK(rows[1]["relative_error"] < 1e-5);
  CHECK(!rows[0].contains("peak_share"));
  for (const char* wrong : {"1x2x16", "1x2x16x0", "1x2x16x8:late", "1x2x16x8,", "axbxcxd", "1x2x16x8x1"}) {
    const Result refused = run_attn({"bench", "--attention", "--size", wrong});
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "4x16x4096x128"));
  }
  CHECK(run_attn({"bench", "--attention", "--size", "1x1x1x1", "--heads", "4"}).code == 2);
  CHECK(run_attn({"bench", "--size", "1x1x1x1"}).code == 2);
}

TEST_CASE("bench: Ctrl-C keeps complete measurements, marks them as interrupted, and exits with code 130") {
  const Result result = run_program(
      "/usr/bin/timeout", {"--signal=INT", "--preserve-status", "2", attn::test::attn_program(), "bench",
                           fixture("model/encoder/model.keras"), "--warmup", "0", "--min-time", "60", "--json"});
  CHECK(result.code == 130);
  const json report = json::parse(result.out);
  CHECK(report["partial"] == true);
  REQUIRE(report["rows"].size() == 1);
  CHECK(report["rows"][0]["partial"] == true);
  CHECK(report["rows"][0]["iterations"] >= 1);
}

TEST_CASE("bench: Ctrl-C interrupts a pass that takes a minute") {
  const auto start = std::chrono::steady_clock::now();
  const Result result = run_program("/usr/bin/timeout",
                                    {"--signal=INT", "--preserve-status", "0.5", attn::test::attn_program(), "bench",
                                     "configs/bert_base.json", "--seq-len", "512", "--backend", "reference", "--json"});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(result.code == 130);
  CHECK(seconds < 10);  // the pass takes a minute, and the machine may be loaded
  const json report = json::parse(result.out);
  CHECK(report["partial"] == true);
  CHECK(report["rows"].empty());
}

TEST_CASE("init: SIGTERM leaves no temporary file, and the exit code shows the signal") {
  const TemporaryFolder folder;
  for (const char* after : {"0.02", "0.1", "0.2", "0.4"}) {
    const Result result =
        run_program("/usr/bin/timeout", {"--signal=TERM", "--preserve-status", after, attn::test::attn_program(),
                                         "init", "configs/bert_base.json", "-o", folder / "w.npz"});
    CHECK(result.code == 143);
    CHECK(folder.names().empty());
  }
}

TEST_CASE("get-config: no arguments print the encoder's attention layer as Python does") {
  const Result result = run_attn({"get-config"});
  CHECK(result.out.rfind("{'name': 'multi_head_attention', 'trainable': True, 'dtype': {'module': 'keras'", 0) == 0);
  CHECK(contains(result.out, "'num_heads': 8, 'key_dim': 64, 'value_dim': 64, 'dropout': 0.0, 'use_bias': True"));
}

TEST_CASE("get-config: a class with key=value creates a layer") {
  const Result result =
      run_attn({"get-config", "MultiHeadAttention", "num_heads=8", "key_dim=64", "--format", "python"});
  CHECK(result.out == read_text(fixture("layers/multi_head_attention.txt")));
  const Result misspelt = run_attn({"get-config", "MultiHeadAttention", "num_head=8", "key_dim=64"});
  CHECK(misspelt.code == 3);
  CHECK(contains(misspelt.err, "unknown key (did you mean 'num_heads'?)"));
  CHECK(run_attn({"get-config", "MultiHeadAttentoin", "num_heads=8"}).code == 3);
}

TEST_CASE("get-config: --keras-version omits newer keys") {
  const json now =
      json::parse(run_attn({"get-config", "MultiHeadAttention", "num_heads=2", "key_dim=4"}).out)["config"];
  const json then =
      json::parse(run_attn({"get-config", "MultiHeadAttention", "num_heads=2", "key_dim=4", "--keras-version", "3.6"})
                      .out)["config"];
  CHECK(now.contains("sliding_window"));
  CHECK_FALSE(then.contains("sliding_window"));
  CHECK_FALSE(then.contains("use_gate"));
  CHECK_FALSE(then["kernel_initializer"]["config"].contains("input_axes"));
  CHECK(then.contains("seed"));
}

TEST_CASE("get-config: an older Keras version gets no unknown class, and the error has the first version") {
  const auto refusal = [](const char* name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"get-config", name});
    arguments.insert(arguments.end(), {"--keras-version", "3.5"});
    const Result result = run_attn(arguments);
    CHECK(result.code == 3);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(contains(refusal("RandomErasing", {"factor=0.5"}), "RandomErasing is in Keras since 3.9"));
  CHECK(contains(refusal("MixUp", {}), "MixUp is in Keras since 3.8"));
  CHECK(contains(refusal("AdaptiveMaxPooling1D", {"output_size=2"}), "AdaptiveMaxPooling1D is in Keras since 3.13"));
  CHECK(contains(run_attn({"get-config", "Lambda"}).err, "the layer 'Lambda' is refused: it carries Python code"));
}

TEST_CASE("get-config: --list names every class, with its first Keras version or the reason why it is rejected") {
  const Result layers = run_attn({"get-config", "--list", "layers"}),
               operations = run_attn({"get-config", "--list", "operations"});
  CHECK(contains(layers.out, "Keras 3.12\n  ReversibleEmbedding\n"));
  CHECK(contains(layers.out, "refused: it loads a SavedModel from a path, which is never opened\n  TFSMLayer\n"));
  CHECK(contains(operations.out, "Keras 3.8\n  Diagflat,"));
  for (const char* word : {"models", ""}) CHECK(run_attn({"get-config", "--list", word}).code == 2);
  CHECK(run_attn({"get-config", "--list", "layers", "Dense"}).code == 2);
  CHECK(run_attn({"get-config", "--list", "layers", "--format", "python"}).code == 2);
}

TEST_CASE("get-config: --list families shows the classes and folders of each family") {
  const json list = json::parse(run_attn({"get-config", "--list", "families", "--json"}).out);
  const auto gpt2 = std::ranges::find_if(list["families"], [](const json& family) { return family["name"] == "gpt2"; });
  REQUIRE(gpt2 != list["families"].end());
  CHECK((*gpt2)["backbones"] == json{"GPT2Backbone"});
  CHECK((*gpt2)["tokenizers"] == json{"GPT2Tokenizer"});
  CHECK((*gpt2)["model_types"] == json{"gpt2"});
  const Result table = run_attn({"get-config", "--list", "families"});
  CHECK(contains(table.out, "GPT2Backbone"));
  CHECK(contains(table.out, "CausalLM"));
}

TEST_CASE("get-config: --layer selects one layer, also inside a nested model") {
  const std::string nested = fixture("model/nested/model.json");
  const json layer = json::parse(run_attn({"get-config", nested, "--layer", "block/dense"}).out);
  CHECK(layer["class_name"] == "Dense");
  CHECK(layer["config"]["units"] == 64);
  const Result missing = run_attn({"get-config", nested, "--layer", "blok"});
  CHECK(missing.code == 2);
  CHECK(contains(missing.err, "did you mean 'block'?"));
}

TEST_CASE("run: --seq-len rebuilds a short config, and the error says where a model fixes its lengths") {
  const auto length_of = [](const std::vector<std::string>& words) {
    const Result result = run_attn(words);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    CHECK(contains(result.err, "has no effect: the model fixes the lengths of its inputs") ==
          (words.back() != "7" || words[1] == "configs/gpt_small.json"));
    return nlohmann::json::parse(result.out)["seq_len"].get<int>();
  };
  CHECK(length_of({"run", "--json", "--seq-len", "7"}) == 7);
  CHECK(length_of({"run", "configs/transformer_base.json", "--json", "--seq-len", "7"}) == 7);
  CHECK(length_of({"run", "configs/encoder_keras.json", "--json", "--seq-len", "9"}) == 50);
  CHECK(length_of({"run", "configs/gpt_small.json", "--json", "--seq-len", "7"}) == 256);  // trained positions

  const Result sweep = run_attn({"bench", "--seq-len", "5,11", "--iterations", "2", "--warmup", "1", "--json"});
  REQUIRE(sweep.code == 0);
  const nlohmann::json rows = nlohmann::json::parse(sweep.out)["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["seq_len"] == 5);
  CHECK(rows[1]["seq_len"] == 11);
}

TEST_CASE("run: an unknown length defaults to one that the learned positions cover") {
  const Result result = run_attn({"run", fixture("hub/gpt2_backbone/model.json"), "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(nlohmann::json::parse(result.out)["seq_len"] == 10);
  const Result longer = run_attn({"run", fixture("hub/gpt2_backbone/model.json"), "--seq-len", "11"});
  CHECK(longer.code == 3);
  CHECK(contains(longer.err, "the input has 11 positions, but the layer has 10 (--seq-len)"));
}

TEST_CASE("run: --input-shape for a model that has one is reported as unused") {
  const Result result = run_attn({"run", "--input-shape", "3,4"});
  CHECK(result.code == 0);
  CHECK(contains(result.err, "the model has its own input shapes"));
}
