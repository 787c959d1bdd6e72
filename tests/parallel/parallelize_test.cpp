#include "attn/parallel/parallelize.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../capture.h"
#include "../largest.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/communicators/simulated.h"
#include "attn/parallel/buckets.h"
#include "attn/parallel/cost.h"
#include "attn/parallel/links.h"
#include "attn/plan/passes.h"
#include "attn/plan/plan.h"
#include "models.h"

namespace attn::parallel {
namespace {

using communicators::Collective;
using communicators::Communicator;
using test::largest;
using test::largest_error;

std::vector<Tensor> run(const graph::Graph& graph, const std::vector<Tensor>& weights,
                        const std::vector<Tensor>& inputs, Communicator* ranks) {
  graph::verify(graph);
  backends::CompileOptions options;
  options.ranks = ranks;
  const auto executable = backends::make_reference_backend()->compile(plan::make_plan(graph), weights, options);
  executable->run(inputs);
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) {
    const Tensor value = executable->value(output.value);
    Tensor copy(value.dtype(), value.shape());
    std::copy_n(value.data(), value.bytes(), copy.data());
    outputs.push_back(copy);
  }
  return outputs;
}

/// The largest error of any rank's outputs against a single rank's, relative to the largest number; and the counted
/// collectives.
struct Held {
  double error = 0;
  communicators::Counts counts;
  Parallel first;
};

Held hold(const Model& model, Kind kind, int ranks) {
  const std::vector<Tensor> expected = run(model.graph, model.weights, model.inputs, nullptr);
  Held held;
  std::mutex mutex;
  communicators::run_ranks(ranks, [&](Communicator& world) {
    const Parallel local = parallelize(model.graph, kind, world.rank(), ranks);
    const std::vector<Tensor> got =
        run(local.graph, local_weights(local, model.weights, world.rank()), model.inputs, &world);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < got.size(); ++i)
      held.error = std::max(held.error, largest_error(expected[i], got[i]) / largest(expected[i]));
    if (world.rank() == 0) {
      held.counts = world.counts();
      held.first = local;
    }
  });
  return held;
}

TEST_CASE("tensor: a block has two all-reduces, and ranks share heads, columns and rows of the vocabulary") {
  for (const int ranks : {2, 3, 4}) {
    CAPTURE(ranks);
    const Model model = block({.heads = 5, .key_heads = 5, .feed_forward = 260});
    const Held held = hold(model, Kind::tensor, ranks);
    CHECK(held.error < 1e-6);  // sums have another order
    REQUIRE(held.counts.size() == 1);
    const communicators::Count& count = held.counts.at(Collective::all_reduce);
    CHECK(count.calls == 3);  // attention, feed-forward network, embedding
    CHECK(count.bytes == 3 * 2 * 6 * 16 * 4);
    CHECK(held.first.shared.size() == 3);
  }
}

TEST_CASE("tensor: ranks hold shards that make up the whole weights, except small ones") {
  const Model model = block({.heads = 4, .key_heads = 4, .feed_forward = 256});
  std::int64_t whole = 0, parts = 0, largest_rank = 0;
  for (const Tensor& weight : model.weights) whole += weight.bytes();
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t own = 0;
    for (const Tensor& part : local_weights(parallelize(model.graph, Kind::tensor, rank, 4), model.weights, rank))
      own += part.bytes();
    parts += own;
    largest_rank = std::max(largest_rank, own);
  }
  CHECK(parts < whole * 11 / 10);
  CHECK(largest_rank < whole * 3 / 10);
}

TEST_CASE("tensor: shared key heads stay with their queries, and are replicated if there are too few") {
  for (const auto& [key_heads, ranks] : std::vector<std::pair<int, int>>{{3, 3}, {3, 2}, {2, 3}, {1, 4}}) {
    CAPTURE_BINDING(key_heads);
    CAPTURE_BINDING(ranks);
    const Held held = hold(block({.heads = 6, .key_heads = key_heads, .causal = true}), Kind::tensor, ranks);
    CHECK(held.error < 1e-6);
    CHECK(held.counts.at(Collective::all_reduce).calls == 3);
  }
}

