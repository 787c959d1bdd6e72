// Models with custom layers: everything that works without their code.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../capture.h"
#include "../places.h"
#include "../text.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

std::string custom(const std::string& name) { return in_repository("tests/data/custom/" + name); }

json row(const json& summary, const std::string& name) {
  for (const json& layer : summary["layers"])
    if (layer["name"] == name) return layer;
  return {};
}

TEST_CASE("custom layers: summary shows a row for each, with the archive's parameters, as Keras counts them") {
  for (const std::string name : {"classifier", "residual", "tagger"}) {
    CAPTURE(name);
    const json meta = json::parse(read_text(custom(name + "/meta.json")));
    const Result result = run_attn({"summary", custom(name + "/model.keras"), "--json"});
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    const json summary = json::parse(result.out);
    CHECK(summary["total_params"] == meta["total_params"]);
    if (name == "tagger") continue;  // its rows are attributes
    for (const auto& [layer, params] : meta["layers"].items()) {
      CAPTURE_BINDING(layer);
      CHECK(row(summary, layer)["params"] == params);
    }
  }
}

TEST_CASE("custom layers: a shape comes from the layers behind, and is unknown without them") {
  const json classifier = json::parse(run_attn({"summary", custom("classifier/model.keras"), "--json"}).out);
  CHECK(row(classifier, "token_and_position_embedding")["output_shape"] == json::parse("[null, 12, 16]"));
  CHECK(row(classifier, "transformer_block")["output_shape"].is_null());
  CHECK(row(classifier, "dropout_3")["output_shape"] == json::parse("[null, 16]"));
  CHECK(row(classifier, "transformer_block")["custom"] == true);
  CHECK_FALSE(row(classifier, "dense").contains("custom"));
  const json residual = json::parse(run_attn({"summary", custom("residual/model.keras"), "--json"}).out);
  CHECK(row(residual, "gated")["output_shape"].is_null());
  CHECK(row(residual, "head")["output_shape"] == json::parse("[null, 6, 3]"));
  CHECK(contains(run_attn({"summary", custom("residual/model.keras")}).out, "?"));
}

TEST_CASE("custom layers: weights, plot, validate and explain open the model") {
  const std::string model = custom("classifier/model.keras");
  const Result weights = run_attn({"weights", model});
  CHECK(weights.code == 0);
  CHECK(weights.err.empty());
  CHECK(contains(weights.out, "transformer_block/att/query_dense"));
  CHECK(contains(run_attn({"plot", model, "--format", "svg"}).out, "TransformerBlock"));
  const Result validate = run_attn({"validate", model});
  CHECK(validate.code == 0);
  CHECK(contains(validate.out, "'transformer_block' (TransformerBlock) has a custom class"));
  CHECK(contains(
      validate.out,
      "`attn run` rejects it; `attn flatten-script` prints a Python script that replaces it by built-in layers"));
  CHECK(run_attn({"validate", model, "--strict"}).code == 3);
  const Result explain = run_attn({"explain", model, "transformer_block"});
  CAPTURE(explain.err);
  CHECK(explain.code == 0);
  CHECK(contains(explain.out, "TransformerBlock"));
  CHECK(run_attn({"explain", model, "dense_3"}).code == 0);
  CHECK(run_attn({"summary", model, "--depth", "2"}).code == 0);
  CHECK(run_attn({"get-config", model}).code == 0);
}

TEST_CASE("custom layers: a class from a notebook is shown for every form of file, with the way out") {
  const json meta = json::parse(read_text(custom("notebook/meta.json")));
  for (const char* form : {"model.keras", "model.h5"}) {
    CAPTURE(form);
    const Result result = run_attn({"summary", custom(std::string("notebook/") + form), "--json"});
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    CHECK(contains(result.err, "not built in: Gate"));
    CHECK(contains(result.err, "attn flatten-script"));
    const json summary = json::parse(result.out);
    CHECK(summary["total_params"] == meta["total_params"]);
    for (const auto& [layer, params] : meta["layers"].items()) CHECK(row(summary, layer)["params"] == params);
    CHECK(row(summary, "gate")["custom"] == true);
    for (const char* command : {"plot", "validate", "get-config"}) {
      CAPTURE(command);
      const Result shown = run_attn({command, custom(std::string("notebook/") + form)});
      CHECK_MESSAGE(shown.code == 0, shown.err);
      CHECK(contains(shown.out + shown.err, "attn flatten-script"));
    }
    CHECK(run_attn({"explain", custom(std::string("notebook/") + form), "gate"}).code == 0);
    const Result run = run_attn({"run", custom(std::string("notebook/") + form)});
    CHECK(run.code == 3);
    CHECK(contains(run.err, "only built-in classes run"));
    CHECK(contains(run.err, "attn flatten-script"));
  }
}

