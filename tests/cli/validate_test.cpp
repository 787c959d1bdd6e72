// attn validate: all problems at once, with their locations.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::fixture;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using nlohmann::json;

namespace {

json validated(const std::string& text, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"validate", "-", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Result result = run_attn(arguments, text);
  CHECK(result.err.empty());
  const json out = json::parse(result.out);
  CHECK(result.code == (out["valid"].get<bool>() ? 0 : 3));
  return out;
}

/// The built-in encoder as Keras JSON, for tests to damage.
json encoder() { return json::parse(run_attn({"get-config", "configs/encoder.json"}).out); }

json& layer(json& model, const std::string& name) {
  for (json& layer : model["config"]["layers"])
    if (layer["name"] == name) return layer;
  return model;
}

std::vector<std::string> pointers(const json& report) {
  std::vector<std::string> out;
  for (const json& problem : report["problems"]) out.push_back(problem["pointer"]);
  return out;
}

}  // namespace

TEST_CASE("validate: a valid config has no problems and exit code 0") {
  const Result result = run_attn({"validate"});
  CHECK(result.code == 0);
  CHECK(result.out == "built-in encoder: no problems\n");
  CHECK(result.err.empty());
}

TEST_CASE("validate: all cases are valid") {
  namespace fs = std::filesystem;
  for (const auto& entry : fs::recursive_directory_iterator(fixture(""))) {
    if (entry.path().filename() != "model.json") continue;
    const std::string path = entry.path().string();
    CAPTURE(path);
    const Result result = run_attn({"validate", path});
    CAPTURE(result.out);
    CHECK(result.code == 0);
  }
}