TEST_CASE("data: ranks compute separate rows, and the joined rows have the bits of one rank") {
  for (const int ranks : {2, 3}) {
    const Held held = hold(block({.batch = 5, .heads = 2, .key_heads = 2, .masked = true}), Kind::data, ranks);
    CHECK(held.error == 0.0);
    REQUIRE(held.counts.size() == 1);
    CHECK(held.counts.at(Collective::all_gather).calls == 1);
  }
}

TEST_CASE("sequence: positions are sharded, also causal and windowed ones, and keys and values circulate") {
  for (const int ranks : {2, 3, 4}) {
    for (const bool causal : {false, true}) {
      for (const Dim window : {0, 3}) {
        CAPTURE(ranks);
        CAPTURE(causal);
        CAPTURE(window);
        const Model model =
            block({.length = 7, .heads = 2, .key_heads = 1, .masked = true, .causal = causal, .window = window});
        const Held held = hold(model, Kind::sequence, ranks);
        CHECK(held.error < 1e-6);
        CHECK(held.counts.at(Collective::shift).calls == 2 * (ranks - 1));
        CHECK(held.counts.at(Collective::all_gather).calls == 1);
      }
    }
  }
}

TEST_CASE("sequence: a rank passes on keys that are hidden from its own rows") {
  for (const int ranks : {2, 3}) {
    const Held held = hold(block({.length = 7, .causal = true}), Kind::sequence, ranks);
    CHECK(held.error < 1e-6);
    CHECK(held.counts.at(Collective::shift).calls == 2 * (ranks - 1));  // rank 0 needs no keys of other ranks
  }
}

TEST_CASE("parallelize: a model that cannot be shared is rejected with a number of ranks that works") {
  const Model model = block({.heads = 2, .key_heads = 2});
  CHECK_THROWS_WITH_AS(
      static_cast<void>(parallelize(model.graph, Kind::tensor, 0, 3)),
      "the layer 'attention' has 2 heads, which cannot be split over 3 ranks: any number from 1 to 2 works", Error);
  CHECK_THROWS_AS(static_cast<void>(parallelize(model.graph, Kind::data, 0, 3)), Error);
  CHECK_THROWS_AS(static_cast<void>(parallelize(model.graph, Kind::sequence, 0, 64)), Error);
}

TEST_CASE(
    "cost: predicted counts equal a rank's counts, and a simulated run takes the predicted time on 64 and 1,024 "
    "ranks") {
  const Model model = block({.length = 4, .heads = 1024, .key_heads = 1024, .feed_forward = 1024, .head_size = 1});
  const Cluster cluster = cluster_of("h200-ndr");
  for (const int ranks : {1, 8, 64, 1024}) {
    CAPTURE(ranks);
    const Parallel local = parallelize(model.graph, Kind::tensor, 0, ranks);
    const auto world = communicators::make_simulated_rank(0, ranks, [&](Collective collective, std::int64_t bytes) {
      return seconds_of(cluster, collective, bytes, ranks);
    });
    (void)run(local.graph, local_weights(local, model.weights, 0), model.inputs, world.get());
    double predicted = 0;
    for (const CollectiveCost& cost : collective_costs(local.graph, cluster, ranks)) {
      predicted += cost.seconds;
      CHECK(world->counts().at(cost.collective).calls == cost.count);
      CHECK(world->counts().at(cost.collective).bytes == cost.bytes);
    }
    CHECK(world->virtual_seconds() == doctest::Approx(predicted).epsilon(0.01));
  }
}

