#include "attn/optimizers/optimizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/stop.h"

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

TEST_CASE("optimizer: ranks with shards of the variables update weights to the bits of one rank") {
  const std::vector<Variable> variables = {
      {"table", {300, 500}, {}}, {"bias", {7}, Constraint{}}, {"none", {0, 3}, {}}, {"kernel", {40, 30}, {}}};
  const std::vector<Rule> rules = {SGD{},     Adam{},    Adamax{},   Nadam{}, Lamb{}, ScheduleFreeAdamW{},
                                   RMSprop{}, Adagrad{}, Adadelta{}, Ftrl{},  Lion{}, Adafactor{},
                                   Muon{}};
  const auto draw_all = [&](const std::string& what) {
    std::vector<Tensor> out;
    for (const Variable& variable : variables) out.push_back(drawn(variable.shape, what + variable.path));
    return out;
  };
  for (const Rule& rule : rules) {
    CAPTURE(rule.index());
    Settings settings;
    settings.rule = rule;
    settings.weight_decay = 0.01;
    (rule.index() % 2 == 0 ? settings.global_clipnorm : settings.clipnorm) = 0.5;
    settings.use_ema = rule.index() % 3 == 0;
    if (settings.use_ema) settings.ema_overwrite_frequency = 2;
    if (rule.index() % 4 == 1) settings.gradient_accumulation_steps = 2;
    for (const int ranks : {1, 3, 5}) {
      CAPTURE(ranks);
      Optimizer one(settings, variables, 1);
      std::vector<Tensor> expected = draw_all("w");
      one.begin(expected);
      std::vector<Optimizer> shared;
      std::vector<std::vector<Tensor>> weights;
      for (int rank = 0; rank < ranks; ++rank) {
        shared.emplace_back(settings, variables, 1, Sharing{rank, ranks});
        weights.push_back(draw_all("w"));
        shared.back().begin(weights.back());
      }
      for (int step = 0; step < 4; ++step) {
        std::vector<Gradient> gradients;
        for (const Tensor& gradient : draw_all("g" + std::to_string(step))) gradients.push_back({gradient});
        one.apply(expected, gradients);
        // The shards that other ranks updated equal those of a single rank, except for constraints, which are applied
        // after the exchange.
        std::vector<std::vector<Tensor>> before;
        for (auto& rank : shared) {
          const std::size_t r = before.size();
          before.emplace_back();
          rank.apply(weights[r], gradients, [&] {
            for (const Tensor& weight : weights[r])
              before.back().push_back(weight.cast(DType::float64).cast(DType::float32));
          });
        }
        for (int rank = 0; rank < ranks; ++rank)
          for (std::size_t n = 0; n < variables.size(); ++n)
            for (int owner = 0; owner < ranks; ++owner) {
              const Range& moved = shared[0].moved_by(owner)[n];
              const auto* from = before[static_cast<std::size_t>(owner)][n].as<const float>().data();
              auto* to = weights[static_cast<std::size_t>(rank)][n].as<float>().data();
              for (std::int64_t i = moved.begin; i < moved.end; ++i)
                to[i] = variables[n].constraint ? from[i] * (from[i] >= 0.0F ? 1.0F : 0.0F) : from[i];
            }
        for (int rank = 0; rank < ranks; ++rank)
          for (std::size_t n = 0; n < variables.size(); ++n)
            CHECK(same(weights[static_cast<std::size_t>(rank)][n], expected[n]));
      }
      // The shards form the state of a single rank; each rank loads its own.
      std::vector<Tensor> whole;
      for (std::size_t i = 0; i < one.state().size(); ++i) {
        whole.push_back(one.state()[i].tensor);
        const auto pieces = shared[0].pieces(i);
        CHECK(pieces.has_value() ==
              (ranks > 1 && whole.back().shape().rank() > 0 && one.state()[i].name.find("none_") == std::string::npos &&
               one.state()[i].name.find("gradient_accumulator") == std::string::npos));
        std::int64_t place = 0;
        for (int rank = 0; pieces && rank < ranks; ++rank) {
          const Tensor& piece = shared[static_cast<std::size_t>(rank)].state()[i].tensor;
          REQUIRE(pieces->whole == whole.back().shape());
          REQUIRE(piece.bytes() == pieces->bytes[static_cast<std::size_t>(rank)]);
          CHECK(std::equal(piece.data(), piece.data() + piece.bytes(), whole.back().data() + place));
          place += piece.bytes();
        }
        if (pieces) CHECK(place == whole.back().bytes());
      }
      for (int rank = 0; rank < ranks; ++rank) {
        Optimizer again(settings, variables, 1, Sharing{rank, ranks});
        again.set_state(whole);
        for (std::size_t i = 0; i < whole.size(); ++i)
          CHECK(same(again.state()[i].tensor, shared[static_cast<std::size_t>(rank)].state()[i].tensor));
      }
    }
  }
}

