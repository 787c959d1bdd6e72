#include "attn/run/attention_maps.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/graph/graph.h"

using namespace attn;
using run::HeadStats;
using run::LayerMap;
using run::MapOptions;
using run::ScoresLayout;

namespace {

NamedTensor scores(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::float32, shape);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.as<float>()[i] = values[i];
  return {"attention", tensor};
}

MapOptions whole() {
  MapOptions out;
  out.most_cells = 1000;
  out.most_rows = 1000;
  return out;
}

graph::Graph graph_of(const Shape& logits, const std::vector<int>& axes) {
  graph::Graph graph;
  graph::Builder b(graph);
  const graph::ValueId x = b.input("x", DType::float32, logits);
  graph.scores.push_back({"a", b.apply(graph::Softmax{graph::SoftmaxKind::softmax, axes}, {x})});
  return graph;
}

}  // namespace

TEST_CASE("attention maps: entropy, distance and other figures of a head equal those by hand") {
  // One query attends to one key, one to two equally, one to four equally, one to none.
  const NamedTensor tensor =
      scores({1, 1, 4, 4}, {0, 0, 1, 0, 0.5F, 0.5F, 0, 0, 0.25F, 0.25F, 0.25F, 0.25F, 0, 0, 0, 0});
  const LayerMap map = run::attention_maps({tensor}, {{1, 1, 4, 4}}, {7}, whole()).front();
  CHECK(map.index == 7);
  CHECK(map.heads.front().cells ==
        std::vector<float>(tensor.tensor.as<float>().begin(), tensor.tensor.as<float>().end()));
  const HeadStats& stats = map.heads.front().stats;
  CHECK(stats.queries == 3);
  CHECK(stats.entropy == doctest::Approx((0 + 1 + 2) / 3.0));
  CHECK(stats.distance.value() == doctest::Approx((2 + 0.5 + (2 + 1 + 0 + 1) / 4.0) / 3.0));
  CHECK(stats.to_first == doctest::Approx((0 + 0.5 + 0.25) / 3));
  CHECK(stats.to_self.value() == doctest::Approx((0 + 0.5 + 0.25) / 3));
  CHECK(stats.largest == 1);
  CHECK(stats.query == 0);
  CHECK(stats.key == 2);
}

TEST_CASE("attention maps: a cell is the mean of its block, also of a partial block") {
  const NamedTensor tensor = scores({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  MapOptions options = whole();
  options.most_rows = 2;
  const LayerMap map = run::attention_maps({tensor}, {{1, 1, 3, 3}}, {0}, options).front();
  CHECK(map.block == 2);
  CHECK(map.heads.front().cells == std::vector<float>{3, 4.5, 7.5, 9});
}

TEST_CASE("attention maps: item, head, half precision, threads and NaN weights are right") {
  // (items 2, heads 2, queries 1, keys 2)
  NamedTensor tensor = scores({2, 2, 1, 2}, {0.1F, 0.9F, 0.2F, 0.8F, 0.3F, 0.7F, 0.4F, 0.6F});
  MapOptions options = whole();
  options.item = 1;
  options.threads = 3;
  std::vector<LayerMap> maps = run::attention_maps({tensor}, {{2, 2, 1, 2}}, {0}, options);
  CHECK(maps.front().heads.at(1).cells == std::vector<float>{0.4F, 0.6F});
  CHECK_FALSE(maps.front().heads.front().stats.distance);  // one query, two keys
  options.head = 0;
  tensor.tensor = tensor.tensor.cast(DType::bfloat16);
  tensor.tensor.set(5, std::numeric_limits<double>::quiet_NaN());
  maps = run::attention_maps({tensor}, {{2, 2, 1, 2}}, {0}, options);
  CHECK(maps.front().heads.size() == 1);
  CHECK(maps.front().non_finite == 1);
  CHECK(maps.front().heads.front().cells[0] == doctest::Approx(0.3).epsilon(0.01));  // bfloat16 has 8 bits
  CHECK(maps.front().heads.front().cells[1] == 0);
}

TEST_CASE("attention maps: axes of scores with and without heads, and over several axes, are right") {
  const auto layout = [](const Shape& shape, const std::vector<int>& axes) {
    return run::scores_layouts(graph_of(shape, axes)).front();
  };
  const auto is = [](const ScoresLayout& a, ScoresLayout b) {
    return a.items == b.items && a.heads == b.heads && a.queries == b.queries && a.keys == b.keys;
  };
  CHECK(is(layout({2, 8, 5, 7}, {3}), {2, 8, 5, 7}));
  CHECK(is(layout({2, 5, 7}, {2}), {2, 1, 5, 7}));                // Attention, AdditiveAttention
  CHECK(is(layout({2, 3, 8, 5, 7}, {4}), {6, 8, 5, 7}));          // attention_axes=(2,) of (B, 3, T, D)
  CHECK(is(layout({2, 8, 3, 4, 3, 4}, {4, 5}), {2, 8, 12, 12}));  // attention_axes=(1, 2)
}

TEST_CASE("attention maps: the smallest block within every limit is selected") {
  MapOptions options;
  options.most_cells = 144 * 128 * 128;
  options.most_rows = 4096;
  const std::vector<ScoresLayout> layers(12, {1, 12, 512, 512});
  CHECK(run::block_for(layers, options) == 4);
  options.head = 3;
  CHECK(run::block_for(layers, options) == 2);
  options.most_rows = 100;
  CHECK(run::block_for(layers, options) == 6);
  options.most_rows = 4096;
  CHECK(run::block_for({{1, 1, 10, 20}}, options) == 1);
}
