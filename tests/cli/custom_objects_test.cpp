// Custom initializers, regularizers and constraints of built-in layers (tests/data/custom_objects).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "../places.h"
#include "../text.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kFolder = "tests/data/custom_objects/";

json config_of(const std::string& file) {
  return json::parse(io::parse_keras_archive(io::read_file(file), file).config);
}

/// Removes the addresses by which Keras recognizes an object that several layers share.
void erase_addresses(json& config) {
  if (config.is_object()) config.erase("shared_object_id");
  for (json& part : config)
    if (part.is_structured()) erase_addresses(part);
}

/// The configs of the layers, without the names of archives.
json layers_of(const std::string& file) {
  json out = config_of(file)["config"]["layers"];
  for (json& layer : out) layer = layer["config"];
  erase_addresses(out);
  return out;
}

}  // namespace

TEST_CASE("custom objects: run, summary and conversion work without initializers, regularizers and constraints") {
  const TemporaryFolder folder;
  for (const std::string file : {"model.keras", "notebook.keras", "model.h5"}) {
    CAPTURE(file);
    const Result ran = run_attn({"run", kFolder + file, "--input", kFolder + "x.npz", "--expect", kFolder + "y.npz"});
    CHECK_MESSAGE(ran.code == 0, ran.err);
    const Result shown = run_attn({"summary", kFolder + file});
    CHECK_MESSAGE(shown.code == 0, shown.err);
    CHECK_MESSAGE(shown.err.empty(), shown.err);
    CHECK(run_attn({"validate", kFolder + file}).code == 0);
    const Result converted = run_attn({"convert", kFolder + file, folder / (file + ".keras")});
    REQUIRE_MESSAGE(converted.code == 0, converted.err);
    CHECK(run_attn({"run", folder / (file + ".keras"), "--input", kFolder + "x.npz", "--expect", kFolder + "y.npz"})
              .code == 0);
  }
}

TEST_CASE("custom objects: configs are written as they are read") {
  const TemporaryFolder folder;
  for (const std::string file : {"model.keras", "notebook.keras"}) {
    CAPTURE(file);
    REQUIRE(run_attn({"convert", kFolder + file, folder / file}).code == 0);
    CHECK(layers_of(folder / file) == layers_of(in_repository(kFolder + file)));
  }
}

TEST_CASE("custom objects: work that needs their code is rejected with their names") {
  const TemporaryFolder folder;
  const Result drawn = run_attn({"init", kFolder + "model.keras", "-o", folder / "o.keras"});
  CHECK(drawn.code == 3);
  CHECK_MESSAGE(contains(drawn.err, "its initializer is custom code, 'mine>Fill', which is never run"), drawn.err);
  const auto trained = [&](const std::string& file) {
    return run_attn({"train", kFolder + file, "--data", kFolder + "x.npz", "--loss", "mse", "-o", folder / "o.keras"});
  };
  CHECK_MESSAGE(contains(trained("model.keras").err, "the regularizer 'mine>Sum' is not supported in training"),
                trained("model.keras").err);
  CHECK(contains(trained("notebook.keras").err, "the regularizer 'Sum' is not supported in training"));
}

}  // namespace attn::test
