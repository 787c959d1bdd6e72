// Image processors of transformers as converters of KerasHub.
#include "image_processor.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "attn/base/error.h"

using attn::open::converter_of_processor;
using nlohmann::json;

namespace {

json processor() {
  return json::parse(R"({"size": {"height": 8, "width": 6}, "resample": 3, "image_mean": [0.5, 0.25, 0.0],
                         "image_std": [0.5, 0.5, 0.25]})");
}

json converted(const json& fields) { return converter_of_processor(fields, "p.json"); }

}  // namespace

TEST_CASE("image processor: sizes, filter, mean and deviation become those of a converter") {
  json given = processor();
  given["rescale_factor"] = 0.125;
  const json config = converted(given)["config"];
  CHECK(config["image_size"] == json({8, 6}));
  CHECK(config["interpolation"] == "bicubic");
  CHECK(config["antialias"] == true);
  CHECK(config["crop_to_aspect_ratio"] == false);
  CHECK(config["scale"] == json({0.25, 0.25, 0.5}));
  CHECK(config["offset"] == json({-1.0, -0.5, 0.0}));
}

TEST_CASE("image processor: an image that is cropped to the size of its shortest edge keeps its proportions") {
  json given = processor();
  given["size"] = {{"shortest_edge", 8U}};
  given["crop_size"] = 8U;
  given["do_center_crop"] = true;
  CHECK(converted(given)["config"]["crop_to_aspect_ratio"] == true);
  given["crop_size"] = 6U;
  const json both = converted(given);
  CHECK(both["class_name"] == "Sequential");
  CHECK(both["config"]["layers"][0]["config"]["image_size"] == json({8, 8}));
  CHECK(both["config"]["layers"][1]["config"]["height"] == 6);
}

TEST_CASE("image processor: steps that are turned off leave no trace") {
  json given = processor();
  for (const char* key : {"do_resize", "do_rescale", "do_normalize"}) given[key] = false;
  const json config = converted(given)["config"];
  CHECK_FALSE(config.contains("image_size"));
  CHECK(config["scale"] == json({1.0, 1.0, 1.0}));
  CHECK(config["offset"] == json({0.0, 0.0, 0.0}));
}

TEST_CASE("image processor: a value that cannot be converted is an error with its place") {
  struct Case {
    const char *key, *value, *says;
  };
  for (const Case& one : {Case{"size", "null", "'size' is missing"},
                          {"size", R"({"height": 8})", "'size' must have a height and a width, or a shortest edge"},
                          {"size", R"({"shortest_edge": 8, "longest_edge": 9})", "'size' must have"},
                          {"size", R"({"shortest_edge": 8})", "needs a 'crop_size'"},
                          {"size", "0", "lengths from 1 to 16384"},
                          {"size", R"({"height": 8, "width": 100000})", "lengths from 1 to 16384"},
                          {"resample", "5", "'resample' must be 0"},
                          {"resample", "-1", "'resample' must be 0"},
                          {"image_mean", "[1, 2]", "'image_mean' must be a number, or one for each"},
                          {"image_mean", "null", "'image_mean' is missing"},
                          {"image_std", "0", "'image_std' has a 0"},
                          {"image_std", R"(["a", 1, 1])", "'image_std' must have three numbers"},
                          {"do_resize", "1", "'do_resize' must be true or false"},
                          {"do_center_crop", "true", "'crop_size' is missing"}}) {
    json given = processor();
    given[one.key] = json::parse(one.value);
    CAPTURE(one.key);
    CAPTURE(one.value);
    try {
      static_cast<void>(converted(given));
      FAIL("no error");
    } catch (const attn::Error& error) {
      CHECK_MESSAGE(std::string(error.what()).find(one.says) != std::string::npos, error.what());
    }
  }
}