TEST_CASE("cost: all_reduce has the cost of a ring and a tree, inside and between nodes") {
  // 8 and 64 ranks, 8 per node, over 1 GB: latency + bytes / bandwidth inside a node, then between nodes.
  const Cluster cluster = cluster_of("h200-ndr");
  CHECK(seconds_of(cluster, Collective::all_reduce, 1'000'000'000, 8) == doctest::Approx(12e-6 + 1.75 * 1e9 / 360e9));
  CHECK(seconds_of(cluster, Collective::all_reduce, 1'000'000'000, 64) ==
        doctest::Approx(12e-6 + 1.75 * 1e9 / 360e9 + 6 * 25e-6 + 1.75 * 1.25e8 / 45e9));
  CHECK(seconds_of(cluster, Collective::all_reduce, 8, 1) == 0.0);
}

TEST_CASE("cost: training efficiencies of five sizes on two clusters match the model they come from") {
  struct Size {
    double layers, width, inner, length, batch;
    std::vector<double> gpus, cpus;  // for 2, 8, 16, 64, 256 and 1,024 ranks, computed independently
  };
  const std::vector<Size> sizes = {
      {6, 512, 2048, 50, 32, {0.98, 0.97, 0.81, 0.64, 0.56, 0.51}, {0.99, 0.98, 0.98, 0.97, 0.97, 0.97}},
      {12, 768, 3072, 128, 8, {0.97, 0.91, 0.72, 0.61, 0.57, 0.55}, {0.98, 0.97, 0.96, 0.96, 0.96, 0.96}},
      {12, 768, 3072, 128, 64, {1.00, 0.99, 0.99, 0.98, 0.98, 0.98}, {1.00, 1.00, 1.00, 0.99, 0.99, 0.99}},
      {24, 1024, 4096, 384, 8, {0.99, 0.98, 0.97, 0.96, 0.96, 0.96}, {0.99, 0.99, 0.99, 0.99, 0.99, 0.99}},
      {40, 5120, 20480, 2048, 1, {0.99, 0.97, 0.96, 0.92, 0.89, 0.89}, {0.99, 0.98, 0.98, 0.98, 0.98, 0.98}}};
  const std::vector<int> ranks = {2, 8, 16, 64, 256, 1024};
  for (const Size& size : sizes) {
    CAPTURE(size.layers);
    CAPTURE(size.batch);
    const double weights = size.layers * (4 * size.width * size.width + 2 * size.width * size.inner);
    const double rows = size.batch * size.length;
    const double flops = 2 * weights * rows + 4 * size.layers * rows * size.length * size.width;
    for (const auto& [name, expected] : {std::pair("h200-ndr", size.gpus), std::pair("cpu-100g", size.cpus)}) {
      const Cluster cluster = cluster_of(name);
      const double forward = flops / (cluster.peak * cluster.share);
      for (std::size_t i = 0; i < ranks.size(); ++i)
        CHECK(std::abs(training_efficiency(forward, static_cast<std::int64_t>(weights), ranks[i], cluster) -
                       expected[i]) < 0.0051);
    }
  }
}

TEST_CASE("cost: one group costs what its ranks cost, and more groups share rows and gradients") {
  const Cluster cluster = cluster_of("h200-ndr");
  const Model model = block({.batch = 17, .heads = 4, .key_heads = 4, .feed_forward = 256});
  const Prediction alone = predict(model.graph, Kind::tensor, 4, cluster);
  CHECK(predict(model.graph, Kind::tensor, 4, 1, cluster).seconds() == alone.seconds());
  const Prediction four = predict(model.graph, Kind::tensor, 4, 4, cluster);
  CHECK(four.compute < alone.compute);
  CHECK(four.alone == alone.alone);
  // Two groups fill a node, and their all-gather stays in it; that of eight groups does not.
  const std::int64_t bytes = model.graph.value(model.graph.outputs[0].value).shape.size() * 4;
  const auto gathered = [&](int groups) {
    const GroupRows rows = rows_of_group(model.graph, groups - 1, groups);
    return predict(model.graph, Kind::tensor, 4, groups, cluster).collective -
           predict(rows.part.graph, Kind::tensor, 4, cluster).collective;
  };
  CHECK(gathered(2) == doctest::Approx(seconds_of(cluster, Collective::all_gather, bytes, 2)));
  CHECK(gathered(8) > seconds_of(cluster, Collective::all_gather, bytes, 8));
  CHECK(training_efficiency(alone, 1000, 250, 4, 8, cluster) < training_efficiency(alone, 1000, 250, 4, 2, cluster));
}

TEST_CASE("groups: ranks of a group share the model over the group's rows, and groups cover all rows") {
  const Model model = block({.batch = 5, .heads = 4, .key_heads = 4, .feed_forward = 256, .masked = true});
  const Tensor expected = run(model.graph, model.weights, model.inputs, nullptr)[0];
  for (const int groups : {2, 3, 5}) {
    CAPTURE(groups);
    std::int64_t from = 0;
    for (int group = 0; group < groups; ++group) {
      const GroupRows rows = rows_of_group(model.graph, group, groups);
      graph::verify(rows.part.graph);
      REQUIRE(rows.outputs.size() == 1);
      REQUIRE(rows.outputs[0].size() == static_cast<std::size_t>(groups));
      const std::vector<Tensor> weights = local_weights(rows.part, model.weights, group);
      communicators::run_ranks(2, [&](Communicator& world) {
        const Parallel local = parallelize(rows.part.graph, Kind::tensor, world.rank(), 2);
        const Tensor got = run(local.graph, local_weights(local, weights, world.rank()), model.inputs, &world)[0];
        CHECK(got.shape()[0] == rows.outputs[0][static_cast<std::size_t>(group)]);
        double error = 0;
        const std::int64_t row = expected.size() / 5;
        for (std::int64_t i = 0; i < got.size(); ++i)
          error = std::max(error, std::abs(got.at(i) - expected.at(from * row + i)));
        CHECK(error < 1e-5);
      });
      from += rows.outputs[0][static_cast<std::size_t>(group)];
    }
    CHECK(from == 5);
  }
  CHECK_THROWS_AS(static_cast<void>(rows_of_group(model.graph, 0, 6)), Error);
}

TEST_CASE("groups: rows that depend on each other are rejected") {
  using namespace graph;
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float32, {4, 3});
  const ValueId mean = b.apply(Reduce{ReduceFn::mean, {0}, true}, {x});
  graph.outputs.push_back({"", b.binary(BinaryFn::subtract, x, mean)});
  CHECK_THROWS_WITH_AS(static_cast<void>(rows_of_group(graph, 0, 2)),
                       "the rows of the batch depend on each other, so groups of ranks cannot share them", Error);
}

TEST_CASE("cluster: JSON is read, and errors name missing or unknown fields") {
  const Cluster cluster = cluster_of(R"({"ranks_per_node": 4, "peak": 1e12, "memory_bw": 1e11,
      "between": {"alpha": 1e-5, "beta": 1e10}})");
  CHECK(cluster.ranks_per_node == 4);
  CHECK(cluster.inside.beta == 1e10);
  CHECK_THROWS_WITH_AS(static_cast<void>(cluster_of("h200-ndx")), doctest::Contains("did you mean 'h200-ndr'"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(cluster_of(R"({"ranks_per_node": 4})")), "cluster: 'peak' is missing", Error);
  CHECK_THROWS_AS(static_cast<void>(cluster_of(R"({"peaks": 4})")), Error);
  CHECK_THROWS_AS(static_cast<void>(cluster_of(R"({"ranks_per_node": -1, "peak": 1e12, "memory_bw": 1e11,
      "between": {"alpha": 1e-5, "beta": 1e10}})")),
                  Error);
  CHECK_THROWS_AS(static_cast<void>(cluster_of("{")), Error);
}

TEST_CASE("links: parameters fitted to measured sums predict them, inside and between machines") {
  for (const int ranks : {2, 3, 8}) {
    for (const int nodes : {1, ranks}) {
      CAPTURE(ranks);
      CAPTURE(nodes);
      const Cluster cluster = cluster_of({{8, 20e-6}, {1 << 20, 1e-3}, {1 << 24, 9e-3}}, {ranks, nodes});
      CHECK(cluster.ranks_per_node == (nodes == 1 ? ranks : 1));
      CHECK(seconds_of(cluster, Collective::all_reduce, 8, ranks) == doctest::Approx(20e-6).epsilon(1e-6));
      CHECK(seconds_of(cluster, Collective::all_reduce, 1 << 24, ranks) == doctest::Approx(9e-3).epsilon(1e-6));
    }
  }
}

TEST_CASE("links: ranks measure and count the same sums") {
  communicators::run_ranks(3, [](Communicator& world) {
    const std::vector<MeasuredSum> sums = measure_sums(world);
    std::vector<double> seconds;
    for (const MeasuredSum& sum : sums) seconds.push_back(sum.seconds);
    std::vector<double> first = seconds;
    world.broadcast(std::as_writable_bytes(std::span(first)), 0);
    CHECK(first == seconds);
    CHECK(sums.size() == 5);
    CHECK(sums.back().bytes == 1 << 24);
  });
}

TEST_CASE("buckets: independent sums become one, and the results stay equal") {
  using namespace graph;
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float32, {4, 3});
  const auto sum = [&](ValueId of) { return b.apply(AllReduce{}, {of}); };
  const ValueId first = sum(b.apply(Reduce{ReduceFn::sum, {0}, false}, {x}));  // (3); the next two sums depend on it
  const ValueId scaled = b.binary(BinaryFn::multiply, x, first);
  const ValueId rows = sum(b.apply(Reduce{ReduceFn::sum, {1}, false}, {scaled}));  // (4)
  const ValueId twice = b.binary(BinaryFn::add, rows, rows);
  const ValueId square = sum(b.unary(UnaryFn::square, scaled));  // (4, 3)
  const ValueId whole = sum(b.cast(scaled, DType::float64));
  for (const ValueId id : {twice, square, whole, first}) graph.outputs.push_back({"", id});
  const Tensor numbers(DType::float32, {4, 3});
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, 0.25 * static_cast<double>(i) - 1);

  for (const auto& [bytes, calls] : std::vector<std::pair<std::int64_t, int>>{{1 << 20, 3}, {16, 4}}) {
    const Graph bucketed = bucket_sums(graph, bytes);
    communicators::run_ranks(3, [&, calls = calls](Communicator& world) {
      const std::vector<Tensor> expected = run(graph, {}, {numbers}, &world);
      CHECK(world.counts().at(Collective::all_reduce).calls == 4);
      world.reset_counts();
      const std::vector<Tensor> got = run(bucketed, {}, {numbers}, &world);
      CHECK(world.counts().at(Collective::all_reduce).calls == calls);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(largest_error(expected[i], got[i]) == 0.0);
    });
  }
}

