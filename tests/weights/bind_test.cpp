#include "attn/weights/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attn/io/file.h"
#include "attn/io/tensor_file.h"
#include "match.h"
#include "support.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;
using nlohmann::json;

/// The weights of the model saved by generate.py.
std::vector<WeightSpec> small_model() {
  std::ifstream file(data_path("model.json"));
  std::vector<WeightSpec> specs;
  for (const json& entry : json::parse(file)) {
    WeightSpec spec = weight(entry["path"], Shape(entry["shape"].get<std::vector<Dim>>()));
    spec.store_path = entry["store_path"];
    spec.trainable = entry["trainable"];
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// Element i of weight w is 1000 w + i, as in generate.py.
void check_counts(const std::vector<WeightSpec>& specs, const std::vector<Tensor>& tensors) {
  REQUIRE(tensors.size() == specs.size());
  for (std::size_t w = 0; w < specs.size(); ++w) {
    CAPTURE(specs[w].path);
    CHECK(tensors[w].shape() == specs[w].shape);
    CHECK(tensors[w].dtype() == specs[w].dtype);
    for (std::int64_t i = 0; i < tensors[w].size(); ++i)
      CHECK(tensors[w].at(i) == 1000.0 * static_cast<double>(w) + static_cast<double>(i));
  }
}

/// A store in memory whose elements are their own indices.
Store store_of(Naming naming, const std::vector<std::pair<std::string, Shape>>& weights, DType dtype = DType::float32) {
  Store store{"f", naming, {}, {}, {}};
  for (const auto& [name, shape] : weights) {
    const Tensor tensor(dtype, shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(store.weights.size()));
    store.weights.push_back({name, tensor});
  }
  return store;
}

std::string bind_refusal(const std::vector<WeightSpec>& specs, const Store& store) {
  return refusal([&] { static_cast<void>(weights::bind(specs, store)); });
}

/// The first element of each tensor.
std::vector<double> firsts(const std::vector<Tensor>& tensors) {
  std::vector<double> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.at(0));
  return out;
}

TEST_CASE("bind: every format in which Keras saves weights is read") {
  const std::vector<WeightSpec> specs = small_model();
  for (const char* name : {"model.weights.h5", "model.keras", "model.h5", "split.weights.json", "model.npz"}) {
    CAPTURE(name);
    check_counts(specs, weights::bind(specs, data_path(name)));
  }
}

TEST_CASE("bind: the content of a file decides its format, not its name") {
  const TemporaryFolder folder;
  std::filesystem::copy_file(data_path("model.weights.h5"), folder / "weights.npz");
  check_counts(small_model(), weights::bind(small_model(), folder / "weights.npz"));
}

TEST_CASE("bind: arrays may be named by Keras's paths or by Keras's places") {
  const std::vector<WeightSpec> specs = small_model();
  std::vector<NamedTensor> by_path;
  std::vector<NamedTensor> by_place;
  const std::vector<Tensor> tensors = weights::bind(specs, data_path("model.npz"));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    by_path.push_back({specs[i].path, tensors[i]});
    by_place.push_back({specs[i].store_path, tensors[i]});
  }
  const TemporaryFolder folder;
  for (const char* name : {"w.npz", "w.safetensors"}) {
    for (const auto& arrays : {by_path, by_place}) {
      io::write_tensors(folder / name, arrays);
      check_counts(specs, weights::bind(specs, folder / name));
    }
  }
}

TEST_CASE("bind: names of places in older Keras versions are known") {
  const std::vector<WeightSpec> specs = {
      stored("mha/query/kernel", "layers/multi_head_attention/query_dense/vars/0", {1}),
      stored("mha/gate/kernel", "layers/multi_head_attention/_gate_dense/vars/0", {1}),
      stored("dense/kernel", "layers/dense/vars/0", {1})};
  CHECK(firsts(weights::bind(specs,
                             store_of(Naming::store_path, {{"layers/multi_head_attention/_query_dense/vars/0", {1}},
                                                           {"layers/multi_head_attention/gate_dense/vars/0", {1}},
                                                           {"_layer_checkpoint_dependencies\\dense/vars/0", {1}}}))) ==
        std::vector<double>{0, 1, 2});
}