TEST_CASE("validate: problems in several layers, fields, names and calls are reported at once, in the file's order") {
  json model = encoder();
  json& attention = layer(model, "multi_head_attention")["config"];
  attention.erase("num_heads");
  attention["num_head"] = 8;
  attention["key_dim"] = "64";
  attention["dropout"] = true;
  layer(model, "dense")["class_name"] = "Dens";
  layer(model, "dense_1")["config"]["activation"] = "rleu";
  layer(model, "add_1")["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = "layer_normalizaton";
  model["config"]["output_layers"] = json::array({"dense_3", 0, 0});
  const json report = validated(model.dump(1));
  std::vector<std::string> messages;
  for (const json& problem : report["problems"]) {
    messages.push_back(problem["message"]);
    CHECK(problem["severity"] == "error");
    CHECK(problem["line"].get<int>() > 0);
    CHECK(problem["column"].get<int>() > 0);
    CHECK(problem["file"] == "stdin");
  }
  const auto has = [&](const std::string& pointer, const std::string& message) {
    CAPTURE(pointer);
    CAPTURE(message);
    bool found = false;
    for (const json& problem : report["problems"])
      found = found || (contains(problem["pointer"], pointer) && contains(problem["message"], message));
    CHECK(found);
  };
  has("/config/layers/1/config/num_head", "unknown key (did you mean 'num_heads'?)");
  has("/config/layers/1/config", "the key 'num_heads' is missing");
  has("/config/layers/1/config/key_dim", "expected an integer > 0, got \"64\"");
  has("/config/layers/1/config/dropout", "expected a number, got true");
  has("/config/layers/5/class_name", "the layer 'Dens' is not known (did you mean 'Dense'?)");
  has("/config/layers/6/config/activation", "unknown activation 'rleu' (did you mean 'relu'?)");
  has("/inbound_nodes/0", "there is no layer 'layer_normalizaton' (did you mean 'layer_normalization'?)");
  has("/config/output_layers", "there is no layer 'dense_3'");
  CHECK(report["errors"] == 8);
  CHECK(report["valid"] == false);
  for (const json& problem : report["problems"]) {
    if (contains(problem["message"], "num_head"))
      if (contains(problem["message"], "unknown")) CHECK(problem["did_you_mean"] == "num_heads");
    if (problem["pointer"] == "/config/layers/1/config/key_dim") CHECK(problem["expected"] == "an integer > 0");
  }
}

TEST_CASE("validate: shapes are checked wherever they follow from valid parts") {
  json model = encoder();
  // This layer is invalid; layers that read it are not reported.
  layer(model, "multi_head_attention")["config"]["key_dim"] = 0;
  // Has a separate path from the input.
  json reshape = {{"module", "keras.layers"},
                  {"class_name", "Reshape"},
                  {"config", {{"name", "side"}, {"target_shape", {7, 7}}}},
                  {"name", "side"},
                  {"registered_name", nullptr},
                  {"inbound_nodes", layer(model, "dropout_1")["inbound_nodes"]}};
  reshape["inbound_nodes"][0]["args"][0]["config"]["keras_history"] = json::array({"input_layer", 0, 0});
  model["config"]["layers"].push_back(reshape);
  const json report = validated(model.dump());
  CHECK(report["errors"] == 2);
  CHECK(contains(report["problems"][0]["pointer"], "/config/layers/1/config/key_dim"));
  CHECK(contains(report["problems"][1]["message"], "cannot be reshaped"));
}

TEST_CASE("validate: unknown regularizers and constraints are reported in every layer") {
  json model = encoder();
  layer(model, "multi_head_attention")["config"]["kernel_regularizer"] = "foo";
  layer(model, "dropout_1")["config"]["activity_regularizer"] = "l3";
  layer(model, "layer_normalization")["config"]["gamma_constraint"] = "unit_nrom";
  layer(model, "dense")["config"]["bias_constraint"] = "L2";
  layer(model, "dense_1")["config"]["kernel_regularizer"] = "l1l2";
  const json report = validated(model.dump(1));
  CHECK(pointers(report) == std::vector<std::string>{"/config/layers/1/config/kernel_regularizer",
                                                     "/config/layers/2/config/activity_regularizer",
                                                     "/config/layers/4/config/gamma_constraint",
                                                     "/config/layers/5/config/bias_constraint"});
  CHECK(report["problems"][0]["message"] == "unknown regularizer 'foo'");
  CHECK(report["problems"][1]["did_you_mean"] == "L1");  // the first of several
  CHECK(report["problems"][2]["message"] == "unknown constraint 'unit_nrom' (did you mean 'unit_norm'?)");
  CHECK(report["problems"][3]["message"] == "unknown constraint 'L2'");

  for (const char* name : {"L1", "l1", "L2", "l2", "L1L2", "l1l2", "OrthogonalRegularizer", "orthogonal_regularizer"}) {
    json right = encoder();
    layer(right, "dense")["config"]["kernel_regularizer"] = name;
    layer(right, "dropout_1")["config"]["activity_regularizer"] = name;
    CHECK(validated(right.dump())["errors"] == 0);
  }
  for (const char* name : {"MaxNorm", "max_norm", "MinMaxNorm", "min_max_norm", "NonNeg", "non_neg", "UnitNorm"}) {
    json right = encoder();
    layer(right, "dense")["config"]["kernel_constraint"] = name;
    CHECK(validated(right.dump())["errors"] == 0);
  }
}

TEST_CASE("validate: chains, nested models and short configs are checked too") {
  const std::string chain = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 8], "name": "i"}},
    {"class_name": "Reshape", "config": {"name": "r", "target_shape": [5, 5]}},
    {"class_name": "Dense", "config": {"name": "d", "unit": 2}},
    {"class_name": "Dense", "config": {"name": "e", "units": 0}}]}})";
  CHECK(pointers(validated(chain)) == std::vector<std::string>{"/config/layers/1/config", "/config/layers/2/config",
                                                               "/config/layers/2/config/unit",
                                                               "/config/layers/3/config/units"});
  const json short_config = validated("{\"input_shape\": [50, 512],\n \"num_head\": 8,\n \"activation\": \"rleu\"}");
  CHECK(pointers(short_config) == std::vector<std::string>{"", "", "/num_head", "/activation"});
  CHECK(short_config["problems"][0]["message"] == "the key 'intermediate_dim' is missing");
  CHECK(short_config["problems"][1]["message"] == "the key 'num_heads' is missing");
  CHECK(short_config["problems"][2]["line"] == 2);
  CHECK(short_config["problems"][2]["did_you_mean"] == "num_heads");
  CHECK(short_config["problems"][3]["line"] == 3);
  const json broken = validated("{\"input_shape\": [50, 512}");
  CHECK(broken["errors"] == 1);
  CHECK(broken["problems"][0]["line"] == 1);
  CHECK(contains(broken["problems"][0]["message"], "not valid JSON"));
}