TEST_CASE("optimizer: a stopped step of Muon keeps weights and state unchanged") {
  Settings settings;
  settings.rule = Muon{};
  settings.use_ema = true;
  for (const bool accumulates : {false, true}) {
    if (accumulates) settings.gradient_accumulation_steps = 2;
    settings.loss_scale.emplace();
    Optimizer optimizer(settings, {{"a", {6, 4}, {}}, {"b", {4}, {}}}, 1);
    const std::vector<Tensor> weights{drawn({6, 4}, "a"), drawn({4}, "b")};
    const std::vector<Gradient> gradients{{drawn({6, 4}, "ga")}, {drawn({4}, "gb")}};
    optimizer.begin(weights);
    if (accumulates) optimizer.apply(weights, gradients);
    std::vector<Tensor> all = weights, before;
    for (const NamedTensor& variable : optimizer.state()) all.push_back(variable.tensor);
    for (const Tensor& tensor : all) before.push_back(tensor.cast(tensor.dtype()));
    request_stop();
    CHECK_THROWS_AS(optimizer.apply(weights, gradients), Stopped);
    take_back_stop();
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(same(all[i], before[i]));
    CHECK(!optimizer.apply(weights, gradients).skipped);
    CHECK(!same(all[0], before[0]));
  }
}

TEST_CASE("optimizer: a stored state must have the optimizer's shapes, counts and scales") {
  Settings settings;
  settings.rule = Nadam{};
  settings.loss_scale.emplace();
  Optimizer optimizer(settings, {{"a", {2}, {}}}, 1);
  const Tensor large(DType::float32, {10000});
  CHECK_THROWS_AS(optimizer.set_unsaved({large}), Error);
  CHECK_THROWS_AS(optimizer.set_unsaved({Tensor(DType::float32, {0})}), Error);
  std::vector<Tensor> state;
  for (const NamedTensor& variable : optimizer.state()) state.push_back(variable.tensor.cast(variable.tensor.dtype()));
  optimizer.set_state(state);
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::vector<Tensor> wrong = state;
    wrong[i] = large;
    CHECK_THROWS_AS(optimizer.set_state(wrong), Error);
  }
  const auto with = [&](std::size_t i, double value) {
    std::vector<Tensor> changed = state;
    changed[i] = Tensor(DType::float64, Shape{});
    changed[i].set(0, value);
    return changed;
  };
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double count : {-1.0, 1e18, infinite, std::nan("")})
    CHECK_THROWS_AS(optimizer.set_state(with(4, count)), Error);  // the iteration
  for (const double scale : {0.0, -1.0, infinite, std::nan("")})
    CHECK_THROWS_AS(optimizer.set_state(with(3, scale)), Error);  // the loss scale
}

TEST_CASE("optimizer: a variable without a gradient is not changed, not even by its decay") {
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

TEST_CASE("optimizer: loss scaling removes variables that Keras's LossScaleOptimizer does not save") {
  // The order of keras.optimizers.LossScaleOptimizer(Nadam()) and (Adafactor()) for a kernel and a bias.
  Settings settings;
  settings.loss_scale.emplace();
  const std::vector<Variable> variables{{"kernel", {4, 3}, {}}, {"bias", {3}, {}}};
  settings.rule = Adafactor{};
  CHECK(Optimizer(settings, variables, 1).state().size() == 4 + 2 + 4);
  settings.rule = Nadam{};
  CHECK(Optimizer(settings, variables, 1).state().size() == 4 + 2 + 4);
  settings.loss_scale.reset();
  CHECK(Optimizer(settings, variables, 1).state().size() == 2 + 4 + 1);
}

TEST_CASE("optimizer: Nadam with loss scaling resumes bit for bit, although its file lacks the product") {
  Settings settings;
  settings.rule = Nadam{};
  settings.loss_scale.emplace();
  const std::vector<Variable> variables{{"a", {40}, {}}};
  const auto step = [](Optimizer& optimizer, const std::vector<Tensor>& weights, int n) {
    optimizer.apply(weights, {{drawn({40}, "g" + std::to_string(n)), {}}});
  };
  Optimizer whole(settings, variables, 1), first(settings, variables, 1), second(settings, variables, 1);
  const std::vector<Tensor> a{drawn({40}, "a")}, b{drawn({40}, "a")};
  for (int n = 0; n < 6; ++n) step(whole, a, n);
  for (int n = 0; n < 3; ++n) step(first, b, n);
  std::vector<Tensor> state;
  for (const NamedTensor& variable : first.state()) state.push_back(variable.tensor);
  second.set_state(state);
  second.set_unsaved(first.unsaved());
  for (int n = 3; n < 6; ++n) step(second, b, n);
  CHECK(same(a[0], b[0]));
}

TEST_CASE("optimizer: the gradients are not changed") {
  Settings settings;
  settings.rule = SGD{};
  settings.clipnorm = 1e-3;
  Optimizer optimizer(settings, {{"a", {2}, {}}}, 1);
  const Tensor gradient = drawn({2}, "g");
  optimizer.apply({drawn({2}, "a")}, {{gradient, {}}});
  CHECK(same(gradient, drawn({2}, "g")));
}

TEST_CASE("optimizer: the state of another optimizer is rejected") {
  Settings settings;
  settings.rule = Adam{};
  settings.name = "adam";
  Optimizer optimizer(settings, {{"a", {2}, {}}}, 1);
  CHECK_THROWS_WITH_AS(optimizer.set_state({Tensor(DType::int64, Shape{})}),
                       "the file has 1 optimizer variables, but adam has 4", Error);
}

}  // namespace attn::test
