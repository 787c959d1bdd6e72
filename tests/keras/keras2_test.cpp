// Forms of Keras 2 configs that tf_keras no longer writes, and features that Keras 3 does not have; numbers are checked
// in tests/compat.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/keras/model.h"

namespace {

using namespace attn;

/// A functional model of Keras 2: x (4, 6) → `layers` → the layer named "y".
std::string model_json(const std::string& layers) {
  return R"({"class_name": "Model", "keras_version": "2.2.4", "backend": "tensorflow", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
     "config": {"batch_input_shape": [null, 4, 6], "dtype": "float32", "sparse": false, "name": "x"}},
    )" + layers +
         R"(], "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]}})";
}

std::string one_layer(const std::string& class_name, const std::string& config, const std::string& more = "{}") {
  return fmt::format(R"({{"class_name": "{}", "name": "y", "config": {{"name": "y"{}}},
    "inbound_nodes": [[["x", 0, 0, {}]]]}})",
                     class_name, config.empty() ? "" : ", " + config, more);
}

std::string function(const std::string& name, const std::string& first, const std::string& arguments) {
  return fmt::format(R"({{"class_name": "TFOpLambda", "name": "y", "config": {{"name": "y", "function": "{}"}},
    "inbound_nodes": [[{}, {{{}}}]]}})",
                     name, first, arguments);
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(keras::Model::read("m.json", text));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "accepted";
}

std::string config_of(const std::string& text) {
  keras::ConfigOptions options;
  options.format = keras::ConfigFormat::python;
  options.layer = "y";
  return keras::Model::read("m.json", text).config(options);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("keras 2: features that Keras 3 lacks are rejected with place and reason") {
  struct Row {
    std::string layers, reason;
  };
  const std::string x = R"("x", 0, 0)";
  const std::vector<Row> rows = {
      {one_layer("CuDNNLSTM", R"("units": 3)"),
       "/config/layers/1/class_name: Keras 2's layer 'CuDNNLSTM' cannot be read"},
      {one_layer("LocallyConnected1D", R"("filters": 3)"), "Keras 3 has no such layer"},
      {one_layer("TensorFlowOpLayer", ""), "holds a TensorFlow graph"},
      {one_layer("LSTM", R"("units": 3, "time_major": true)"),
       "Keras 3's LSTM has no 'time_major': only false is accepted"},
      {one_layer("BatchNormalization", R"("axis": [1, 2])"), "over one axis, got 2"},
      {one_layer("Conv1DTranspose", R"("filters": 2, "kernel_size": [2], "groups": 2)"), "only 1 is accepted"},
      {one_layer("Dense", R"("units": 3, "unit": 4)"),
       "/config/layers/1/config/unit: unknown key (did you mean 'units'?)"},
      {one_layer("Dense", R"("units": 3, "activation": "rel")"), "unknown activation 'rel' (did you mean"},
      {function("linalg.band_part", x, R"("num_lower": -1)"), "tf.linalg.band_part has no counterpart here"},
      {function("einsum", R"("_CONSTANT_VALUE", -1, "ab->ba")", ""), "tf.einsum has no counterpart here"},
      {function("math.add", x, ""), "tf.math.add of 'y': the argument 'y' is missing"},
      {function("math.add", x, R"("y": 1.0, "wild": 2)"), "the argument wild=2 is not supported"},
      {function("math.cumsum", x, R"("axis": 1, "reverse": true)"), "only reverse=False is supported"},
      {function("reshape", x, R"("shape": ["a"])"), "expected a list of integers"},
      {function("split", x, R"("num_or_size_splits": [2, -1])"), "the sizes of the parts must be given"},
      {one_layer("Dense", R"("units": 3)", R"({"mask": ["z", 0, 0]})"), "'mask'"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.layers);
    const std::string got = refusal(model_json(row.layers));
    CAPTURE(got);
    CHECK(has(got, row.reason));
  }
}

TEST_CASE("keras 2: a Lambda is shown as a row, and its code is never run") {
  const keras::Model model = keras::Model::read("m.json", model_json(one_layer("Lambda", R"("function": "f")")));
  CHECK(model.custom_classes() == std::vector<std::string>{"Lambda"});
  std::string said;
  try {
    static_cast<void>(model.lower({}));
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(has(said, "it carries Python code"));
}

TEST_CASE("keras 2: places in messages are those of the file, also with inserted layers") {
  const std::string text = R"({"class_name": "Sequential", "keras_version": "2.1.0", "config": [
    {"class_name": "Dense", "config": {"name": "a", "units": 3, "batch_input_shape": [null, 4]}},
    {"class_name": "Dense", "config": {"name": "b", "unitz": 3}}]})";
  CHECK(refusal(text) == "m.json:3:53: /config/1/config/unitz: unknown key (did you mean 'units'?)");
}