TEST_CASE("bind: an exact name takes precedence over a similar one, and two similar names decide nothing") {
  const std::vector<WeightSpec> both = {stored("a", "x/vars/0", {1}), stored("b", "_x/vars/0", {1})};
  CHECK(firsts(weights::bind(both, store_of(Naming::store_path, {{"_x/vars/0", {1}}, {"x/vars/0", {1}}}))) ==
        std::vector<double>{1, 0});
  CHECK(bind_refusal({both[0]}, store_of(Naming::store_path, {{"_x/vars/0", {1}}, {"__x/vars/0", {1}}}))
            .starts_with("f: 1 of the model's 1 weights is not in it: 'x/vars/0' (1,)"));
}

TEST_CASE("bind: two weights with one path are told apart by their places") {
  const std::vector<WeightSpec> specs = {stored("dense/kernel", "layers/a/vars/0", {1}),
                                         stored("dense/kernel", "layers/b/vars/0", {1})};
  CHECK(firsts(weights::bind(specs, store_of(Naming::path, {{"layers/b/vars/0", {1}}, {"layers/a/vars/0", {1}}}))) ==
        std::vector<double>{1, 0});
  CHECK(
      bind_refusal(specs, store_of(Naming::path, {{"dense/kernel", {1}}})).find("2 of the model's 2 weights are not") !=
      std::string::npos);
}

TEST_CASE("bind: names from a model that Keras loaded, which lack the outer layers, are matched") {
  const std::vector<WeightSpec> specs = {weight("dense/kernel", {1}), weight("both/forward/cell/kernel", {1}),
                                         weight("both/backward/cell/kernel", {1}), weight("inner/bias", {1})};
  CHECK(firsts(weights::bind(specs, store_of(Naming::path, {{"backward/cell/kernel", {1}},
                                                            {"forward/cell/kernel", {1}},
                                                            {"model/inner/bias", {1}},
                                                            {"dense/kernel", {1}}}))) ==
        std::vector<double>{3, 1, 0, 2});
  CHECK(bind_refusal({specs[1], specs[2]}, store_of(Naming::path, {{"cell/kernel", {1}}}))
            .starts_with("f: 2 of the model's 2 weights are not in it"));
  CHECK(bind_refusal({specs[1]}, store_of(Naming::path, {{"cell/kernel", {1}}, {"x/forward/cell/kernel", {1}}}))
            .starts_with("f: 1 of the model's 1 weights is not in it"));
}

TEST_CASE("bind: a name with a million parts matches no weight") {
  std::string name;
  for (int i = 0; i < 1'000'000; ++i) name += "a/";
  CHECK(bind_refusal({weight("a", {1})}, store_of(Naming::path, {{name, {1}}}))
            .starts_with("f: 1 of the model's 1 weights"));
}

