// Compares two passes of a model, array by array.
#include "attn/run/compare_runs.h"

#include <doctest/doctest.h>

#include <limits>

#include "attn/base/error.h"
#include "attn/run/layer_arrays.h"
#include "support.h"

namespace attn::run {
namespace {

Tensor floats(const std::vector<double>& values) { return array(values, DType::float32); }

/// Two layers; the second computes the output.
std::vector<PassArray> pass(const std::vector<double>& first, const std::vector<double>& second) {
  return {{"dense", "Dense", 3, floats(first)},
          {"block/norm", "Norm", 5, floats(second)},
          {"output_0", "", 5, floats(second)}};
}

const ToleranceRule kRule{0, 0.1, false};

TEST_CASE("compare_runs: the first difference is the first in execution order") {
  const RunComparison same = compare_passes(pass({1, 2}, {3}), pass({1, 2.05}, {3}), kRule);
  CHECK(same.equal());
  CHECK(same.first() == nullptr);
  const RunComparison found = compare_passes(pass({1, 2}, {3}), pass({1, 2.5}, {4}), kRule);
  CHECK_FALSE(found.equal());
  REQUIRE(found.first() != nullptr);
  CHECK(found.first()->name == "dense");
  CHECK(found.first()->values.worst_index == std::vector<std::int64_t>{1});
  CHECK(found.arrays.size() == 3);
}

TEST_CASE("compare_runs: progress is reported for each compared array") {
  double seen = 0;
  const auto advance = [&](double more) { seen += more; };
  CHECK(compare_passes(pass({1, 2}, {3}), pass({1, 2}, {3}), kRule, advance).equal());
  CHECK(seen == 3);
}

TEST_CASE("compare_runs: an atol relative to the root mean square follows the scale of each array") {
  const ToleranceRule rule{0, 0.1, true};
  CHECK(compare_passes(pass({1000, 1000}, {1e-6}), pass({1090, 1000}, {1.09e-6}), rule).equal());
  CHECK_FALSE(compare_passes(pass({1, 1}, {1e-6}), pass({1, 1}, {0}), rule).equal());
}

TEST_CASE("compare_runs: integers are compared exactly, for any tolerance") {
  const std::vector<PassArray> a = {{"output_0", "", 1, array({1, 2}, DType::int32)}};
  const std::vector<PassArray> b = {{"output_0", "", 1, array({1, 3}, DType::int32)}};
  CHECK_FALSE(compare_passes(a, b, {10, 10, false}).equal());
}

TEST_CASE("compare_runs: a file of layers covers their outputs, and values inside a layer are finer") {
  const std::vector<NamedTensor> file = {
      {"x", floats({9})}, {"dense", floats({1, 2})}, {"block/norm", floats({3})}, {"block/norm/part", floats({7})}};
  const RunComparison found = compare_with_file(file, pass({1, 2}, {3}), {"x"}, kRule, "f.npz");
  CHECK(found.equal());
  CHECK(found.arrays.size() == 3);
  CHECK(found.finer == std::vector<std::string>{"block/norm/part"});
  CHECK(found.absent.empty());
  CHECK_FALSE(compare_with_file(file, pass({1, 2}, {4}), {"x"}, kRule, "f.npz").equal());
}

TEST_CASE("compare_runs: missing outputs and unknown arrays of a file are differences") {
  const RunComparison without = compare_with_file({{"dense", floats({1, 2})}}, pass({1, 2}, {3}), {}, kRule, "f.npz");
  CHECK_FALSE(without.equal());
  CHECK(without.first()->name == "output_0");
  CHECK(without.absent == std::vector<std::string>{"block/norm"});
  const RunComparison wrong =
      compare_with_file({{"output_0", floats({3})}, {"dence", floats({1})}}, pass({1, 2}, {3}), {}, kRule, "f.npz");
  REQUIRE_FALSE(wrong.equal());
  CHECK(wrong.first()->name == "dence");
  CHECK(wrong.first()->values.problem.find("did you mean 'dense'?") != std::string::npos);
  CHECK_THROWS_AS((void)compare_with_file({{"a", floats({3})}, {"b", floats({3})}}, pass({1}, {3}), {}, kRule, "f.npz"),
                  Error);
}

TEST_CASE("compare_runs: a file with one array is the model's only output, under any name") {
  CHECK(compare_with_file({{"arr_0", floats({3})}}, pass({1}, {3}), {}, kRule, "f.npy").equal());
  CHECK_FALSE(compare_with_file({{"arr_0", floats({4})}}, pass({1}, {3}), {}, kRule, "f.npy").equal());
}

TEST_CASE("compare_runs: an array of the wrong shape is a difference that says so") {
  const RunComparison found = compare_passes(pass({1, 2}, {3}), pass({1, 2, 3}, {3}), kRule);
  REQUIRE_FALSE(found.equal());
  CHECK(found.first()->values.problem == "expected shape (2,), got (3,)");
}

TEST_CASE("layer_arrays: repeated calls and results are numbered, and layers precede the enclosing model") {
  graph::Graph graph;
  graph.layers = {{"block", "Functional", {}, graph::kNone},
                  {"block/dense", "Dense", {}, 0},
                  {"block", "Functional", {}, graph::kNone},
                  {"block/dense", "Dense", {}, 2}};
  graph.values.resize(5);
  for (const graph::ValueId made : {1, 2, 3}) graph.nodes.push_back({graph::Fill{}, {}, {made}, made == 1 ? 1 : 3});
  const std::vector<LayerOutput> outputs = {{0, 0, 1, {}}, {1, 0, 1, {}}, {2, 0, 3, {}}, {3, 0, 2, {}}, {3, 1, 3, {}}};
  std::vector<std::string> names;
  for (const LayerArray& array : layer_arrays(graph, outputs)) names.push_back(array.name);
  CHECK(names ==
        std::vector<std::string>{"block/dense", "block", "block/dense[1][0]", "block/dense[1][1]", "block[1][0]"});
}

}  // namespace
}  // namespace attn::run
