#include "attn/weights/save.h"

#include "attn/io/file.h"
#include "attn/io/hdf5.h"
#include "attn/io/keras_archive.h"
#include "attn/weights/bind.h"
#include "attn/weights/initialize.h"
#include "attn/weights/read_store.h"
#include "support.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

struct Saved {
  std::vector<WeightSpec> specs;
  std::vector<Tensor> tensors;
};

/// A bfloat16 weight, a scalar, and two that share a path.
Saved some_weights() {
  Saved out;
  const auto add = [&](const char* path, const char* store_path, Shape shape, DType dtype) {
    WeightSpec spec = weight(path, std::move(shape), initializer("RandomNormal"), dtype);
    spec.store_path = store_path;
    out.tensors.push_back(initialize(spec, out.specs.size()));
    out.specs.push_back(std::move(spec));
  };
  add("attend/query/kernel", "layers/multi_head_attention/query_dense/vars/0", {3, 2}, DType::float32);
  add("attend/query/bias", "layers/multi_head_attention/query_dense/vars/1", {2}, DType::bfloat16);
  add("dense/kernel", "layers/functional/layers/dense/vars/0", {2, 2}, DType::float16);
  add("dense/kernel", "layers/functional_1/layers/dense/vars/0", {2, 2}, DType::float64);
  add("scale", "layers/scale/vars/0", {}, DType::float32);
  return out;
}

TEST_CASE("save: saved weights bind to the same bytes") {
  const Saved saved = some_weights();
  const TemporaryFolder folder;
  for (const char* name : {"w.weights.h5", "w.safetensors", "w.npz"}) {
    CAPTURE(name);
    save(folder / name, saved.specs, saved.tensors);
    const std::vector<Tensor> read = weights::bind(saved.specs, folder / name);
    for (std::size_t i = 0; i < read.size(); ++i) CHECK(same_bytes(read[i], saved.tensors[i]));
  }
}

TEST_CASE("save: .weights.h5 stores each layer's name, as Keras does") {
  const Saved saved = some_weights();
  const TemporaryFolder folder;
  const std::string path = folder / "w.weights.h5";
  save(path, saved.specs, saved.tensors);
  const io::Hdf5File file = io::read_hdf5(io::read_file(path), path);
  const auto name_of_layer = [&](const std::string& group) {
    return file.objects.at(group).attributes.at("name").values.front();
  };
  CHECK(name_of_layer("layers/multi_head_attention/query_dense/vars") == "query");
  CHECK(name_of_layer("layers/functional_1/layers/dense/vars") == "dense");
}

/// Returns all attributes and tensors of an HDF5 file.
io::Hdf5File contents_of(const std::string& path) { return io::read_hdf5(io::read_file(path), path); }

TEST_CASE("save: .keras stores the config, a Keras version and a date") {
  const Saved saved = some_weights();
  const TemporaryFolder folder;
  setenv("SOURCE_DATE_EPOCH", "86400", 1);
  save(folder / "w.keras", saved.specs, saved.tensors, {"{\"a\": 1}", {}});
  unsetenv("SOURCE_DATE_EPOCH");
  const io::KerasArchive archive = io::parse_keras_archive(io::read_file(folder / "w.keras"), "w.keras");
  CHECK(archive.config == "{\"a\": 1}");
  CHECK(archive.metadata == R"({"keras_version": "3.15.1", "date_saved": "1970-01-02@00:00:00"})");
  const std::vector<Tensor> read = weights::bind(saved.specs, folder / "w.keras");
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(same_bytes(read[i], saved.tensors[i]));
}

