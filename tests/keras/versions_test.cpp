// Reading and writing keys of other Keras versions.
#include <doctest/doctest.h>

#include <string>

#include "attn/base/error.h"
#include "attn/keras/model.h"

namespace {

using namespace attn;

std::string layer_json(const std::string& class_name, const std::string& config) {
  return R"({"module": "keras.layers", "class_name": ")" + class_name + R"(", "config": {"name": "it", )" + config +
         R"(}, "registered_name": null})";
}

std::string refusal(const std::string& text, std::optional<keras::Version> version = {}) {
  try {
    keras::ReadOptions options;
    options.keras_version = version;
    static_cast<void>(keras::Model::read("it.json", text, options));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string written(const std::string& text, keras::Version version) {
  keras::ConfigOptions options;
  options.version = version;
  options.format = keras::ConfigFormat::python;
  try {
    return keras::Model::read("it.json", text).config(options);
  } catch (const Error& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("keras: a regularizer or constraint is written as in Keras, with its module and all arguments") {
  const std::string text = written(layer_json("Dense", R"("units": 4, "kernel_regularizer": "l2",
      "bias_regularizer": {"class_name": "L1", "config": {"l1": 0.1}}, "activity_regularizer": "L1L2",
      "kernel_constraint": "max_norm", "bias_constraint": {"class_name": "MinMaxNorm", "config": {"rate": 0.5}})"),
                                   315);
  const auto object = [](const std::string& kind, const std::string& name, const std::string& config) {
    return "'" + kind + "': {'module': 'keras." + (kind.ends_with("constraint") ? "constraints" : "regularizers") +
           "', 'class_name': '" + name + "', 'config': {" + config + "}, 'registered_name': None}";
  };
  CAPTURE(text);
  CHECK(has(text, object("kernel_regularizer", "L2", "'l2': 0.01")));
  CHECK(has(text, object("bias_regularizer", "L1", "'l1': 0.10000000149011612")));  // Keras stores it as float32
  CHECK(has(text, object("activity_regularizer", "L1L2", "'l1': 0.0, 'l2': 0.0")));
  CHECK(has(text, object("kernel_constraint", "MaxNorm", "'max_value': 2, 'axis': 0")));
  CHECK(
      has(text, object("bias_constraint", "MinMaxNorm", "'min_value': 0.0, 'max_value': 1.0, 'rate': 0.5, 'axis': 0")));
  CHECK(has(written(layer_json("Dense", R"("units": 4, "bias_regularizer": "orthogonal_regularizer")"), 315),
            object("bias_regularizer", "OrthogonalRegularizer", "'factor': 0.009999999776482582, 'mode': 'rows'")));
}

TEST_CASE("versions: keys of other versions are skipped with one warning that names them and their places") {
  const auto model = keras::Model::read(
      "it.json", layer_json("LSTM", R"("units": 3, "implementation": 2, "time_major": false, "seed": null)"));
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings().front() ==
        "it.json: keys of other Keras versions are ignored: /config/implementation, /config/time_major");
  CHECK(keras::Model::read("it.json", R"({"name": "lstm", "units": 3, "implementation": 2})").warnings().size() == 1);
  CHECK(keras::Model::read("it.json", R"({"name": "lstm", "units": 3})").warnings().empty());
}

TEST_CASE("versions: an unknown key is an error, in a newer file only if it has a value") {
  const std::string misspelt = layer_json("Dense", R"("units": 3, "use_bia": true)");
  CHECK(has(refusal(misspelt), "/config/use_bia: unknown key (did you mean 'use_bias'?)"));
  CHECK(has(refusal(misspelt, 315), "unknown key"));
  CHECK(has(refusal(misspelt, 317), "unknown key in a file of Keras 3.17; attn supports Keras up to 3.15"));
  for (const char* value : {"null", "false", "[]", "{}", "\"\""}) {
    CAPTURE(value);
    const std::string text = layer_json("Dense", R"("units": 3, "warp": )" + std::string(value));
    CHECK(has(refusal(text, 315), "unknown key"));
    keras::ReadOptions options;
    options.keras_version = 317;
    CHECK(keras::Model::read("it.json", text, options).warnings().size() == 1);
  }
  CHECK(has(refusal(layer_json("Dense", R"("units": 3, "warp": 0)"), 400), "unknown key in a file of Keras"));
}

TEST_CASE("versions: a feature that a version lacks is omitted if that changes nothing, else rejected") {
  const std::string heads = R"("num_heads": 2, "key_dim": 4)";
  const std::string plain = written(layer_json("MultiHeadAttention", heads), 303);
  for (const char* key : {"'use_gate'", "'sliding_window'", "'input_axes'", "'bias_constraint': None, 'seed'"})
    CHECK_FALSE(has(plain, key));
  CHECK(has(plain, "'dtype': 'float32'"));
  CHECK(has(written(layer_json("MultiHeadAttention", heads), 304), "'dtype': {'module': 'keras'"));
  CHECK(written(layer_json("MultiHeadAttention", heads + R"(, "use_gate": true)"), 313) ==
        "MultiHeadAttention 'it': its use_gate of True is in Keras since 3.14, so it cannot be written for 3.13");
  CHECK(has(written(layer_json("MultiHeadAttention", heads + R"(, "sliding_window": 4)"), 314), "since 3.15"));
  CHECK(has(written(layer_json("RMSNormalization", R"("axis": -1)"), 308), "RMSNormalization is in Keras since 3.9"));
  CHECK(has(written(layer_json("Dense", R"("units": 2, "activation": "glu")"), 306), "'glu' is in Keras since 3.7"));
  const auto operation = [](const std::string& class_name, const std::string& config, const std::string& more = "") {
    const std::string x =
        R"({"class_name": "__keras_tensor__", "config": {"shape": [2, 4], "dtype": "float32", "keras_history": ["x", 0, 0]}})";
    return R"({"module": "keras", "class_name": "Functional", "config": {"name": "m", "layers": [
      {"module": "keras.layers", "class_name": "InputLayer", "config": {"name": "x", "batch_shape": [2, 4]}, "name": "x",
       "inbound_nodes": []}, {"module": "keras.src.ops.numpy", "class_name": ")" +
           class_name + R"(", "config": {)" + config + R"(}, "registered_name": ")" + class_name +
           R"(", "name": "it", "inbound_nodes": [{"args": [)" + x + more + R"(], "kwargs": {}}]}],
      "input_layers": [["x", 0, 0]], "output_layers": [["it", 0, 0]]}})";
  };
  const std::string normalize = written(operation("Normalize", ""), 305);
  CHECK(has(normalize, "'order': 2"));
  CHECK_FALSE(has(normalize, "epsilon"));
  CHECK(has(written(operation("Normalize", ""), 306), "'epsilon': None"));
  CHECK(has(written(operation("Normalize", R"("epsilon": 0.5)"), 305), "its epsilon of 0.5 is in Keras since 3.6"));
  CHECK(has(written(operation("Slice", R"("shape": [1, 2])", ", [0, 0]"), 310), "is in Keras since 3.11"));
  CHECK(
      has(written(operation("RMSNorm", "", R"(, 2.0)"), 310), "the argument scale of its call is in Keras since 3.11"));
  CHECK(has(written(operation("RMSNorm", ""), 310), "'scale': None"));
  CHECK(has(written(operation("Signbit", ""), 308), "Signbit is in Keras since 3.9"));
  const std::string threshold = R"("threshold_value": 1.0, "value": 2.0)";  // the names in Keras 3.8 to 3.10
  CHECK(has(written(operation("Threshold", threshold), 311), "'threshold': 1.0, 'default_value': 2.0"));
  CHECK(has(written(operation("Threshold", threshold), 310), "'threshold_value': 1.0, 'value': 2.0"));
  const std::string rotation = layer_json("RandomRotation", R"("factor": 0.5, "value_range": [0, 1])");
  CHECK(has(written(rotation, 305), "'value_range': [0, 1]"));
  CHECK_FALSE(has(written(rotation, 306), "value_range"));
  const std::string orthogonal = layer_json("Dense", R"("units": 2, "kernel_initializer": "orthogonal")");
  CHECK(has(written(orthogonal, 305), "'OrthogonalInitializer', 'config': {'gain': 1.0, 'seed': None}"));
  CHECK(has(written(orthogonal, 306), "'OrthogonalInitializer', 'config': {'seed': None, 'gain': 1.0}"));
  CHECK(has(written(orthogonal, 307), "'Orthogonal', 'config'"));
}

TEST_CASE("versions: version numbers are read from Keras's version strings") {
  CHECK(keras::version_of("3.15.1") == 315);
  CHECK(keras::version_of("2.4.0-tf") == 204);
  CHECK(keras::version_of("3.0.0.dev2023") == 300);
  for (const char* text : {"", "3", "3.", ".5", "3.x", "three", "3.15x", "-3.1", "3.100"})
    CHECK_FALSE(keras::version_of(text));
}
