// attn compare, and attn run --dump: two runs, a run and a file, two models.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../places.h"
#include "../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

using attn::NamedTensor;
using attn::test::contains;
using attn::test::fixture;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

/// The JSON output of `attn compare`, whose exit code must agree with it.
json compared(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compare");
  arguments.emplace_back("--json");
  const Result result = run_attn(arguments);
  CAPTURE(result.err);
  REQUIRE((result.code == 0 || result.code == 1));
  json out = json::parse(result.out);
  CHECK(out["schema"] == "attn.compare/1");
  CHECK(result.code == (out["equal"].get<bool>() ? 0 : 1));
  return out;
}

json array(const json& report, const std::string& name) {
  for (const json& item : report["arrays"])
    if (item["name"] == name) return item;
  FAIL("no array ", name);
  return {};
}

const std::string kSharedLayers = attn::test::in_repository("tests/data/compare/shared_layers.npz");

/// Copies a file of arrays with one array changed.
template <typename Change>
std::string changed(const TemporaryFolder& folder, const std::string& from, const std::string& name, Change&& change) {
  std::vector<NamedTensor> arrays = attn::io::read_tensors(from);
  for (NamedTensor& item : arrays) {
    if (item.name != name) continue;
    item.tensor = item.tensor.cast(attn::DType::float64);
    change(item.tensor);
  }
  const std::string path = folder / "changed.npz";
  attn::io::write_tensors(path, arrays);
  return path;
}

}  // namespace

TEST_CASE("compare: the default compares the reference with the best backend, layer by layer") {
  const json report = compared({});
  CHECK(report["kind"] == "run");
  CHECK(report["equal"] == true);
  CHECK(report["first_difference"] == nullptr);
  CHECK(report["a"]["setting"]["backend"] == "reference");
  CHECK(report["b"]["setting"]["backend"] == "onednn");
  CHECK(report["arrays"].size() == 11);
  CHECK(report["arrays"][0]["name"] == "multi_head_attention");
  CHECK(report["arrays"][10]["kind"] == "output");
  CHECK(report["tolerance"]["atol_of_rms"] == true);
  for (const json& item : report["arrays"]) {
    CHECK(item["cosine"].get<double>() > 0.999999);
    const json& histogram = item["histogram"];
    std::int64_t count = histogram["equal"].get<std::int64_t>() + histogram["not_finite_in_one"].get<std::int64_t>();
    for (const json& bin : histogram["bins"]) count += bin["count"].get<std::int64_t>();
    CHECK(count == item["elements"]);
  }
}

TEST_CASE("compare: two dtypes agree within the coarser dtype's tolerance, and not within float32's") {
  const json usual = compared({"--dtype", "float32,bfloat16"});
  CHECK(usual["equal"] == true);
  CHECK(contains(usual["tolerance"]["reason"], "bfloat16"));
  CHECK(array(usual, "dense")["dtype_b"] == "bfloat16");
  CHECK(array(usual, "dense")["ulp_dtype"] == "bfloat16");
  const json strict = compared({"--dtype", "float32,bfloat16", "--rtol", "1e-5", "--atol", "1e-6"});
  CHECK(strict["equal"] == false);
  CHECK(strict["first_difference"] == "multi_head_attention");
  CHECK(strict["tolerance"]["reason"] == "as requested");
  // The reported minimum tolerance is sufficient.
  const std::string enough = strict["tolerance"]["minimum_atol"].dump();
  CHECK(compared({"--dtype", "float32,bfloat16", "--rtol", "1e-5", "--atol", enough})["equal"] == true);
}

TEST_CASE("compare: outputs only, two numbers of threads and two precisions can be compared") {
  const json report = compared({"configs/encoder.json", "--outputs-only", "--threads", "1,2"});
  CHECK(report["equal"] == true);
  CHECK(report["arrays"].size() == 1);
  CHECK(report["a"]["setting"]["threads"] == 1);
  CHECK(report["b"]["setting"]["threads"] == 2);
  const json products = compared({"--matmul-precision", "highest,medium"});
  CHECK(products["equal"] == true);
  CHECK(contains(products["tolerance"]["reason"], "bfloat16"));
}

