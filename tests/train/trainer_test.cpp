// Properties of a step that hold for every computation.
#include "attn/train/trainer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attn/backends/cpu.h"
#include "attn/base/rng.h"
#include "attn/communicators/simulated.h"
#include "attn/keras/model.h"
#include "attn/keras/optimizer.h"

namespace attn::test {
namespace {

constexpr const char* kEncoder =
    R"({"name": "encoder", "input_shape": [9, 32], "num_layers": 3, "num_heads": 2, "key_dim": 16,
        "intermediate_dim": 80, "activation": "gelu"})";
constexpr Dim kBatch = 5;

Tensor normals(const std::string& name, DType dtype, const Shape& shape, double scale) {
  Tensor out(dtype, shape);
  RandomStream random(1, name);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, scale * random.normal());
  return out;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<Tensor> weights;
  std::int64_t told = 0;
  communicators::Counts counts;
};

/// Three steps of Adam on the mean squared error.
Outcome train_encoder(int threads, bool recompute, const std::optional<std::string>& dtype = {},
                      communicators::Communicator* ranks = nullptr, bool shares_optimizer = false, int parts = 0,
                      Dim batch_size = kBatch) {
  const keras::Model model = keras::Model::read("encoder.json", kEncoder);
  const auto lower = [&](const train::Batch&, bool training) {
    keras::LowerOptions options;
    options.batch = batch_size;
    options.dtype = dtype;
    keras::LossOptions how;
    how.loss = "mse";
    how.training = training;
    return model.lower_loss(options, how);
  };
  const keras::LossGraph lowered = lower({}, true);
  std::vector<Tensor> weights;
  for (const graph::WeightSpec& spec : lowered.graph.weights)
    weights.push_back(normals(spec.path, spec.dtype, spec.shape, 0.2));
  train::Batch batch;
  for (const graph::ValueId id : lowered.graph.inputs) {
    const graph::Value& value = lowered.graph.value(id);
    batch.emplace(value.name, normals(value.name, value.dtype, value.shape, 1.0));
  }
  // Wakes threads for any amount of work.
  const auto backend = backends::make_cpu_backend({.work_per_thread = 1.0, .poison_arena = true});
  train::TrainerOptions options;
  options.compile.threads = threads;
  options.recompute = recompute;
  options.compile.ranks = ranks;
  options.shares_optimizer = shares_optimizer;
  options.parts = parts;
  train::Trainer trainer(*backend, lower, lowered.graph.weights, weights,
                         keras::compiled_optimizer(R"({"optimizer": "adam", "loss": "mse"})"), options);
  Outcome out;
  out.told = trainer.memory_needed(batch);
  for (int step = 0; step < 3; ++step) out.losses.push_back(trainer.step(batch).loss);
  out.weights = trainer.weights();
  return out;
}

bool same_bits(const Outcome& a, const Outcome& b) {
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(a.weights[i].bytes());
    if (std::memcmp(a.weights[i].data(), b.weights[i].data(), bytes) != 0) return false;
  }
  return a.losses == b.losses;
}

}  // namespace

TEST_CASE("trainer: steps have the same bits for any number of threads") {
  const Outcome alone = train_encoder(1, false);
  CHECK(alone.losses[2] < alone.losses[0]);
  CHECK(same_bits(alone, train_encoder(3, false)));
  CHECK(same_bits(train_encoder(1, false, "bfloat16"), train_encoder(3, false, "bfloat16")));
}

TEST_CASE("trainer: ranks reduce gradients and loss once in a step, and end with the same weights") {
  const Outcome alone = train_encoder(1, false);
  std::int64_t weights = 0;
  for (const Tensor& weight : alone.weights) weights += weight.bytes();
  for (const bool recompute : {false, true}) {
    for (const int ranks : {2, 3, 5, 6}) {
      CAPTURE(ranks);
      std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
      communicators::run_ranks(ranks, [&](communicators::Communicator& world) {
        Outcome& own = outcomes[static_cast<std::size_t>(world.rank())];
        own = train_encoder(1, recompute, {}, &world);
        own.counts = world.counts();
      });
      for (const Outcome& outcome : outcomes) {
        CHECK(same_bits(outcome, outcomes[0]));
        for (std::size_t i = 0; i < alone.losses.size(); ++i)
          CHECK(outcome.losses[i] == doctest::Approx(alone.losses[i]).epsilon(1e-5));
        if (ranks > kBatch) {  // too few rows: every rank computes the whole batch
          CHECK(same_bits(outcome, alone));
          continue;
        }
        REQUIRE(outcome.counts.size() == 1);
        const communicators::Count& sums = outcome.counts.at(communicators::Collective::all_reduce);
        CHECK(sums.calls == 3);
        const std::int64_t loss = 4;
        CHECK(sums.bytes == 3 * (weights + loss));
      }
    }
  }
}

