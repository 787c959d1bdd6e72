// A decode step over a long KV cache, whose keys are split among blocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/backends/reference.h"
#include "attn/plan/plan.h"

extern "C" attn::backends::Backend* attn_open_backend(int index);

namespace attn::test {
namespace {

using graph::ValueId;

constexpr Dim kBatch = 2, kQueries = 2, kHeads = 4, kKeyHeads = 2, kSize = 16, kCapacity = 300;

struct CacheCase {
  bool sources = false, bias = false;
  double soft_cap = 0.0;
};

graph::Graph graph_of(const CacheCase& row) {
  graph::Graph graph;
  graph::Builder build(graph);
  const ValueId query = build.input("query", DType::float32, {kBatch, kQueries, kHeads, kSize});
  const ValueId keys = build.input("keys", DType::float32, {kBatch, kKeyHeads, kCapacity, kSize});
  const ValueId values = build.input("values", DType::float32, {kBatch, kKeyHeads, kCapacity, kSize});
  std::vector<ValueId> ids{query, keys, values, build.input("length", DType::int32, {})};
  if (row.sources) ids.push_back(build.input("sources", DType::int32, {kBatch, kCapacity}));
  if (row.bias) ids.push_back(build.input("bias", DType::float32, {1, kHeads, kQueries, kCapacity}));
  graph::CachedAttention op;
  op.scale = 0.25;
  op.causal = true;
  op.sources = row.sources;
  op.bias = row.bias;
  op.soft_cap = row.soft_cap;
  graph.outputs.push_back({"output_0", build.apply(op, ids)});
  return graph;
}

/// Numbers that repeat neither within a head nor between inputs; rows after the length are NaN.
std::vector<Tensor> inputs_of(const graph::Graph& graph, int length) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    Tensor& x = inputs.emplace_back(value.dtype, value.shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const bool is_cache = value.name == "keys" || value.name == "values";
      const bool is_behind = is_cache && i / kSize % kCapacity >= length;
      if (value.name == "length") {
        x.set(i, length);
      } else if (value.name == "sources") {
        x.set(i, static_cast<double>(i * 7 / 3 % kBatch));
      } else {
        x.set(i, is_behind ? std::nan("") : 2 * std::sin(static_cast<double>(i * (id + 3)) * 0.37));
      }
    }
  }
  return inputs;
}

}  // namespace

TEST_CASE("cuda: one recorded step supports every length of a cache, with sources, a bias and capped scores") {
  const std::unique_ptr<backends::Backend> backend(attn_open_backend(0));
  const auto reference = backends::make_reference_backend();
  for (const CacheCase& row : {CacheCase{}, CacheCase{.sources = true}, CacheCase{.bias = true},
                               CacheCase{.sources = true, .bias = true, .soft_cap = 3.0}}) {
    const graph::Graph graph = graph_of(row);
    const auto executable = backend->compile(plan::make_plan(graph), {}, {});
    const auto exact = reference->compile(plan::make_plan(graph), {}, {});
    CHECK(executable->choices().at(0).kernel == "flash split");
    for (const int length : {2, 3, 63, 64, 65, 129, 299, 300}) {
      CAPTURE(length);
      const auto inputs = inputs_of(graph, length);
      executable->run(inputs);
      exact->run(inputs);
      const Tensor got = executable->value(graph.outputs[0].value), expected = exact->value(graph.outputs[0].value);
      double largest = 0;
      for (std::int64_t i = 0; i < got.size(); ++i) {
        REQUIRE(std::isfinite(expected.at(i)));
        REQUIRE(std::isfinite(got.at(i)));
        largest = std::max(largest, std::abs(got.at(i) - expected.at(i)));
      }
      CHECK(largest <= 2e-6);
    }
  }
}

}  // namespace attn::test