/// A backward pass through `layers` products, whose gradients are all-reduced.
graph::Graph backward(int layers) {
  using namespace graph;
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float32, {4, 8});
  ValueId given = x;
  for (int i = 0; i < layers; ++i) {
    const ValueId gradient = b.apply(AllReduce{}, {b.apply(MatMul{true, false}, {x, given})});  // (8, 8)
    graph.outputs.push_back({"", b.binary(BinaryFn::multiply, gradient, b.scalar_like(gradient, 0.5))});
    given = b.unary(UnaryFn::tanh, b.apply(MatMul{}, {given, b.apply(MatMul{true, false}, {x, x})}));
  }
  graph.outputs.push_back({"", given});
  return graph;
}

Tensor numbers_of(const graph::Value& value) {
  const Tensor numbers(value.dtype, value.shape);
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, std::sin(static_cast<double>(i)));
  return numbers;
}

TEST_CASE("buckets: overlapped sums have the bits of sums without overlap") {
  const graph::Graph graph = backward(5);
  const Tensor x = numbers_of(graph.value(graph.inputs[0]));
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{600}}) {
    communicators::run_ranks(3, [&](Communicator& world) {
      const std::vector<Tensor> expected = run(graph, {}, {x}, &world);
      backends::CompileOptions options;
      options.ranks = &world;
      const graph::Graph bucketed = bucket_sums(graph, bytes);
      const auto executable =
          backends::make_cpu_backend({.poison_arena = true})->compile(plan::make_plan(bucketed), {}, options);
      for (int again = 0; again < 2; ++again) {
        executable->run(std::vector<Tensor>{x});
        for (std::size_t i = 0; i < expected.size(); ++i)
          CHECK(largest_error(expected[i], executable->value(bucketed.outputs[i].value)) < 1e-4);
      }
    });
  }
}

