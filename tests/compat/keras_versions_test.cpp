// Models in all formats that earlier Keras 3 versions saved (tests/oracle/make_version_cases.py).
#include <doctest/doctest.h>

#include <cmath>

#include "../places.h"
#include "attn/weights/bind.h"
#include "attn/weights/initialize.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;
using namespace attn;

constexpr double kTolerance = 20 * 0x1p-24;  // about ten float32 roundings on either side

void check_version(const fs::path& path, const std::string& backend) {
  const fs::path encoder = path / "encoder", zoo = path / "zoo";
  test::check_outputs(encoder / "model.keras", backend, kTolerance);
  test::check_outputs(encoder / "model.json", backend, kTolerance, (encoder / "model.keras").string());
  if (fs::exists(encoder / "model.h5")) test::check_outputs(encoder / "model.h5", backend, kTolerance);
  for (const char* weights : {"model.weights.h5", "split.weights.json"})
    if (fs::exists(encoder / weights))
      test::check_outputs(encoder / "model.json", backend, kTolerance, (encoder / weights).string());
  if (fs::exists(zoo)) test::check_outputs(zoo / "model.keras", backend, kTolerance);
}

}  // namespace

TEST_CASE("versions: the reference backend computes the results of every Keras 3 version") {
  for (const fs::path& path : test::cases("keras_versions")) CHECK_NOTHROW(check_version(path, "reference"));
}

TEST_CASE("versions: the onednn backend computes the results of every Keras 3 version") {
  for (const fs::path& path : test::cases("keras_versions")) CHECK_NOTHROW(check_version(path, "onednn"));
}

TEST_CASE("versions: a file of a Keras 3 version is read without warnings, and written again for it") {
  for (const fs::path& path : test::cases("keras_versions")) {
    CAPTURE(path.filename().string());
    const keras::Model model = test::load(path / "encoder/model.json").model;
    CHECK(model.warnings().empty());
    keras::ConfigOptions options;
    options.version = *keras::version_of(path.filename().string());
    CHECK(keras::Model::read("again", model.config(options)).config({}) == model.config({}));
  }
}

TEST_CASE("versions: a seeded einsum kernel is drawn by the rule of the Keras version that saved it") {
  const fs::path file = attn::test::in_repository("tests/data/keras_versions/3.14.1/drawn/model.keras");
  const open::LoadedModel loaded = test::load(file);
  const std::vector<graph::WeightSpec> specs = loaded.model.weights();
  const std::vector<Tensor> stored = weights::bind(specs, file.string());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CAPTURE(specs[i].path);
    const Tensor drawn = weights::initialize(specs[i], 0);
    // Both draw the same random numbers. Keras scales them in float32, which rounds twice.
    for (std::int64_t n = 0; n < drawn.size(); ++n)
      CHECK(std::abs(drawn.at(n) - stored[i].at(n)) <= 2 * 0x1p-24 * std::abs(stored[i].at(n)));
  }
  const open::LoadedModel newer =
      open::load_model(file.string(), open::ReadingOptions{{}, keras::kNewest}, open::Silent());
  CHECK(weights::initialize(newer.model.weights()[0], 0).at(0) != stored[0].at(0));
}