TEST_CASE("custom layers: parameters that the file lacks are unknown, and so are the totals") {
  const std::string model = custom("notebook/model.json");
  const Result result = run_attn({"summary", model, "--json"});
  REQUIRE(result.code == 0);
  CHECK(contains(result.err, "the parameters of custom layers are unknown"));
  const json summary = json::parse(result.out);
  for (const char* total : {"total_params", "trainable_params", "non_trainable_params", "total_bytes"})
    CHECK(summary[total].is_null());
  CHECK(row(summary, "gate")["params"].is_null());
  CHECK(row(summary, "inner")["params"].is_null());  // it contains a custom layer
  CHECK(row(summary, "head")["params"] == 14);
  const std::string table = run_attn({"summary", model}).out;
  CHECK(contains(table, "Total params: unknown, at least 56"));
  CHECK_FALSE(contains(table, "unbuilt"));
  CHECK(contains(run_attn({"summary", model, "--format", "markdown"}).out, "Total params: unknown, at least 56"));
}

TEST_CASE("custom models: a subclass of Functional or Sequential is opened under its own name") {
  const std::string inputs = custom("subclass/inputs.npz");
  for (const auto& [file, expected] : {std::pair("functional.keras", "functional"),
                                       {"functional.h5", "functional"},
                                       {"sequential.keras", "sequential"},
                                       {"around.keras", "around"}}) {
    CAPTURE_BINDING(file);
    const std::string model = custom(std::string("subclass/") + file);
    const Result run =
        run_attn({"run", model, "--input", inputs, "--expect", custom("subclass/" + std::string(expected) + ".npz")});
    CHECK_MESSAGE(run.code == 0, run.err << run.out);
    const TemporaryFolder folder;
    const Result converted = run_attn({"convert", model, folder / "again.keras"});
    CHECK_MESSAGE(converted.code == 0, converted.err);
    const json before = json::parse(run_attn({"summary", model, "--json"}).out);
    CHECK(json::parse(run_attn({"summary", folder / "again.keras", "--json"}).out) == before);
  }
  for (const char* file : {"functional.keras", "functional.h5", "functional.json"}) {
    CAPTURE(file);
    const Result summary = run_attn({"summary", custom(std::string("subclass/") + file), "--json"});
    REQUIRE_MESSAGE(summary.code == 0, summary.err);
    CHECK(summary.err.empty());
    CHECK(json::parse(summary.out)["class_name"] == "Trainer");
    const json config = json::parse(run_attn({"get-config", custom(std::string("subclass/") + file)}).out);
    CHECK(config["class_name"] == "Trainer");
    // .h5 has no packages.
    CHECK(config["registered_name"] == (std::string(file).ends_with("h5") ? "Trainer" : "mine>Trainer"));
  }
}

TEST_CASE("custom layers: a class is identified by module and registration, not only by name") {
  const TemporaryFolder folder;
  const auto model = [](const std::string& class_and_module) {
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 4]}}, {)" +
           class_and_module +
           R"(, "config": {"name": "l", "trainable": true}, "build_config": {"input_shape": [null, 4]}}]}})";
  };
  for (const char* other :
       {R"("module": "keras_hub.src.models.sam.sam_layers", "class_name": "MLP", "registered_name": "keras_hub>MLP")",
        R"("module": "keras_hub.src.layers.modeling.rms_normalization", "class_name": "RMSNormalization")",
        R"("module": null, "class_name": "RMSNormalization", "registered_name": "RMSNormalization")",
        R"("class_name": "mine>LayerNormalization")"}) {
    CAPTURE(other);
    const std::string path = folder.file("m.json", model(other));
    const Result summary = run_attn({"summary", path, "--json"});
    REQUIRE_MESSAGE(summary.code == 0, summary.err);
    CHECK(row(json::parse(summary.out), "l")["custom"] == true);
    CHECK(contains(summary.err, "attn flatten-script"));
    CHECK(run_attn({"run", path}).code == 3);
  }
  const Result built_in = run_attn(
      {"summary", folder.file("b.json", model(R"("module": "keras.layers", "class_name": "RMSNormalization")")),
       "--json"});
  CHECK_FALSE(row(json::parse(built_in.out), "l").contains("custom"));
  const Result misspelled = run_attn({"summary", folder.file("t.json", model(R"("class_name": "RMSNormalisation")"))});
  CHECK(misspelled.code == 3);
  CHECK(contains(misspelled.err, "did you mean 'RMSNormalization'?"));
}

