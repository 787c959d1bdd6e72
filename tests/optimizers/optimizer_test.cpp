#include "attn/optimizers/optimizer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/rng.h"

namespace attn::test {
namespace {

using namespace attn::optimizers;

Tensor drawn(Shape shape, const std::string& name) {
  Tensor out(DType::float32, std::move(shape));
  RandomStream stream(0, name);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, stream.normal());
  return out;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

}  // namespace

TEST_CASE("optimizer: steps give the same bits for any number of threads") {
  const Shape shape{700, 700};
  std::vector<Tensor> results;
  for (const int threads : {1, 3}) {
    Settings settings;
    settings.rule = Adam{};
    settings.global_clipnorm = 0.1;
    Optimizer optimizer(settings, {{"a", shape, {}}, {"b", {5}, {}}}, threads);
    const std::vector<Tensor> weights{drawn(shape, "a"), drawn({5}, "b")};
    optimizer.begin(weights);
    for (int step = 0; step < 3; ++step) {
      const StepReport report = optimizer.apply(weights, {{drawn(shape, "ga"), {}}, {drawn({5}, "gb"), {}}});
      CHECK(report.clipped);
    }
    results.push_back(weights[0]);
  }
  CHECK(same(results[0], results[1]));
}

TEST_CASE("optimizer: a variable without a gradient stays, and its decay too") {
  Settings settings;
  settings.rule = SGD{};
  settings.weight_decay = 0.5;
  Optimizer optimizer(settings, {{"a", {2}, {}}, {"b", {2}, {}}}, 1);
  const std::vector<Tensor> weights{drawn({2}, "a"), drawn({2}, "b")};
  optimizer.apply(weights, {{drawn({2}, "g"), {}}, {}});
  CHECK(same(weights[1], drawn({2}, "b")));
  CHECK(!same(weights[0], drawn({2}, "a")));
  CHECK(optimizer.iteration() == 1);
}

TEST_CASE("optimizer: what it is given is not changed") {
  Settings settings;
  settings.rule = SGD{};
  settings.clipnorm = 1e-3;
  Optimizer optimizer(settings, {{"a", {2}, {}}}, 1);
  const Tensor gradient = drawn({2}, "g");
  optimizer.apply({drawn({2}, "a")}, {{gradient, {}}});
  CHECK(same(gradient, drawn({2}, "g")));
}

TEST_CASE("optimizer: the state of another optimizer is refused") {
  Settings settings;
  settings.rule = Adam{};
  settings.name = "adam";
  Optimizer optimizer(settings, {{"a", {2}, {}}}, 1);
  CHECK_THROWS_WITH_AS(optimizer.set_state({Tensor(DType::int64, Shape{})}),
                       "the file has 1 variables of the optimizer, and adam has 4", Error);
}

}  // namespace attn::test