TEST_CASE("trainer: ranks with a sharded optimizer compute the same bits and hold less") {
  std::int64_t weights = 0;
  for (const Tensor& weight : train_encoder(1, false).weights) weights += weight.bytes();
  for (const int ranks : {2, 3, 6}) {
    CAPTURE(ranks);
    communicators::run_ranks(ranks, [&](communicators::Communicator& world) {
      const Outcome each = train_encoder(1, false, {}, &world);
      world.reset_counts();
      const Outcome shared = train_encoder(1, false, {}, &world, true);
      CHECK(same_bits(each, shared));
      if (world.rank() > 0) CHECK(shared.told < each.told);  // rank 0 allocates memory for the written state
      const communicators::Count& exchanged = world.counts().at(communicators::Collective::all_gather);
      CHECK(exchanged.calls == 3);
      CHECK(exchanged.bytes == 3 * weights);
    });
  }
}

TEST_CASE("trainer: a batch in parts gives the same bits on every number of ranks, and on one process") {
  for (const std::optional<std::string>& dtype :
       {std::optional<std::string>(), std::optional<std::string>("bfloat16")}) {
    for (const Dim rows : {Dim{1}, kBatch, Dim{19}}) {
      CAPTURE(rows);
      const Outcome alone = train_encoder(2, false, dtype, nullptr, false, 8, rows);
      const Outcome whole = train_encoder(2, false, dtype, nullptr, false, 0, rows);
      for (std::size_t i = 0; i < alone.losses.size(); ++i)
        CHECK(alone.losses[i] == doctest::Approx(whole.losses[i]).epsilon(dtype ? 2e-2 : 1e-5));
      for (const int ranks : {1, 2, 3, 4, 6, 8, 9}) {
        CAPTURE(ranks);
        communicators::run_ranks(ranks, [&](communicators::Communicator& world) {
          const bool shares = world.size() == 3;
          CHECK(same_bits(alone, train_encoder(1, world.size() == 4 && !dtype, dtype, &world, shares, 8, rows)));
        });
      }
    }
  }
}

TEST_CASE("trainer: recomputed activations give the same bits and take less memory") {
  const Outcome kept = train_encoder(2, false), again = train_encoder(2, true);
  CHECK(same_bits(kept, again));
  CHECK(again.told < kept.told);
}

TEST_CASE("trainer: the loss in bfloat16 agrees with float32 to 8 bits") {
  const Outcome single = train_encoder(2, false), half = train_encoder(2, false, "bfloat16");
  for (std::size_t i = 0; i < single.losses.size(); ++i)
    CHECK(std::abs(half.losses[i] - single.losses[i]) <= 0.02 * single.losses[i]);
  CHECK_FALSE(same_bits(single, half));
}

TEST_CASE("trainer: the times of a step name every kernel that runs") {
  const keras::Model model = keras::Model::read("encoder.json", kEncoder);
  const auto lower = [&](const train::Batch&, bool) {
    keras::LowerOptions options;
    options.batch = 2;
    keras::LossOptions how;
    how.loss = "mse";
    return model.lower_loss(options, how);
  };
  const keras::LossGraph lowered = lower({}, true);
  std::vector<Tensor> weights;
  for (const graph::WeightSpec& spec : lowered.graph.weights) weights.emplace_back(spec.dtype, spec.shape);
  train::Batch batch;
  for (const graph::ValueId id : lowered.graph.inputs) {
    const graph::Value& value = lowered.graph.value(id);
    batch.emplace(value.name, normals(value.name, value.dtype, value.shape, 1.0));
  }
  const auto backend = backends::make_cpu_backend();
  train::Trainer trainer(*backend, lower, lowered.graph.weights, weights,
                         keras::compiled_optimizer(R"({"optimizer": "sgd", "loss": "mse"})"), {});
  train::StepTimes times;
  static_cast<void>(trainer.step(batch, &times));
  const auto ran = [&](const std::string& name) {
    return std::ranges::any_of(times.nodes, [&](const auto& node) { return node.name.starts_with(name); });
  };
  CHECK(ran("linear: panels"));
  CHECK(ran("attention_grad: flash"));
  CHECK(std::ranges::none_of(times.nodes, [](const auto& node) { return node.name.ends_with(": reference"); }));
}

}  // namespace attn::test
