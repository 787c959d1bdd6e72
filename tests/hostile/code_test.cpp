// Configs that name code, files and addresses: each CVE of Keras's loading, and all names that Keras itself now blocks.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "attempt.h"

namespace attn::test {
namespace {

/// Keras 3.15's NON_MODELING_APIS (saving/serialization_lib.py).
const std::vector<std::string> kBlockedByKeras = {
    "keras.backend.clear_session",
    "keras.config.enable_unsafe_deserialization",
    "keras.models.load_model",
    "keras.models.model_from_json",
    "keras.models.save_model",
    "keras.preprocessing.image_dataset_from_directory",
    "keras.preprocessing.image.load_img",
    "keras.preprocessing.image.save_img",
    "keras.preprocessing.text_dataset_from_directory",
    "keras.saving.deserialize_keras_object",
    "keras.saving.load_model",
    "keras.saving.load_weights",
    "keras.saving.register_keras_serializable",
    "keras.saving.save_model",
    "keras.saving.save_weights",
    "keras.saving.serialize_keras_object",
    "keras.utils.audio_dataset_from_directory",
    "keras.utils.clear_session",
    "keras.utils.deserialize_keras_object",
    "keras.utils.get_file",
    "keras.utils.image_dataset_from_directory",
    "keras.utils.load_img",
    "keras.utils.register_keras_serializable",
    "keras.utils.save_img",
    "keras.utils.serialize_keras_object",
    "keras.utils.text_dataset_from_directory",
};

/// A model whose second layer is `layer`, a complete serialized object.
std::string with_layer(const std::string& layer) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
  {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 8], "name": "i"}},
  )" + layer +
         "]}}";
}

std::string dense_with(const std::string& key, const std::string& value) {
  return model_of("Dense", R"({"name": "d", "units": 2, ")" + key + R"(": )" + value + "}");
}

void check_refused_everywhere(const std::string& text, std::string_view part = "") {
  CAPTURE(text);
  check_refused(summarise(text), "stdin:", part);
  for (const char* command : {"run", "get-config"}) check_refused(attempt({command, "-"}, text), "stdin:", part);
}

}  // namespace

TEST_CASE("code: no name that Keras blocks is accepted as a layer, a function or an object") {
  REQUIRE(kBlockedByKeras.size() == 26);
  for (const std::string& api : kBlockedByKeras) {
    const std::size_t dot = api.rfind('.');
    const std::string module = api.substr(0, dot), name = api.substr(dot + 1);
    CAPTURE(api);
    const auto object = [&](const std::string& class_name, const std::string& config) {
      return R"({"module": ")" + module + R"(", "class_name": ")" + class_name + R"(", "config": )" + config +
             R"(, "registered_name": null})";
    };
    const std::string as_class = object(name, R"({"name": "x", "fname": "f", "origin": "http://127.0.0.1/f"})");
    const std::string as_function = R"({"module": ")" + module + R"(", "class_name": "function", "config": ")" + name +
                                    R"(", "registered_name": ")" + name + R"("})";
    check_refused(summarise(with_layer(as_class)), "stdin:", name);
    check_refused(summarise(with_layer(as_function)), "stdin:");
    check_refused(summarise(as_class), "stdin");
    for (const std::string key : {"activation", "kernel_initializer", "kernel_constraint", "kernel_regularizer"}) {
      CAPTURE(key);
      check_refused(summarise(dense_with(key, as_function)), "stdin:3:", key);
      check_refused(summarise(dense_with(key, as_class)), "stdin:3:", key);
    }
    check_refused(summarise(dense_with("activation", "\"" + api + "\"")), "stdin:3:", "activation");
  }
}

TEST_CASE("code: CVE-2024-3660, CVE-2026-12481: a Lambda layer never runs its bytecode") {
  for (
      const char* config :
      {R"({"name": "l", "function": {"class_name": "__lambda__", "config": {"code": "4wEAAAAA", "defaults": null, "closure": null}}})",
       R"({"name": "l", "function": ["4wEAAAAA", null, null], "function_type": "lambda", "module": "__main__"})",
       R"({"name": "l", "function": "system", "function_type": "function", "module": "os"})", R"({"name": "l"})",
       R"({"name": "l", "function": null, "safe_mode": null})"})
    check_refused_everywhere(model_of("Lambda", config), "'Lambda' is refused");
  check_refused_everywhere(dense_with("activation", R"({"class_name": "__lambda__", "config": {"code": "4wEAAAAA"}})"));
}

TEST_CASE("code: CVE-2025-1550: no Python module or function is called") {
  for (const char* object :
       {R"({"module": "os", "class_name": "function", "config": "system", "registered_name": "system"})",
        R"({"module": "builtins", "class_name": "function", "config": "eval", "registered_name": "function"})",
        R"({"module": "builtins", "class_name": "function", "config": "exec", "registered_name": "function"})",
        R"({"module": "subprocess", "class_name": "Popen", "config": {"args": ["id"]}, "registered_name": null})",
        R"({"module": "keras.src.models", "class_name": "function", "config": "clone_model"})",
        R"({"module": "numpy", "class_name": "function", "config": "load"})",
        R"({"module": "__main__", "class_name": "function", "config": "f"})",
        R"({"module": "..", "class_name": "x", "config": {}})",
        R"({"module": 1, "class_name": "Dense", "config": {}})"}) {
    check_refused(summarise(with_layer(object)), "stdin:");
    check_refused_everywhere(dense_with("activation", object));
    check_refused_everywhere(dense_with("kernel_initializer", object));
  }
}

