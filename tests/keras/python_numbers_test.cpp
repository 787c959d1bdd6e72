#include "config/python_numbers.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "../text.h"
#include "attn/base/error.h"
#include "attn/keras/json_text.h"
#include "attn/keras/model.h"

namespace attn::keras {
namespace {

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_json_text(text, "m.json"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A model of one operation on "x" (2, 3).
std::string model_with(const std::string& class_name, const std::string& module, const std::string& config,
                       const std::string& kwargs = "") {
  const std::string tensor =
      R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "dtype": "float32", "keras_history": ["x", 0, 0]}})";
  return R"({"module": "keras", "class_name": "Functional", "config": {"name": "m", "trainable": true, "layers": [)"
         R"({"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "float32", )"
         R"("sparse": false, "ragged": false, "name": "x"}, "registered_name": null, "name": "x", "inbound_nodes": []}, )"
         R"({"module": ")" +
         module + R"(", "class_name": ")" + class_name + R"(", "config": {"name": "op")" + config +
         R"(}, "registered_name": null, "name": "op", "inbound_nodes": [{"args": [)" + tensor + R"(], "kwargs": {)" +
         kwargs + R"(}}]}], "input_layers": [["x", 0, 0]], "output_layers": [["op", 0, 0]]}, "registered_name": null})";
}

TEST_CASE("JSON of Python: NaN and infinity are numbers, are written unchanged, and stay text inside strings") {
  const std::string text =
      R"([Infinity, -Infinity, {"NaN": "Infinity", "a\"NaN": NaN}, "-Infinity \\", [[NaN,-Infinity]], 1e-05, 0.1])";
  const auto json = parse_json_text(text, "m.json");
  CHECK(json[0] == INFINITY);
  CHECK(json[1] == -INFINITY);
  CHECK(json[2]["NaN"] == "Infinity");
  CHECK(std::isnan(json[2]["a\"NaN"].get<double>()));
  const std::string written = write_json_text(json);
  CHECK(written ==
        R"([Infinity, -Infinity, {"NaN": "Infinity", "a\"NaN": NaN}, "-Infinity \\", [[NaN, -Infinity]], 1e-05, 0.1])");
  CHECK(write_json_text(parse_json_text(written, "m.json")) == written);
  CHECK(std::isnan(parse_json_text("NaN", "m.json").get<double>()));
  CHECK(parse_json_text("\xEF\xBB\xBF\n[-Infinity]", "m.json")[0] == -INFINITY);
}

TEST_CASE("JSON of Python: similar words are invalid JSON, and errors keep their places") {
  for (const char* text : {"[Infinityx]", "[+Infinity]", "[-NaN]", "[1NaN]", "[Inf]", "[nan]", "[infinity]",
                           "[\"a\"NaN]", "[NaN NaN]", "[--Infinity]", "{NaN: 1}", "{\"a\": Infinity: 1}"}) {
    CAPTURE(text);
    CHECK(test::contains(error_of(text), "not valid JSON"));
  }
  CHECK(test::contains(error_of("{\"a\": [NaN,\n -Infinity], \"b\": 01}"), "m.json:2:"));
  CHECK(test::contains(error_of("{NaN: 1}"), "m.json:1:"));
  CHECK(test::contains(error_of("[\"Infinity, 1"), "not valid JSON"));
}

TEST_CASE("JSON of Python: a config with infinite bounds is read and written as in Keras") {
  const std::string values = model_with("Clip", "keras.src.ops.numpy", R"(, "x_min": -1, "x_max": Infinity)");
  const std::string written = Model::read("m.json", values).config({});
  CHECK(test::contains(written, R"("x_max": Infinity)"));
  CHECK(Model::read("m.json", written).config({}) == written);
  const std::string padded =
      model_with("Pad", "keras.src.ops.numpy", R"(, "pad_width": [[0, 0], [1, 1]], "mode": "constant")",
                 R"("constant_values": -Infinity)");
  CHECK(test::contains(Model::read("m.json", padded).config({}), R"("constant_values": -Infinity)"));
}

TEST_CASE("JSON of Python: a rate, an epsilon or a size that is not finite is rejected at its place") {
  const auto refused = [](const std::string& class_name, const std::string& config, const std::string& pointer) {
    try {
      static_cast<void>(Model::read("m.json", model_with(class_name, "keras.layers", config)));
    } catch (const Error& error) {
      CHECK_MESSAGE(test::contains(error.what(), pointer), error.what());
      CHECK_MESSAGE(test::contains(error.what(), "m.json:1:"), error.what());
      return true;
    }
    return false;
  };
  CHECK(refused("Dropout", R"(, "rate": Infinity)", "/rate"));
  CHECK(refused("Dropout", R"(, "rate": NaN)", "/rate"));
  CHECK(refused("LayerNormalization", R"(, "epsilon": NaN)", "/epsilon"));
  CHECK(refused("Dense", R"(, "units": Infinity)", "/units"));
  CHECK(refused("Rescaling", R"(, "scale": -Infinity)", "/scale"));
}

TEST_CASE("JSON of Python: an integer that double cannot hold is written as the number used") {
  const auto written = [](const std::string& class_name, const std::string& config) {
    return Model::read("m.json", model_with(class_name, "keras.layers", config)).config({});
  };
  CHECK(test::contains(written("Rescaling", R"(, "scale": 9007199254740991)"), R"("scale": 9007199254740991)"));
  for (const char* integer : {"9223372036854775807", "-9223372036854775808", "9007199254740993"}) {
    CAPTURE(integer);
    const std::string text = written("Rescaling", fmt::format(R"(, "scale": {}, "offset": {})", integer, integer));
    for (const char* key : {"scale", "offset"}) {
      const auto at = text.find(fmt::format("\"{}\": ", key));
      REQUIRE(at != std::string::npos);
      CHECK(std::stod(text.substr(text.find(' ', at))) == std::stod(integer));
    }
    CHECK(test::contains(written("Masking", fmt::format(R"(, "mask_value": {})", integer)), "\"mask_value\": "));
  }
}

}  // namespace
}  // namespace attn::keras