TEST_CASE("compare: two weight files show which weights differ, and the first affected layer") {
  const TemporaryFolder folder;
  const std::string a = folder / "a.npz", model = fixture("model/encoder/model.keras");
  REQUIRE(run_attn({"convert", model, a}).code == 0);
  const std::string b = changed(folder, a, "dense_1/kernel", [](const attn::Tensor& kernel) {
    for (std::int64_t i = 0; i < kernel.size(); ++i) kernel.set(i, 1.01 * kernel.at(i));
  });
  const json report = compared({model, "--weights", a, "--weights", b});
  CHECK(report["first_difference"] == "dense_1");
  CHECK(report["weights_that_differ"] == json::array({"dense_1/kernel"}));
  CHECK(report["a"]["weights"] == a);
  CHECK(array(report, "dense")["max_abs_error"] == 0);
  CHECK(compared({model, "--weights", a, "--weights", a})["weights_that_differ"].empty());
}

TEST_CASE("compare: a file from the printed Keras script agrees, layer by layer, on the inputs in it") {
  const json report = compared({fixture("model/shared_layers/model.keras"), "--expect", kSharedLayers});
  CHECK(report["equal"] == true);
  CHECK(report["a"]["file"] == kSharedLayers);
  for (const json& input : report["inputs"]) CHECK(input["source"] == kSharedLayers);
  CHECK(report["layers_not_in_file"].empty());
  CHECK(report["parts_not_compared"].size() == 8);
  CHECK(array(report, "multi_head_attention[1][0]")["equal"] == true);
  CHECK(array(report, "layer_normalization[1]")["equal"] == true);
}

TEST_CASE("compare: the first array that differs from a file is named, with its worst element, and NaN is separate") {
  const TemporaryFolder folder;
  const std::string model = fixture("model/shared_layers/model.keras");
  const std::string off = changed(folder, kSharedLayers, "multi_head_attention[1][0]", [](const attn::Tensor& tensor) {
    tensor.set(2 * 16 + 5, tensor.at(2 * 16 + 5) + 1);
  });
  const json report = compared({model, "--expect", off});
  CHECK(report["first_difference"] == "multi_head_attention[1][0]");
  const json found = array(report, "multi_head_attention[1][0]");
  CHECK(found["mismatches"] == 1);
  CHECK(found["worst_index"] == json::array({0, 2, 5}));
  CHECK(found["a"].get<double>() - found["b"].get<double>() == doctest::Approx(1));
  CHECK(found["minimum_atol"].get<double>() == doctest::Approx(1).epsilon(0.01));
  const std::string nan = changed(folder, kSharedLayers, "layer_normalization", [](const attn::Tensor& tensor) {
    tensor.set(0, std::numeric_limits<double>::quiet_NaN());
  });
  const json broken = array(compared({model, "--expect", nan, "--atol", "100"}), "layer_normalization");
  CHECK(broken["not_finite_in_one"] == 1);
  CHECK(broken["minimum_atol"] == nullptr);
  const Result text = run_attn({"compare", model, "--expect", nan});
  CHECK(text.code == 1);
  CHECK(contains(text.out, "The first is 'layer_normalization' (LayerNormalization): 1 of 320 differ"));
  CHECK(contains(text.out, "NaN or Inf on one side only, which no tolerance allows: 1"));
  CHECK(contains(text.out, "no tolerance would let all pass"));
}

TEST_CASE("compare: the output of run --dump agrees to the bit with the same run") {
  const TemporaryFolder folder;
  const std::string dump = folder / "deep/dump";
  REQUIRE(run_attn({"run", "configs/vit_tiny.json", "--seed", "3", "--dump", dump}).code == 0);
  const json manifest = json::parse(read_text(dump + "/manifest.json"));
  CHECK(manifest["schema"] == "attn.dump/1");
  CHECK(manifest["seed"] == 3);
  const std::vector<NamedTensor> arrays = attn::io::read_tensors(dump + "/layers.npz");
  CHECK(arrays.size() == manifest["inputs"].size() + manifest["layers"].size());
  const json report =
      compared({"configs/vit_tiny.json", "--seed", "3", "--expect", dump, "--rtol", "0", "--atol", "0"});
  CHECK(report["layers_not_in_file"].empty());
  for (const json& item : report["arrays"])
    if (item["kind"] == "layer") CHECK(item["max_abs_error"] == 0);
  // Other weights and the same inputs.
  CHECK(compared({"configs/vit_tiny.json", "--seed", "4", "--expect", dump})["equal"] == false);
}

