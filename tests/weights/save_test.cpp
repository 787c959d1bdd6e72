#include "attn/weights/save.h"

#include "attn/io/file.h"
#include "attn/io/hdf5.h"
#include "attn/weights/bind.h"
#include "attn/weights/initialize.h"
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

TEST_CASE("save: what was saved binds to the same bytes") {
  const Saved saved = some_weights();
  const TemporaryFolder folder;
  for (const char* name : {"w.weights.h5", "w.safetensors", "w.npz"}) {
    CAPTURE(name);
    save(folder / name, saved.specs, saved.tensors);
    const std::vector<Tensor> read = weights::bind(saved.specs, folder / name);
    for (std::size_t i = 0; i < read.size(); ++i) CHECK(same_bytes(read[i], saved.tensors[i]));
  }
}

TEST_CASE("save: .weights.h5 says each layer's name, as Keras does") {
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

TEST_CASE("save: another ending is refused before anything is written") {
  const TemporaryFolder folder;
  for (const char* name : {"w.hdf5", "w.npy", "w"}) {
    try {
      save(folder / name, {}, {});
      FAIL("it was written");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK(std::string(error.what()).ends_with("the file's name must end in .weights.h5, .keras, .h5, .safetensors or .npz"));
    }
    CHECK_FALSE(std::filesystem::exists(folder / name));
  }
}

}  // namespace
}  // namespace attn::weights