TEST_CASE("bind: thousands of low-rank factors and layers are looked up in a file with as many names") {
  std::vector<WeightSpec> specs;
  Store store = store_of(Naming::layered, {});
  for (int i = 0; i < 20'000; ++i) {
    specs.push_back(weight(fmt::format("dense_{}/lora_kernel_a", i), {1}));
    store.weights.push_back({fmt::format("other_{}/kernel", i), Tensor(DType::float32, {1})});
    store.layers.push_back({fmt::format("dense_{}", i), 1});
  }
  for (int i = 0; i < 100'000; ++i) store.layers.push_back({fmt::format("other_{}", i), 0});
  CHECK(weights::without_absent_factors(specs, store).empty());
  for (WeightSpec& spec : specs) spec.path = spec.path.substr(0, spec.path.find('/')) + "/kernel";
  CHECK(weights::bind(specs, store).size() == specs.size());
}

TEST_CASE("bind: weights of Keras 2's .h5 are matched by their order in a layer if names differ") {
  std::vector<WeightSpec> specs = {weight("lstm/lstm_cell/kernel", {1}), weight("lstm/lstm_cell/bias", {1}),
                                   weight("norm/moving_mean", {1}), weight("norm/gamma", {1})};
  specs[2].trainable = false;
  Store store = store_of(Naming::layered, {{"norm/gamma:0", {1}},
                                           {"norm/moving_mean:0", {1}},
                                           {"lstm/lstm_cell_7/kernel:0", {1}},
                                           {"lstm/lstm_cell_7/bias:0", {1}}});
  store.layers = {{"norm", 2}, {"lstm", 2}};
  CHECK(firsts(weights::bind(specs, store)) == std::vector<double>{2, 3, 1, 0});

  // If the names differ, the order of the layers decides.
  store = store_of(Naming::layered, {{"q/k:0", {1}}, {"q/b:0", {1}}, {"n/g:0", {1}}, {"n/m:0", {1}}});
  store.layers = {{"q", 2}, {"n", 2}};
  CHECK(firsts(weights::bind(specs, store)) == std::vector<double>{0, 1, 3, 2});
}

TEST_CASE("bind: floating-point dtypes are converted to the model's, integers never") {
  const std::vector<WeightSpec> specs = {weight("w", {2}, {}, DType::bfloat16)};
  const Tensor bound = weights::bind(specs, store_of(Naming::path, {{"w", {2}}}, DType::float64)).front();
  CHECK(bound.dtype() == DType::bfloat16);
  CHECK(bind_refusal(specs, store_of(Naming::path, {{"w", {2}}}, DType::int8)) ==
        "f: 1 weight is not of the model's dtype: 'w' (expected bfloat16, found int8); the file is quantized, but the "
        "config is not");
  CHECK(bind_refusal({weight("w", {2}, {}, DType::int32)}, store_of(Naming::path, {{"w", {2}}}, DType::int64)) ==
        "f: 1 weight is not of the model's dtype: 'w' (expected int32, found int64)");
}

TEST_CASE("bind: missing weights are listed with likely candidates") {
  CHECK(bind_refusal({weight("a/kernel", {2, 3}), weight("a/bias", {3})},
                     store_of(Naming::path, {{"a/kernel", {2, 3}}, {"a/bais", {3}}})) ==
        "f: 1 of the model's 2 weights is not in it: 'a/bias' (3,) (did you mean 'a/bais'?); 1 in the file but not in "
        "the "
        "model");
  std::vector<WeightSpec> many;
  for (int i = 0; i < 7; ++i) many.push_back(weight(std::string(3, static_cast<char>('a' + i)), {}));
  CHECK(bind_refusal(many, store_of(Naming::path, {})) ==
        "f: 7 of the model's 7 weights are not in it: 'aaa' (), 'bbb' (), 'ccc' (), 'ddd' (), 'eee' () and 2 more");
}

TEST_CASE("bind: weights of the wrong shape are listed with both shapes") {
  CHECK(
      bind_refusal({weight("a", {2, 3}), weight("b", {3}), weight("c", {1})},
                   store_of(Naming::path, {{"a", {3, 2}}, {"b", {3}}, {"c", {}}})) ==
      "f: 2 weights are not of the model's shape: 'a' (expected (2, 3), found (3, 2)), 'c' (expected (1,), found ())");
}

TEST_CASE("bind: weights that the model lacks are listed") {
  CHECK(bind_refusal({weight("a", {})}, store_of(Naming::path, {{"a", {}}, {"b", {2}}, {"c", {3}}})) ==
        "f: 2 weights are not the model's: 'b' (2,), 'c' (3,)");
}

TEST_CASE("bind: names from a file are escaped") {
  CHECK(bind_refusal({}, store_of(Naming::path, {{"a\x1b[2J", {}}})) ==
        "f: 1 weight is not the model's: 'a\\u{1b}[2J' ()");
}

TEST_CASE("plain_name: the name lacks the parts that differ between versions") {
  CHECK(plain_name("_layer_checkpoint_dependencies\\dense/vars/0") == "layers/dense/vars/0");
  CHECK(plain_name("mha/query/kernel:0") == "mha/query/kernel");
  CHECK(plain_name("/a/__b_c/_") == "a/b_c");
  CHECK(plain_name("").empty());
}

}  // namespace
}  // namespace attn::weights