TEST_CASE("compare: a file of outputs is sufficient, and one of another model is rejected") {
  const json report = compared({fixture("model/encoder/model.keras"), "--input", fixture("model/encoder/inputs.npz"),
                                "--expect", fixture("model/encoder/outputs.npz")});
  CHECK(report["equal"] == true);
  CHECK(report["arrays"].size() == 1);
  const Result wrong = run_attn({"compare", "configs/encoder.json", "--expect", kSharedLayers, "--batch-size", "2"});
  CHECK(wrong.code != 0);
  const Result missing = run_attn({"compare", "--expect", "nowhere.npz"});
  CHECK(missing.code == 3);
  CHECK(contains(missing.err, "nowhere.npz"));
}

TEST_CASE("compare: two configs differ by keys with their pointers, and by their results") {
  const TemporaryFolder folder;
  CHECK(compared({"configs/encoder.json", "configs/encoder_keras.json"})["equal"] == true);
  json other = json::parse(read_text(attn::test::in_repository("configs/encoder.json")));
  other["num_heads"] = 4;
  const std::string path = folder.file("other.json", other.dump());
  const json report = compared({"configs/encoder.json", path});
  CHECK(report["kind"] == "config");
  REQUIRE(report["config"].size() == 1);
  const json& row = report["config"][0];
  CHECK(row["layer"] == "multi_head_attention");
  CHECK(row["pointer_a"] == "/config/layers/1/config/num_heads");
  CHECK(row["pointer_b"] == row["pointer_a"]);
  CHECK(row["a"] == 8);
  CHECK(row["b"] == 4);
  REQUIRE(report["layers"].size() == 1);
  CHECK(report["layers"][0]["what"] == "params");
  CHECK(report["layers"][0]["a"] == "1,050,624");
  CHECK(report["a"]["total_params"] == 3415040);
  CHECK(report["b"]["total_params"] < 3415040);
  for (const char* format : {"table", "markdown"})
    CHECK(contains(run_attn({"compare", "configs/encoder.json", path, "--format", format}).out, "num_heads"));
}