TEST_CASE("cost: a simulated pass takes its computation plus the sums that computation does not hide") {
  constexpr int kLayers = 6;
  constexpr double kStep = 1e-3;
  const graph::Graph graph = bucket_sums(backward(kLayers), 1);  // each sum separate
  const Tensor x = numbers_of(graph.value(graph.inputs[0]));
  for (const double price : {0.5e-3, 20e-3}) {  // hidden behind the backward pass; longer than all of it
    const auto world = communicators::make_simulated_rank(0, 64, [&](Collective, std::int64_t) { return price; });
    backends::CompileOptions options;
    options.ranks = world.get();
    const plan::Plan plan = plan::make_plan(graph);
    const auto executable = backends::make_cpu_backend()->compile(plan, {}, options);
    executable->run_profiled(std::vector<Tensor>{x}, [&](graph::NodeId node, double) {
      if (!graph::is_collective(plan.graph.nodes[graph::at(node)].op)) world->compute(kStep);
    });
    // Each layer computes a gradient and three further steps. The sums run one after the other, and their readers last.
    const double hidden = 5 * kLayers * kStep, exposed = kStep + kLayers * price + kStep;
    CHECK(world->virtual_seconds() == doctest::Approx(std::max(hidden, exposed)).epsilon(0.01));
    CHECK(world->counts().at(Collective::all_reduce).calls == kLayers);
  }
}