TEST_CASE("validate: problems of a short config have places in the file, not in the generated config") {
  const std::string sizes = R"({"input_shape": [50, 512], "num_heads": 8, "intermediate_dim": 64,)";
  for (const char* rate : {"1.5", "-0.5"}) {
    CAPTURE(rate);
    const json report = validated(sizes + "\n \"dropout\": " + rate + ", \"unit\": 2}");
    CHECK(pointers(report) == std::vector<std::string>{"/dropout", "/unit"});
    CHECK(report["problems"][0]["line"] == 2);
    CHECK(report["problems"][0]["column"] == 13);
    CHECK(report["problems"][0]["expected"] == "a number from 0 to 1");
  }
  CHECK(pointers(validated(sizes + R"("layers": [{"dropout": 0.1}, {"dropout": 2}], "unit": 2})")) ==
        std::vector<std::string>{"/layers/1/dropout", "/unit"});
  CHECK(pointers(validated(R"({"vocabulary_size": 9, "dropout": 7})")) ==
        std::vector<std::string>{"", "", "", "", "/dropout"});  // the head count, inner width, length and width are
                                                                // missing
  const json shape = validated(R"({"input_shape": "50, \u202e512", "num_heads": 8, "intermediate_dim": 64})");
  REQUIRE(pointers(shape) == std::vector<std::string>{"/input_shape"});  // reported once: an unreadable shape has no
                                                                         // rank
  CHECK(shape["problems"][0]["expected"] == "a list of dimensions");

  const json heads = validated("{\"input_shape\": [5, 10],\n \"num_heads\": 4, \"intermediate_dim\": 8}");
  REQUIRE(heads["warnings"] == 1);
  CHECK(heads["problems"][0]["pointer"] == "/num_heads");
  CHECK(heads["problems"][0]["line"] == 2);
  CHECK(heads["problems"][0]["column"] == 15);
  const json block = validated(sizes + R"("layers": [{}, {"num_heads": 3}]})");
  CHECK(pointers(block) == std::vector<std::string>{"/layers/1/num_heads"});
}

TEST_CASE("validate: lost masks, heads that do not fill the width and numbers beyond float16 are warnings") {
  const json heads = validated(R"({"input_shape": [5, 10], "num_heads": 4, "intermediate_dim": 8})");
  CHECK(heads["errors"] == 0);
  REQUIRE(heads["warnings"] == 1);
  CHECK(contains(heads["problems"][0]["message"], "has 4 heads, which do not divide its width of 10: 4 of 2 make 8"));
  CHECK(run_attn({"validate", "-"}, R"({"input_shape": [5, 10], "num_heads": 4, "intermediate_dim": 8})").code == 0);
  CHECK(run_attn({"validate", "-", "--strict"}, R"({"input_shape": [5, 10], "num_heads": 4, "intermediate_dim": 8})")
            .code == 3);

  const std::string masked = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i", "dtype": "int32"}},
    {"class_name": "Embedding", "config": {"name": "e", "input_dim": 9, "output_dim": 8, "mask_zero": true}},
    {"class_name": "Conv1D", "config": {"name": "c", "filters": 3, "kernel_size": 2}}]}})";
  const json masks = validated(masked);
  REQUIRE(masks["warnings"] == 1);
  CHECK(contains(masks["problems"][0]["message"], "does not support masks"));
  CHECK(masks["problems"][0]["pointer"] == "/config/layers/2/config");
  CHECK(masks["problems"][0]["line"] == 4);

  json half = encoder();
  json& attention = layer(half, "multi_head_attention")["config"];
  attention["dtype"]["config"]["name"] = "mixed_float16";
  const json range = validated(half.dump());
  CHECK(range["errors"] == 0);
  bool told = false;
  for (const json& problem : range["problems"]) told = told || contains(problem["message"], "over 65504");
  CHECK(told);
}

TEST_CASE("validate: records have the expected value, as JSON has") {
  const Result result = run_attn({"validate", "-", "--format", "csv"},
                                 R"({"input_shape": [4, 8], "num_heads": "2", "intermediate_dim": 8})");
  CHECK(contains(result.out, "severity,file,line,column,pointer,message,expected,did_you_mean"));
  CHECK(contains(result.out, ",an integer > 0,"));
}

TEST_CASE("validate: names from a file are printed as text in every form") {
  json model = encoder();
  const std::string evil = "=x\x1b[31m<script>\xe2\x80\xae";
  layer(model, "dense")["config"][evil] = 1;
  layer(model, "dense_1")["class_name"] = evil;
  for (const char* format : {"table", "json", "markdown", "csv"}) {
    CAPTURE(format);
    const Result result = run_attn({"validate", "-", "--format", format}, model.dump());
    CHECK(result.code == 3);
    CHECK(contains(result.out, "script>"));
    CHECK_FALSE(contains(result.out, "\x1b"));
    CHECK_FALSE(contains(result.out, "\xe2\x80\xae"));
    if (std::string(format) == "markdown") CHECK_FALSE(contains(result.out, "<script"));
  }
}

TEST_CASE("validate: a file that is missing, or has no config, is one error on stderr") {
  const Result missing = run_attn({"validate", "nowhere.json"});
  CHECK(missing.code == 3);
  CHECK(missing.out.empty());
  CHECK(contains(missing.err, "nowhere.json"));
}