TEST_CASE("custom layers: a Keras wrapper around one is a row too") {
  const TemporaryFolder folder;
  const std::string inner = R"({"module": "mine", "class_name": "Block", "config": {"name": "b", "trainable": true}})";
  for (const auto& [outer, key] : {std::pair("TimeDistributed", "layer"),
                                   {"Bidirectional", "layer"},
                                   {"RNN", "cell"},
                                   {"SpectralNormalization", "layer"}}) {
    CAPTURE_BINDING(outer);
    const std::string path =
        folder.file("m.json", R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 5, 4]}},
      {"module": "keras.layers", "class_name": ")" +
                                  std::string(outer) + R"(", "config": {"name": "around", "trainable": true, ")" + key +
                                  R"(": )" + inner + R"(}, "build_config": {"input_shape": [null, 5, 4]}}]}})");
    const Result summary = run_attn({"summary", path, "--json"});
    REQUIRE_MESSAGE(summary.code == 0, summary.err);
    CHECK(row(json::parse(summary.out), "around")["custom"] == true);
    const Result run = run_attn({"run", path});
    CHECK(run.code == 3);
    CHECK(contains(run.err, "the class 'Block' of the module 'mine' is not Keras's"));
  }
}

TEST_CASE("custom layers: running one is an error that names what is missing and the way out") {
  for (const char* name : {"classifier", "tagger"})
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"run"}, {"bench"}, {"heatmap"}, {"plan"}, {"summary", "--costs"}}) {
      std::vector<std::string> words = command;
      words.insert(words.begin() + 1, custom(std::string(name) + "/model.keras"));
      CAPTURE(words);
      const Result result = run_attn(words);
      CHECK(result.code == 3);
      CHECK(contains(result.err, "only built-in classes run"));
      CHECK(contains(result.err, "attn flatten-script"));
    }
}

TEST_CASE("custom layers: a Lambda and a lambda activation are shown, and running them is an error with the way out") {
  const TemporaryFolder folder;
  const auto model = [](const std::string& layer) {
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 4]}}, )" +
           layer + R"(, {"class_name": "Dense", "config": {"name": "d", "units": 2, "trainable": true},
        "build_config": {"input_shape": [null, 3]}}]}})";
  };
  const std::string lambda = R"({"class_name": "Lambda", "config": {"name": "l", "trainable": true,
    "function": {"class_name": "__lambda__", "config": {"code": "4wEA", "defaults": null, "closure": null}}}})";
  const auto with_activation = [](const std::string& activation) {
    return R"({"class_name": "Dense", "config": {"name": "a", "trainable": true, "units": 3, "activation": )" +
           activation + "}}";
  };
  for (const auto& [layer, reason] :
       {std::pair(lambda, "the layer 'Lambda' is refused: it carries Python code"),
        {with_activation(R"({"value": ["4wEA", null, null]})"), "a lambda is Python code, which is never run"},
        {with_activation(R"({"class_name": "__lambda__", "config": {"code": "4wEA"}})"), "a lambda is Python code"},
        {with_activation(R"({"class_name": "function", "config": "<lambda>"})"), "a lambda is Python code"}}) {
    CAPTURE_BINDING(layer);
    const std::string path = folder.file("m.json", model(layer));
    const Result summary = run_attn({"summary", path});
    CHECK_MESSAGE(summary.code == 0, summary.err);
    const Result validate = run_attn({"validate", path});
    CHECK(contains(validate.out, "carries Python code, which is not run"));
    const Result run = run_attn({"run", path});
    CHECK(run.code == 3);
    CHECK_MESSAGE(contains(run.err, reason), run.err);
    CHECK(contains(run.err, "attn flatten-script"));
  }
}

TEST_CASE("flatten-script: a flattened model computes Keras's results") {
  for (const std::string name : {"classifier", "residual"}) {
    CAPTURE(name);
    const Result result = run_attn({"run", custom(name + "/flat.keras"), "--input", custom(name + "/inputs.npz"),
                                    "--expect", custom(name + "/outputs.npz"), "--rtol", "1e-4", "--atol", "1e-5"});
    CAPTURE(result.out);
    CHECK(result.code == 0);
    CHECK(contains(result.out, "  weights: "));
  }
}

TEST_CASE("flatten-script: the script knows the classes that attn runs") {
  const Result result = run_attn({"flatten-script"});
  CHECK(result.code == 0);
  CHECK(result.out.starts_with("#!/usr/bin/env python3\n"));
  CHECK_FALSE(contains(result.out, "%LAYERS%"));
  CHECK(contains(result.out, "MultiHeadAttention"));
  CHECK(contains(result.out, "GroupedQueryAttention"));
  CHECK(contains(result.out, "keras_hub.src.models.vit.vit_layers.MLP"));
  CHECK_FALSE(contains(result.out, "FlaxLayer"));
}

}  // namespace
}  // namespace attn::test
