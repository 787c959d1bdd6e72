#include "attn/weights/agreement.h"

#include "support.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;
using Indices = std::vector<std::size_t>;

Store store_of(const std::vector<std::pair<std::string, Tensor>>& weights) {
  Store store;
  store.file = "f";
  for (const auto& [name, tensor] : weights) store.weights.push_back({name, tensor});
  return store;
}

TEST_CASE("agree: missing, extra and mismatched weights are listed") {
  const std::vector<WeightSpec> specs = {weight("a", {2}), weight("b", {3}), weight("c", {1}), weight("d", {1})};
  const Store store = store_of({{"d", Tensor(DType::int8, {1})},
                                {"x", Tensor(DType::float32, {1})},
                                {"a", Tensor(DType::float16, {2})},
                                {"c", Tensor(DType::float32, {2})}});
  const Agreement agreement = agree(specs, store);
  CHECK(agreement.matches[0] == 2);
  CHECK(agreement.missing == Indices{1});
  CHECK(agreement.extra == Indices{1});
  CHECK(agreement.wrong_shape == Indices{2});
  CHECK(agreement.wrong_dtype == Indices{3});
  CHECK_FALSE(agreement.whole());
  CHECK(agree({specs.data(), 1}, store_of({{"a", Tensor(DType::bfloat16, {2})}})).whole());
}

TEST_CASE("with_paths, with_file_names: weights of the model come first, in its order and with its paths") {
  const std::vector<WeightSpec> specs = {stored("dense/kernel", "layers/a/vars/0", {1}),
                                         stored("dense/kernel", "layers/b/vars/0", {1}),
                                         stored("dense/bias", "layers/a/vars/1", {1})};
  const Tensor one(DType::float32, {1});
  const Store store = store_of({{"other", one}, {"layers/b/vars/0", one}, {"layers/a/vars/1", one}});
  const std::vector<NamedTensor> shown = with_paths(specs, store);
  REQUIRE(shown.size() == 3);
  CHECK(shown[0].name == "dense/kernel");  // Keras's name of both
  const std::vector<NamedTensor> named = with_file_names(specs, store);
  REQUIRE(named.size() == 3);
  CHECK(named[0].name == "layers/b/vars/0");  // two weights share the path
  CHECK(named[1].name == "dense/bias");
  CHECK(named[2].name == "other");
}

}  // namespace
}  // namespace attn::weights
