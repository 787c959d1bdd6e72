// --image as a user gives it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../../places.h"
#include "../../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

const std::string kImages = "tests/data/images/";
const std::string kModel = kImages + "classifier.keras";

}  // namespace

TEST_CASE("image: each file is a row of the batch, and predictions equal Keras's") {
  for (const std::string& model : {kModel, kImages + "preset"}) {
    CAPTURE(model);
    const Result run = run_attn({"run", model, "--image", kImages + "wide.png", "--image", kImages + "rgb_420.jpg",
                                 "--image", kImages + "gray.jpg", "--expect", kImages + "classified.npz", "--json"});
    CAPTURE(run.err);
    REQUIRE(run.code == 0);
    const json report = json::parse(run.out);
    CHECK(report["inputs"][0]["shape"] == json({3, 16, 16, 3}));
    CHECK(contains(report["inputs"][0]["source"].get<std::string>(), "wide.png and 2 more"));
  }
}

TEST_CASE("image: MobileNetV5 reads the file as KerasHub's ImageConverter does") {
  const std::string folder = kImages + "mobilenetv5/";
  for (const std::string& model : {folder + "classifier.keras", folder + "preset"}) {
    CAPTURE(model);
    const Result run = run_attn({"run", model, "--image", kImages + "wide.png", "--image", kImages + "rgb_420.jpg",
                                 "--image", kImages + "gray.jpg", "--expect", folder + "classified.npz", "--json"});
    CAPTURE(run.err);
    CAPTURE(run.out);
    CHECK(run.code == 0);
  }
}

TEST_CASE("image: heatmap and report accept images too") {
  const TemporaryFolder folder;
  const Result map = run_attn({"heatmap", kModel, "--image", kImages + "rotated_exif.jpg", "--json"});
  CAPTURE(map.err);
  CHECK(map.code == 0);
  const Result page = run_attn({"report", kModel, "--image", kImages + "cmyk.jpg", "-o", folder / "page.html"});
  CHECK(page.code == 0);
}

TEST_CASE("image: a model without a converter or an image input is rejected in one sentence") {
  const auto refused = [](const std::vector<std::string>& words, int code, const std::string& part) {
    const Result run = run_attn(words);
    CAPTURE(run.err);
    CHECK(run.code == code);
    CHECK(run.out.empty());
    CHECK(contains(run.err, part));
  };
  const std::string image = kImages + "wide.png";
  refused({"run", "tests/data/keras/hub/vit_backbone/model.json", "--image", image}, 3,
          "the model has no ImageConverter, which --image needs to know the scale of the pixels; give the array of");
  refused({"run", "--image", image}, 3, "no input takes --image, floats of shape (batch, height, width, 3)");
  refused({"run", kModel, "--image", image, "--input", kImages + "classified_inputs.npz"}, 2,
          "is given twice, by --image and --input");
  refused({"run", kModel, "--image", kImages + "refused/x.gif"}, 3, "x.gif: a GIF image; convert it to JPEG or PNG");
  refused({"run", kModel, "--image", kImages + "nothing.png"}, 3, "nothing.png");
  refused({"run", kModel, "--image", image, "--output-dir", "out"}, 2, "--image cannot be combined with --output-dir");
}