TEST_CASE("code: CVE-2025-8747, CVE-2025-9906: Keras's own functions are not accepted as parts of layers") {
  check_refused_everywhere(dense_with(
      "kernel_initializer",
      R"({"module": "keras.utils", "class_name": "get_file", "config": {"fname": "/tmp/x", "origin": "http://127.0.0.1/x"}})"));
  check_refused_everywhere(
      dense_with("bias_initializer",
                 R"({"module": "keras.config", "class_name": "function", "config": "enable_unsafe_deserialization"})"));
  check_refused_everywhere(
      R"({"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 2}, "registered_name": "Package>Dense"})");
}

TEST_CASE("code: a custom layer is shown as a row and never run") {
  for (const std::string who :
       {R"("module": "os", "registered_name": "system")", R"("registered_name": "Package>Dense")"}) {
    const std::string layer = R"({"class_name": "Dense", "config": {"name": "d", "trainable": true, "units": 2}, )" +
                              who + R"(, "build_config": {"input_shape": [null, 4, 8]}})";
    CAPTURE(layer);
    CHECK(attempt({"summary", "-"}, with_layer(layer)).code == 0);
    check_refused(attempt({"run", "-"}, with_layer(layer)), "stdin:3:", "only built-in classes run");
    check_refused(attempt({"run", "-"}, layer), "stdin:1:", "only built-in classes run");
    check_refused(attempt({"init", "-", "-o", "-"}, with_layer(layer)), "", "only built-in classes run");
  }
}

TEST_CASE("code: CVE-2025-12058: a vocabulary's path, and every other string, is never opened") {
  for (const std::string path : {"/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/x", "gs://bucket/x",
                                 "~/.ssh/id_rsa", "\\\\\\\\host\\\\share"}) {
    const std::string quoted = "\"" + path + "\"";
    for (const char* layer : {"StringLookup", "IntegerLookup", "TextVectorization"})
      check_refused(summarise(model_of(layer, R"({"name": "v", "vocabulary": )" + quoted + "}")),
                    "stdin:", "never opened");
    for (const std::string key : {"activation", "kernel_initializer", "dtype"})
      check_refused(summarise(dense_with(key, quoted)), "stdin:3:", key);
  }
}

TEST_CASE("code: CVE-2026-1462: layers that load files are rejected") {
  check_refused_everywhere(
      model_of("TFSMLayer", R"({"name": "t", "filepath": "/tmp/saved", "call_endpoint": "serve"})"), "TFSMLayer");
  for (const char* name : {"TorchModuleWrapper", "JaxLayer", "FlaxLayer"})
    check_refused_everywhere(model_of(name, R"({"name": "t", "module": "AAAA"})"), name);
}

TEST_CASE("code: unknown classes and wrappers are rejected, however they are nested") {
  const std::vector<std::string> layers = {
      R"({"class_name": "os.system", "config": {}})",
      R"({"class_name": "keras.layers.Dense", "config": {"units": 2}})",
      R"({"class_name": "../Dense", "config": {"units": 2}})",
      R"({"class_name": "Dense\u0000", "config": {"units": 2}})",
      R"({"class_name": "dense", "config": {"units": 2}})",
      R"({"class_name": "__tensor__", "config": {"value": [1], "dtype": "float32"}})",
      R"({"class_name": "__numpy__", "config": {"value": [1], "dtype": "float32"}})",
      R"({"class_name": "__bytes__", "config": {"value": "AA=="}})",
      R"({"class_name": "__ellipsis__", "config": {}})",
      R"({"class_name": "__typespec__", "spec_name": "x", "module": "os", "config": []})",
      R"({"class_name": "slice", "config": {"start": 0, "stop": 1, "step": 1}})",
      R"({"class_name": "Wrapper", "config": {"name": "w", "layer": {"class_name": "Lambda", "config": {}}}})",
      R"({"class_name": "TimeDistributed", "config": {"name": "w", "layer": {"class_name": "Lambda", "config": {}}}})",
      R"({"class_name": "TimeDistributed", "config": {"name": "w", "layer": {"class_name": "function", "config": "eval"}}})",
      R"({"class_name": "Bidirectional", "config": {"name": "w", "layer": {"module": "os", "class_name": "system", "config": {}}}})",
      R"({"class_name": "RNN", "config": {"name": "w", "cell": {"class_name": "StackedRNNCells", "config": {"cells": [{"class_name": "Lambda", "config": {}}]}}}})",
      R"({"class_name": "Sequential", "config": {"name": "n", "layers": [{"class_name": "Lambda", "config": {}}]}})",
      R"({"class_name": "Functional", "config": {"name": "n", "layers": [{"class_name": "Lambda", "config": {}}]}})",
      R"({"class_name": "Dense", "config": {"units": 2, "quantization_config": {"class_name": "function", "config": "eval"}}})",
      R"({"class_name": "Dense", "config": {"units": 2, "dtype": {"module": "os", "class_name": "system", "config": {}}}})",
      R"({"class_name": "Dense", "config": {"units": 2, "kernel_initializer": {"class_name": "Constant", "config": {"value": {"class_name": "function", "config": "eval"}}}}})",
      R"({"class_name": "Conv1D", "config": {"filters": 2, "kernel_size": {"class_name": "function", "config": "eval"}}})",
      R"({"class_name": "LayerNormalization", "config": {"axis": {"class_name": "__numpy__", "config": {"value": [1]}}}})",
  };
  for (const std::string& layer : layers) {
    CAPTURE(layer);
    check_refused(summarise(with_layer(layer)), "stdin:");
  }
}

}  // namespace attn::test
