// attn convert and init: attn and Keras can open the results.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "program.h"

using attn::test::contains;
using attn::test::fixture;
using attn::test::in_repository;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

json config_of(const std::string& path) {
  return json::parse(attn::io::parse_keras_archive(attn::io::read_file(path), path).config);
}

/// The ids of shared objects in layers of this class; "none" for a layer without one.
std::set<std::string> ids_of(const json& value, const std::string& class_name) {
  std::set<std::string> out;
  if (value.is_object() && value.value("class_name", json()) == class_name && value.contains("config"))
    out.insert(value.contains("shared_object_id") ? value["shared_object_id"].dump() : "none");
  if (value.is_structured())
    for (const json& each : value) out.merge(ids_of(each, class_name));
  return out;
}

/// An archive with this config and one weight.
std::string archive_with(const TemporaryFolder& folder, const std::string& config) {
  const std::string path = folder / "model.keras";
  attn::io::KerasArchive archive;
  archive.metadata = R"({"keras_version": "3.15.1"})";
  archive.config = config;
  attn::io::Hdf5File weights;
  weights.objects["layers/dense/vars/0"].tensor = attn::Tensor(attn::DType::float32, {2, 2});
  attn::io::AtomicFile file(path);
  attn::io::write_keras_archive(file, archive, weights);
  file.commit();
  return path;
}

}  // namespace

TEST_CASE("convert: a layer shared by two models has one id in both") {
  const TemporaryFolder folder;
  const std::string shared = in_repository("tests/data/shared_layers/"), out = folder / "out.keras";
  REQUIRE(run_attn({"convert", shared + "model.keras", out}).code == 0);
  for (const char* class_name : {"MultiHeadAttention"}) {
    const std::set<std::string> ids = ids_of(config_of(out), class_name);
    CHECK(ids.size() == 1);
    CHECK_FALSE(ids.contains("none"));
  }
  CHECK(run_attn({"run", out, "--input", shared + "inputs.npz", "--expect", shared + "outputs.npz"}).code == 0);
  CHECK_FALSE(contains(run_attn({"get-config", out}).out, "shared_object_id"));
}

TEST_CASE("convert, init: the head of a MaskedLM keeps its shared embedding") {
  const TemporaryFolder folder;
  const std::string model = fixture("families/hub_masked_lm_head/");
  for (const std::string command : {"convert", "init"}) {
    const std::string out = folder / (command + ".keras");
    const std::vector<std::string> words = command == "convert"
                                               ? std::vector{command, model + "model.keras", out}
                                               : std::vector{command, model + "model.keras", std::string("-o"), out};
    REQUIRE(run_attn(words).code == 0);
    const std::set<std::string> ids = ids_of(config_of(out), "ReversibleEmbedding");
    CHECK(ids.size() == 1);
    CHECK_FALSE(ids.contains("none"));
    CHECK(run_attn({"summary", out}).code == 0);
  }
  CHECK(run_attn({"run", folder / "convert.keras", "--input", model + "inputs.npz", "--expect", model + "outputs.npz"})
            .code == 0);
}

TEST_CASE("convert: low-rank weights are merged, as Keras saves them, in every form") {
  const TemporaryFolder folder;
  const std::string model = folder / "lora.keras";
  const std::string start = "tests/data/training/norm/batch/start.keras";
  REQUIRE(run_attn({"train", start, "--data", "tests/data/training/norm/batch/data.npz", "--lora", "2", "-o", model,
                    "--epochs", "3"})
              .code == 0);
  REQUIRE(run_attn({"run", model, "-o", folder / "y.npz", "--batch-size", "2"}).code == 0);
  for (const char* name : {"out.keras", "out.h5", "out.weights.h5", "out.npz", "out.safetensors"}) {
    CAPTURE(name);
    const std::string out = folder / name;
    const Result done = run_attn({"convert", model, out});
    CHECK_MESSAGE(done.code == 0, done.err);
    CHECK_FALSE(contains(run_attn({"weights", out}).out, "lora_"));
    CHECK(run_attn({"weights", out, "--model", model}).code == 0);
    CHECK(run_attn({"run", model, "--weights", out, "--expect", folder / "y.npz", "--batch-size", "2"}).code == 0);
  }
  CHECK(run_attn({"run", folder / "out.keras", "--expect", folder / "y.npz", "--batch-size", "2"}).code == 0);
}