TEST_CASE("keras 2: a Sequential whose config is a list of layers, the oldest form, is read") {
  const auto model = keras::Model::read("m.json", R"({"class_name": "Sequential", "config": [
    {"class_name": "Dense", "config": {"name": "a", "units": 3, "batch_input_shape": [null, 4], "dtype": "float32"}},
    {"class_name": "Dense", "config": {"name": "b", "units": 2}}]})");
  CHECK(model.input_names() == std::vector<std::string>{"a_input"});
  CHECK(model.summary().total_params == 23);
}

TEST_CASE("keras 2: objects are written in Keras 3's form") {
  const std::string initializer =
      R"({"class_name": "VarianceScaling", "config": {"scale": 1.0, "mode": "fan_avg", "distribution": "normal",
          "seed": null, "dtype": "float32"}})";
  const std::string text = config_of(model_json(one_layer(
      "Dense",
      R"("units": 3, "dtype": {"class_name": "PolicyV1", "config": {"name": "mixed_float16", "loss_scale": null}},
      "activation": {"class_name": "LeakyReLU", "config": {"name": "l", "alpha": 0.25}},
      "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.5}},
      "bias_initializer": {"class_name": "ZerosV2", "config": {"dtype": "float32"}}, "kernel_initializer": )" +
          initializer)));
  CAPTURE(text);
  CHECK(has(text, "'class_name': 'DTypePolicy', 'config': {'name': 'mixed_float16'}"));
  CHECK(has(text, "'class_name': 'LeakyReLU', 'config': {'name': 'l', 'negative_slope': 0.25}"));
  CHECK(has(text, "{'module': 'keras.regularizers', 'class_name': 'L1L2', 'config': {'l1': 0.0, 'l2': 0.5}"));
  CHECK(has(text,
            "'class_name': 'VarianceScaling', 'config': {'seed': None, 'scale': 1.0, 'mode': 'fan_avg', "
            "'distribution': 'truncated_normal'"));
  CHECK(has(text, "'class_name': 'Zeros'"));
}

TEST_CASE("keras 2: a causal attention layer is causal in its calls in Keras 3") {
  const std::string text =
      model_json(R"({"class_name": "Attention", "name": "y", "config": {"name": "y", "causal": true},
    "inbound_nodes": [[["x", 0, 0, {}], ["x", 0, 0, {}]]]})");
  CHECK(has(keras::Model::read("m.json", text).config({}), R"("kwargs": {"use_causal_mask": true})"));
}

TEST_CASE("keras 2: a layer and a bare config are read without an enclosing model") {
  const auto model = keras::Model::read("m.json", model_json(one_layer("LayerNormalization", R"("axis": [2])")));
  CHECK(model.summary().total_params == 12);
  CHECK(refusal(R"({"name": "m", "layers": [{"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
    "config": {"batch_input_shape": [null, 3], "name": "x"}}], "input_layers": [["x", 0, 0]],
    "output_layers": [["x", 0, 0]]})") == "accepted");
}

TEST_CASE("keras 2: a model whose masks differ in Keras 3 has one warning with the first such layer") {
  const auto warnings = [](const std::string& name) {
    std::ifstream file(test::in_repository("tests/data/keras2/" + name + "/model.json"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return keras::Model::read("m.json", text).warnings();
  };
  REQUIRE(warnings("encoder_layers").size() == 1);
  CHECK(has(warnings("encoder_layers").front(), "uses masks in Keras 2 only, so Keras 3 gives other numbers"));
  CHECK(warnings("encoder").empty());
  CHECK(warnings("cross_attention").empty());
}