TEST_CASE("save: a shared weight is stored for both layers in .weights.h5, and read from its own") {
  std::vector<WeightSpec> specs = {weight("spectral/dense/kernel", {2}, initializer("RandomNormal"))};
  specs[0].store_path = "layers/spectral/layer/vars/0";
  specs[0].store_again = "layers/spectral/vars/0";
  const std::vector<Tensor> tensors = {initialize(specs[0], 0)};
  const TemporaryFolder folder;
  const std::string path = folder / "w.weights.h5";
  save(path, specs, tensors);
  const io::Hdf5File file = io::read_hdf5(io::read_file(path), path);
  for (const std::string& place : {specs[0].store_path, specs[0].store_again})
    CHECK(same_bytes(*file.objects.at(place).tensor, tensors[0]));
  CHECK(same_bytes(weights::bind(specs, path).front(), tensors[0]));
}

TEST_CASE("save: an optimizer's state keeps its place") {
  const Saved saved = some_weights();
  const TemporaryFolder folder;
  const Tensor step(DType::int64, {});
  step.set(0, 7);
  save(folder / "w.weights.h5", saved.specs, saved.tensors, {"", {{"optimizer/vars/0", step}}});
  const Store store = read_store(folder / "w.weights.h5");
  REQUIRE(store.state.size() == 1);
  CHECK(store.state[0].name == "optimizer/vars/0");
  CHECK(same_bytes(store.state[0].tensor, step));
}

TEST_CASE("save: the older .h5 stores layers in order, trainable weights first, and bfloat16 as float32") {
  std::vector<WeightSpec> specs;
  const auto add = [&](const char* path, const char* place, DType dtype = DType::float32) {
    specs.push_back(weight(path, {2}, initializer("RandomNormal"), dtype));
    specs.back().store_path = place;
  };
  add("z/kernel", "layers/dense/vars/0");
  add("norm/moving_mean", "layers/batch_normalization/vars/1");
  add("norm/gamma", "layers/batch_normalization/vars/0", DType::bfloat16);
  add("dense/kernel", "layers/functional/layers/dense/vars/0");
  add("dense_1/kernel", "layers/functional/layers/dense_1/vars/0");
  specs[1].trainable = false;
  std::vector<Tensor> tensors;
  for (const WeightSpec& spec : specs) tensors.push_back(initialize(spec, 0));
  const TemporaryFolder folder;
  save(folder / "w.h5", specs, tensors);

  const Store store = read_store(folder / "w.h5");
  CHECK(store.naming == Naming::layered);
  REQUIRE(store.layers.size() == 3);
  CHECK(store.layers[0].name == "z");
  CHECK(store.layers[1].name == "norm");
  CHECK(store.layers[2].name == "functional");
  CHECK(store.weights[1].name == "norm/gamma");
  CHECK(store.weights[1].tensor.dtype() == DType::float32);
  const std::vector<Tensor> read = weights::bind(specs, store);
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(same_bytes(read[i], tensors[i]));
}

TEST_CASE("save: a list of names too long for one attribute continues in the next") {
  std::vector<WeightSpec> specs;
  for (int i = 0; i < 4001; ++i) {
    specs.push_back(weight("layer_" + std::to_string(i) + "/scale", {}));
    specs.back().store_path = "layers/scale_" + std::to_string(i) + "/vars/0";
  }
  const std::vector<Tensor> tensors(specs.size(), Tensor(DType::float32, {}));
  const TemporaryFolder folder;
  save(folder / "w.h5", specs, tensors);
  const auto root = contents_of(folder / "w.h5").objects.at("").attributes;
  CHECK(root.at("layer_names0").values.size() == 2000);
  CHECK(root.at("layer_names2").values == std::vector<std::string>{"layer_4000"});
  CHECK(read_store(folder / "w.h5").weights.size() == 4001);
}

TEST_CASE("save: an unknown extension is rejected before anything is written") {
  const TemporaryFolder folder;
  for (const char* name : {"w.hdf5", "w.npy", "w"}) {
    try {
      save(folder / name, {}, {});
      FAIL("it was written");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK(std::string(error.what())
                .ends_with("the file's name must end in .weights.h5, .keras, .h5, .safetensors or .npz"));
    }
    CHECK_FALSE(std::filesystem::exists(folder / name));
  }
}

}  // namespace
}  // namespace attn::weights
