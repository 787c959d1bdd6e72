// Images through the converters of KerasHub, compared with tests/data/images (tests/oracle/make_image_cases.py).
#include "attn/open/image_converter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/io/array_file.h"
#include "attn/open/input_files.h"

namespace attn::test {
namespace {

std::string image_path(const std::string& name) { return in_repository("tests/data/images/" + name); }

std::map<std::string, Tensor> arrays_of(const std::string& name) {
  std::map<std::string, Tensor> out;
  for (const NamedTensor& array : io::read_arrays(image_path(name)).tensors) out.emplace(array.name, array.tensor);
  return out;
}

/// Returns the largest difference as a part of the largest expected value.
double error_of(const Tensor& got, const Tensor& expected) {
  REQUIRE(got.shape() == expected.shape());
  double largest = 0.0, error = 0.0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(expected.at(i)));
    error = std::max(error, std::abs(got.at(i) - expected.at(i)));
  }
  return error / largest;
}

std::string image_refusal(const std::string& config) {
  try {
    static_cast<void>(open::ImageConverter("x.json", config).convert(image_path("wide.png"), open::Execution{}));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("images: every converter computes KerasHub's result") {
  const nlohmann::json cases = nlohmann::json::parse(std::ifstream(image_path("converters.json")));
  const std::map<std::string, Tensor> expected = arrays_of("converted.npz");
  REQUIRE(cases.size() >= 40);
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const nlohmann::json& config = cases[number]["converter"];
    open::ImageConverter converter("converters.json", config.dump());
    // A weight of float32 is off by 2^-24, and a result is the sum of at most 40 weighted pixels in each direction. In
    // bfloat16 a step rounds to 8 bits, and three steps follow each other.
    const nlohmann::json& dtype = config["config"].value("dtype", nlohmann::json());
    const bool is_bfloat16 = dtype.is_object() && dtype["config"]["name"] == "bfloat16";
    const double most = is_bfloat16 ? 3.0 / 256.0 : 1e-5;
    for (const std::string image : cases[number]["images"]) {
      CAPTURE(number);
      CAPTURE(image);
      const Tensor got = converter.convert(image_path(image), open::Execution{});
      CHECK(error_of(got, expected.at(std::to_string(number) + "/" + image)) <= most);
    }
  }
}

TEST_CASE("images: converters of images of any size give KerasHub's patches") {
  const nlohmann::json cases = nlohmann::json::parse(std::ifstream(image_path("patchers.json")));
  const std::map<std::string, Tensor> expected = arrays_of("patched.npz");
  REQUIRE(cases.size() == 3);
  for (std::size_t number = 0; number < cases.size(); ++number) {
    open::ImageConverter converter("patchers.json", cases[number]["converter"].dump());
    for (const std::string image : cases[number]["images"]) {
      CAPTURE(number);
      CAPTURE(image);
      const std::string name = std::to_string(number) + "/" + image;
      const open::ImagePatches got = converter.patches(image_path(image), open::Execution{});
      const Tensor& grid = expected.at(name + "/grid_thw");
      CHECK(grid.at(0) == 1.0);
      REQUIRE(got.grid);
      CHECK(!got.positions);
      CHECK(static_cast<double>(got.grid->rows) == grid.at(1));
      CHECK(static_cast<double>(got.grid->columns) == grid.at(2));
      CHECK(error_of(got.patches, expected.at(name + "/patches")) <= 1e-5);
    }
  }
}

TEST_CASE("images: converters of images of any size reject what KerasHub cannot convert") {
  const auto refused = [](const std::string& fields, const std::string& part) {
    CAPTURE(fields);
    open::ImageConverter converter("x.json", R"({"class_name": "Qwen3_5ImageConverter", "config": {)" + fields + "}}");
    std::string message;
    try {
      static_cast<void>(converter.patches(image_path("wide.png"), open::Execution{}));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  refused(R"("patch_size": 0)", "expected an integer > 0");
  refused(R"("patch_size": 5000)", "/config/patch_size: more than 4096 are not accepted");
  refused(R"("min_pixels": 2000000000, "max_pixels": 2000000000)", "would be resized to more than 67108864 pixels");
  refused(R"("data_format": "channels_first")", "expected channels_last");
  refused(R"("interpolation": "area")", "area");
  CHECK(image_refusal(R"({"class_name": "Qwen3_5ImageConverter", "config": {}})") ==
        "x.json: the converter divides an image into patches, which only attn generate reads");
}

TEST_CASE("images: a converter of whole images gives no patches") {
  open::ImageConverter converter("x.json", R"({"class_name": "ViTImageConverter", "config": {}})");
  CHECK_THROWS_WITH_AS((void)converter.patches(image_path("wide.png"), open::Execution{}),
                       "x.json: the model needs a converter that cuts images into patches", Error);
}

TEST_CASE("images: Gemma 4's converter computes KerasHub's patches and positions") {
  const nlohmann::json cases = nlohmann::json::parse(std::ifstream(image_path("patches.json")));
  const std::map<std::string, Tensor> expected = arrays_of("patches.npz");
  std::size_t compared = 0;
  for (std::size_t number = 0; number < cases.size(); ++number) {
    open::ImageConverter converter("patches.json", cases[number]["converter"].dump());
    for (const std::string image : cases[number]["images"]) {
      CAPTURE(number);
      CAPTURE(image);
      const open::ImagePatches got = converter.patches(image_path(image), open::Execution{});
      REQUIRE(got.positions);
      CHECK(!got.grid);
      const std::string name = fmt::format("{}/{}/", number, image);
      CHECK(error_of(*got.positions, expected.at(name + "pixel_position_ids")) == 0.0);
      CHECK(error_of(got.patches, expected.at(name + "pixel_values")) <= 1e-5);
      compared += 2;
    }
  }
  CHECK(compared == expected.size());
}

TEST_CASE("images: converters of a task, a preset and an archive make the model's input") {
  const open::Silent silent;
  const open::InputFiles files{{}, {image_path("wide.png"), image_path("rgb_420.jpg"), image_path("gray.jpg")}, {}};
  for (const std::string folder : {"", "mobilenetv5/"}) {
    const std::map<std::string, Tensor> expected = arrays_of(folder + "classified_inputs.npz");
    for (const char* name : {"preset", "classifier.keras", "preset/config.json"}) {
      CAPTURE(folder);
      CAPTURE(name);
      const open::LoadedModel loaded = open::load_model(image_path(folder + name), open::ReadingOptions{}, silent);
      const open::GivenInputs given = open::read_input_files(loaded, files, open::Execution{}, silent);
      REQUIRE(given.arrays.size() == 1);
      const auto& [input, array] = *given.arrays.begin();
      REQUIRE(array.shape() == expected.at(input).shape());
      CHECK(error_of(array, expected.at(input)) <= 1e-5);
      CHECK(given.files.at(input).ends_with("wide.png and 2 more"));
    }
  }
}

TEST_CASE("images: a config that is not an image converter is rejected") {
  CHECK(image_refusal("[]") == "x.json: expected an object with 'class_name' and 'config'");
  CHECK(image_refusal(R"({"class_name": "Dense", "config": {"units": 3}})") ==
        "x.json: expected an ImageConverter of KerasHub, got 'Dense'");
  const auto refused = [](const std::string& fields, const std::string& part) {
    CAPTURE(fields);
    const std::string message = image_refusal(R"({"class_name": "ViTImageConverter", "config": {)" + fields + "}}");
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  refused(R"("image_size": [0, 3])", "expected a height and a width, or null");
  refused(R"("image_size": [1000000, 1000000])", "/config/image_size: more than 67108864 pixels are not accepted");
  refused(R"("image_size": [3])", "expected a height and a width, or null");
  refused(R"("pad_to_aspect_ratio": true)", "an image cannot be both cropped and padded to the aspect ratio");
  refused(R"("interpolation": "area")", "area");
  refused(R"("scale": [[1.0]])", "expected a number, or one for each channel");
  refused(R"("mean": [0.5], "variance": [0.25])", "expected a mean and a variance for each channel");
  refused(R"("height": 3)", "height");
  refused(R"("scale": [1.0, 2.0])", "2");
  refused(R"("size": 3)", "size");
  const auto refused_patches = [](const std::string& fields, const std::string& part) {
    const std::string message = image_refusal(R"({"class_name": "Gemma4ImageConverter", "config": {)" + fields + "}}");
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  refused_patches(R"("patch_size": 1000000000)", "expected at most 4096");
  refused_patches(R"("patch_size": 0)", "patch_size");
  refused_patches(R"("max_soft_tokens": 2000000000)", "expected at most 65536");
  refused_patches(R"("pooling_kernel_size": 257)", "expected at most 256");
  refused_patches(R"("patch_size": 4, "max_soft_tokens": 4)", "the converter divides an image into patches");
}

}  // namespace attn::test