TEST_CASE("compare: a renumbered layer is the same layer, and an inserted one is one difference") {
  const TemporaryFolder folder;
  const std::string text = run_attn({"get-config", "configs/encoder.json"}).out;
  std::string renamed = text;
  for (std::size_t at = 0; (at = renamed.find("\"dense_2\"", at)) != std::string::npos; at += 9)
    renamed.replace(at, 9, "\"dense_7\"");
  const std::string a = folder.file("a.json", text), b = folder.file("b.json", renamed);
  const json report = compared({a, b});
  REQUIRE(report["config"].size() == 1);
  CHECK(report["config"][0]["layer"] == "dense_2");
  CHECK(report["config"][0]["a"] == "dense_2");
  CHECK(report["config"][0]["b"] == "dense_7");
  CHECK(report["layers"].empty());

  // Adds a second Dropout, which the addition then reads.
  json more = json::parse(text);
  json extra = more["config"]["layers"][2];
  REQUIRE(extra["class_name"] == "Dropout");
  extra["name"] = extra["config"]["name"] = "put_in";
  extra["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = "dropout_1";
  json& addition = more["config"]["layers"][3];
  addition["inbound_nodes"][0]["args"][1]["config"]["keras_history"][0] = "put_in";
  more["config"]["layers"].insert(more["config"]["layers"].begin() + 3, extra);
  const json added = compared({a, folder.file("c.json", more.dump())});
  REQUIRE(added["config"].size() == 2);
  CHECK(added["config"][0]["layer"] == "add");
  CHECK(added["config"][0]["pointer_a"] == "/config/layers/3/inbound_nodes/0/args/1/config/keras_history/0");
  CHECK(added["config"][0]["pointer_b"] == "/config/layers/4/inbound_nodes/0/args/1/config/keras_history/0");
  CHECK(added["config"][1]["layer"] == "put_in");
  CHECK(added["config"][1]["pointer_a"] == nullptr);
  CHECK(added["config"][1]["pointer_b"] == "/config/layers/3");
  CHECK(added["config"][1]["b"] == "Dropout");
}

TEST_CASE("compare: two files with weights are compared by weights too, and one without is named") {
  const TemporaryFolder folder;
  const std::string config =
      folder.file("config.json", R"({"input_shape": [4, 8], "num_heads": 2, "intermediate_dim": 8})");
  const auto made = [&](const char* name, const char* seed) {
    CHECK(run_attn({"init", config, "--seed", seed, "-o", folder / name}).code == 0);
    return folder / name;
  };
  const std::string a = made("a.keras", "1"), again = made("again.keras", "1"), b = made("b.keras", "2");
  CHECK(compared({a, again})["weights"]["equal"] == true);
  const json report = compared({a, b});
  CHECK(report["equal"] == false);
  CHECK(report["config"].empty());
  CHECK(report["weights"]["equal"] == false);
  for (const char* format : {"table", "markdown"}) {
    const Result result = run_attn({"compare", a, b, "--format", format});
    CHECK(result.code == 1);
    CHECK(contains(result.out, "query/kernel"));
    CHECK(contains(result.out, "0 differences in the config, 0 in shapes and parameters"));
  }
  CHECK(compared({a, config})["weights"].is_null());
  CHECK(contains(run_attn({"compare", a, config}).out, "weights were not compared: " + config + " holds none"));
  const Result twice = run_attn({"compare", "-", "-"});
  CHECK(twice.code == 2);
  CHECK(contains(twice.err, "only one of the two models can be -"));
}

TEST_CASE("compare: an impossible comparison is a usage error that lists the possible ones") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--backend", "reference"},
        {"--backend", "reference,onednn,cuda"},
        {"--dtype", "float32,"},
        {"--threads", "1,x"},
        {"--matmul-precision", "highest,best"},
        {"--expect", kSharedLayers, "--dtype", "float32,bfloat16"},
        {"configs/encoder.json", "configs/encoder.json", "--backend", "reference,onednn"},
        {"--weights", "a", "--weights", "b", "--weights", "c"}}) {
    CAPTURE(arguments.back());
    std::vector<std::string> all{"compare"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Result result = run_attn(all);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_FALSE(result.err.empty());
  }
}

TEST_CASE("compare: names from a file are printed as text in every form") {
  const std::string evil = "=x\x1b]8;;http://e\x07<script>|\xe2\x80\xae";
  json model = json::parse(run_attn({"get-config", "configs/encoder.json"}).out);
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.json", model.dump());
  std::string text = model.dump();
  const std::string quoted = json(evil).dump();
  for (std::size_t at = 0; (at = text.find("\"dense_2\"", at)) != std::string::npos; at += quoted.size())
    text.replace(at, 9, quoted);
  const std::string hostile = folder.file("hostile.json", text);
  for (const char* format : {"table", "json", "markdown"}) {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{plain, hostile}, {hostile}}) {
      CAPTURE(format);
      std::vector<std::string> all{"compare", "--format", format};
      all.insert(all.end(), arguments.begin(), arguments.end());
      const Result result = run_attn(all);
      CAPTURE(result.err);
      CHECK(result.code <= 1);
      CHECK(contains(result.out, "script"));
      CHECK_FALSE(contains(result.out, "\x1b"));
      CHECK_FALSE(contains(result.out, "\x07"));
      CHECK_FALSE(contains(result.out, "\xe2\x80\xae"));
      if (std::string(format) == "markdown") CHECK_FALSE(contains(result.out, "<script"));
    }
  }
}

TEST_CASE("compare: the script for Keras is printed in full") {
  const Result result = run_attn({"compare", "--print-keras-script"});
  CHECK(result.code == 0);
  CHECK(result.out.rfind("#!/usr/bin/env python3\n", 0) == 0);
  CHECK(contains(result.out, "np.savez("));
  CHECK(result.out.ends_with("main()\n"));
}

TEST_CASE("run: --dump requires a single pass, and reports a folder that cannot be created") {
  CHECK(run_attn({"run", "--dump", "x", "--skip-padding"}).code == 2);
  const TemporaryFolder folder;
  const std::string file = folder.file("file", "");
  const Result result = run_attn({"run", "--dump", file});
  CHECK(result.code == 3);
  CHECK(contains(result.err, "file"));
}