TEST_CASE("buckets: rounded sums take half the bytes, and other sums keep their bits") {
  using namespace graph;
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", DType::float32, {4, 3});
  const auto sum = [&](ValueId of) { return b.apply(AllReduce{}, {of}); };
  const ValueId gradient = sum(x), other = sum(b.unary(UnaryFn::square, x)), loss = sum(b.unary(UnaryFn::absolute, x));
  for (const ValueId id : {gradient, other, loss}) graph.outputs.push_back({"", id});
  const Graph bucketed = bucket_sums(graph, 1 << 20, {{gradient, other}, DType::bfloat16});
  const Tensor numbers(DType::float32, {4, 3});
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.set(i, 0.1 * static_cast<double>(i) - 1);
  communicators::run_ranks(2, [&](Communicator& world) {
    const std::vector<Tensor> expected = run(graph, {}, {numbers}, &world);
    world.reset_counts();
    const std::vector<Tensor> got = run(bucketed, {}, {numbers}, &world);
    CHECK(world.counts().at(Collective::all_reduce).calls == 2);
    CHECK(world.counts().at(Collective::all_reduce).bytes == 2 * 12 * 2 + 12 * 4);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(largest_error(expected[i], got[i]) > 0);
      CHECK(largest_error(expected[i], got[i]) <= largest(expected[i]) / 128);
    }
    CHECK(largest_error(expected[2], got[2]) == 0.0);
  });
}

TEST_CASE("shares: shards differ by at most one, and long axes are cut into blocks of 64") {
  CHECK(shares(16, 3) == std::vector<Dim>{5, 5, 6});
  CHECK(shares(2, 3) == std::vector<Dim>{0, 1, 1});
  CHECK(shares_of_axis(3072, 3072, 5) == std::vector<Dim>{576, 640, 576, 640, 640});
  CHECK(shares_of_axis(100, 100, 3) == std::vector<Dim>{33, 33, 34});
  CHECK(shares_of_axis(48, 6, 4) == std::vector<Dim>{8, 16, 8, 16});
  CHECK(evenness({5, 5, 6}) == doctest::Approx(16.0 / 18));
}

}  // namespace
}  // namespace attn::parallel