TEST_CASE("init: layers of a Keras 2 model with names of mask operations are renamed") {
  const TemporaryFolder folder;
  const std::string model =
      folder.file("model.json", R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 5], "dtype": "int32", "name": "ids"},
     "name": "ids", "inbound_nodes": []},
    {"class_name": "Embedding", "config": {"name": "embedding", "input_dim": 9, "output_dim": 4, "mask_zero": true},
     "name": "embedding", "inbound_nodes": [[["ids", 0, 0, {}]]]},
    {"class_name": "Dense", "config": {"name": "not_equal", "units": 4},
     "name": "not_equal", "inbound_nodes": [[["embedding", 0, 0, {}]]]},
    {"class_name": "Concatenate", "config": {"name": "concatenate_1", "axis": -1},
     "name": "concatenate_1", "inbound_nodes": [[["embedding", 0, 0, {}], ["not_equal", 0, 0, {}]]]}],
    "input_layers": [["ids", 0, 0]], "output_layers": [["concatenate_1", 0, 0]]}})");
  const std::string out = folder / "out.keras";
  REQUIRE(run_attn({"init", model, "-o", out}).code == 0);
  const std::string config = config_of(out).dump();
  for (const char* name :
       {R"("name":"not_equal_layer")", R"("name":"concatenate_1_layer")", R"(["not_equal_layer",0,0])"})
    CHECK_MESSAGE(contains(config, name), config);
  CHECK_FALSE(contains(config, R"("concatenate_1")"));
  CHECK(run_attn({"summary", out}).code == 0);
  CHECK(contains(run_attn({"get-config", model}).out, R"("name": "not_equal")"));  // only archives need another name
}

TEST_CASE("convert, weights: a damaged config of an archive is an error, and a custom class a warning") {
  const TemporaryFolder folder;
  for (const char* config : {"", "{\"class_name\": \"Functional\"", "[]", "null", "{\"class_name\": \"Functional\"}"}) {
    CAPTURE(config);
    const std::string model = archive_with(folder, config);
    for (const std::vector<std::string>& line : {std::vector<std::string>{"weights", model},
                                                 {"convert", model, folder / "a.npz"},
                                                 {"convert", model, folder / "a.keras"}}) {
      const Result result = run_attn(line);
      CHECK(result.code == 3);
      CHECK_MESSAGE(contains(result.err, "model.keras"), result.err);
      CHECK(folder.names() == std::vector<std::string>{"model.keras"});
    }
  }
  const std::string own =
      archive_with(folder, R"({"class_name": "Tagger", "config": {}, "registered_name": "me>Tagger"})");
  CHECK(run_attn({"weights", own}).code == 0);
}

TEST_CASE("convert: NaN and infinity in a config are kept, and the result can be opened") {
  const TemporaryFolder folder;
  const std::string model = folder.file("model.json", R"({"class_name": "Sequential", "config": {"layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "float32", "name": "x"}},
    {"class_name": "ReLU", "config": {"name": "relu", "max_value": Infinity}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 2, "kernel_regularizer":
      {"module": "keras.regularizers", "class_name": "L1", "config": {"l1": 1e39}, "registered_name": null}}}]}})");
  const std::string out = folder / "out.keras";
  REQUIRE(run_attn({"init", model, "-o", out}).code == 0);
  const std::string config = attn::io::parse_keras_archive(attn::io::read_file(out), out).config;
  CHECK(contains(config, R"("max_value": Infinity)"));
  CHECK(contains(config, R"("l1": Infinity)"));  // like Keras, which stores it as float32
  CHECK(run_attn({"summary", out}).code == 0);
  CHECK(run_attn({"train", out, "--loss", "mse", "--x", folder / "none.npy", "--y", folder / "none.npy", "-o",
                  folder / "t.keras"})
            .code == 3);
}

TEST_CASE("convert: TensorFlow checkpoints are rejected by name") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.file("checkpoint", "model_checkpoint_path: \"cp.ckpt\"\n"),
                                  folder.file("cp.ckpt.data-00000-of-00001", "x"),
                                  folder.file("cp.ckpt.index", "x\x57\xfb\x80\x8b\x24\x75\x47\xdb")}) {
    const Result result = run_attn({"weights", path});
    CHECK(result.code == 3);
    CHECK_MESSAGE(contains(result.err, "a TensorFlow checkpoint"), result.err);
  }
}
