#include "attn/run/bench.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/backends/registry.h"
#include "attn/keras/model.h"
#include "attn/run/inputs.h"
#include "attn/run/int8_products.h"
#include "attn/run/noise.h"
#include "attn/run/operations.h"
#include "attn/run/peaks.h"
#include "attn/run/session.h"
#include "attn/run/verify.h"
#include "attn/weights/initialize.h"

using namespace attn;
using namespace attn::run;

namespace {

/// A clock that advances only during runs; run i takes seconds(i).
struct Runs {
  std::function<double(int)> seconds;
  double now = 0;
  int count = 0;

  std::vector<double> measured(const BenchOptions& options) {
    return measure([this] { now += seconds(count++); }, options, [this] { return now; });
  }
};

struct Case {
  graph::Graph graph;
  std::vector<Tensor> inputs, weights;
};

Case encoder() {
  const auto model = keras::Model::read("built-in", keras::Model::builtin_encoder());
  keras::LowerOptions options;
  options.sequence_length = 5;
  Case out{model.lower(options), {}, {}};
  out.inputs = make_inputs(out.graph, {}, 0);
  for (const graph::WeightSpec& spec : model.weights()) out.weights.push_back(weights::initialize(spec, 0));
  return out;
}

}  // namespace

TEST_CASE("session: a profiled pass gives the same bits, and its shares add up to the whole") {
  const Case model = encoder();
  for (const char* name : {"reference", "onednn"}) {
    const auto backend = backends::make_backend("cpu", name).backend;
    Session session(*backend, model.graph, model.weights, {});
    session.run(model.inputs);
    const NamedTensor silent = session.outputs().front();
    std::vector<std::byte> bytes(silent.tensor.data(), silent.tensor.data() + silent.tensor.bytes());
    double whole = 0;
    int steps = 0;
    session.run(model.inputs, [&](double share) {
      whole += share;
      ++steps;
    });
    CHECK(std::equal(bytes.begin(), bytes.end(), session.outputs().front().tensor.data()));
    CHECK(steps > 5);
    CHECK(whole == doctest::Approx(1.0));
  }
}

TEST_CASE("measure: warm-up lasts as long as passes get faster, up to its limit") {
  BenchOptions options;
  options.min_seconds = 0;
  // Each of the first hundred passes is 1 % faster than the one before.
  Runs settling{[](int i) { return 0.01 * (2 - std::min(i, 100) / 100.0); }};
  const auto settled = settling.measured(options);
  CHECK(settled.size() == 10);
  CHECK(settled.front() < 0.0105);
  Runs never{[](int i) { return 0.01 * (1 + (i / 10) % 2); }};
  CHECK(never.measured(options).size() == 10);
  CHECK(never.now < options.max_warmup_seconds + 1);
}

TEST_CASE("measure: at least ten runs are measured, and more if the time allows") {
  BenchOptions options;
  options.min_seconds = 3;
  Runs fast{[](int) { return 0.125; }};
  CHECK(fast.measured(options).size() == 24);
  Runs slow{[](int) { return 5.0; }};
  CHECK(slow.measured(options).size() == 10);
  CHECK(slow.count == 13);  // three warm-up runs
}

TEST_CASE("measure: the requested number of warm-up runs is used") {
  BenchOptions options;
  options.warmup_runs = 7;
  options.warmup_seconds = options.max_warmup_seconds = 0;
  options.min_runs = options.max_runs = 4;
  Runs runs{[](int) { return 0.01; }};
  CHECK(runs.measured(options).size() == 4);
  CHECK(runs.count == 11);
}

TEST_CASE("measure: a stop request ends between runs and keeps the results") {
  BenchOptions options;
  Runs runs{[](int) { return 1.0; }};
  options.stop = [&] { return runs.count >= 8; };
  CHECK(runs.measured(options).size() == 5);  // three warm-up runs
}

TEST_CASE("latency: percentiles equal NumPy's") {
  std::vector<double> seconds;
  for (int i = 100; i >= 0; --i) seconds.push_back(1e-3 * i);
  const Latency latency = latency_of(seconds);
  CHECK(latency.min == doctest::Approx(0));
  CHECK(latency.p10 == doctest::Approx(10));
  CHECK(latency.median == doctest::Approx(50));
  CHECK(latency.p95 == doctest::Approx(95));
  CHECK(latency.p99_9 == doctest::Approx(99.9));
  CHECK(latency.max == doctest::Approx(100));
}

TEST_CASE("noise: even times have no noise, and an outlier, a drift and a spread are recognized") {
  const std::vector<double> even(30, 0.5);
  CHECK(noise_of(even).spread == 0);
  CHECK(noise_of(even).outliers == 0);
  CHECK(noise_of(even).drift == 0);

  std::vector<double> one = even;
  one[7] = 2;
  CHECK(noise_of(one).outliers == 1);
  CHECK(noise_of(one).slowest == doctest::Approx(4));
  CHECK(noise_of(one).spread == 0);

  std::vector<double> drifting;
  for (int i = 0; i < 30; ++i) drifting.push_back(1 + i / 29.0);
  CHECK(noise_of(drifting).drift == doctest::Approx(0.62).epsilon(0.05));

  std::vector<double> wide;
  for (int i = 0; i < 30; ++i) wide.push_back(i % 2 == 0 ? 0.9 : 1.1);
  CHECK(noise_of(wide).spread == doctest::Approx(0.148).epsilon(0.01));
  CHECK(noise_of(std::vector<double>{1}).drift == 0);
}

TEST_CASE("relative error: NaN and infinity equal themselves, and NaN beside a number gives NaN") {
  const auto tensor = [](std::initializer_list<float> values) {
    Tensor out(DType::float32, {static_cast<Dim>(values.size())});
    std::copy(values.begin(), values.end(), out.as<float>().begin());
    return out;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  CHECK(relative_error(tensor({3, 4, nan, inf}), tensor({3, 4, nan, inf})) == 0);
  CHECK(relative_error(tensor({3, 4}), tensor({3, 4.5})) == doctest::Approx(0.1));
  CHECK(std::isnan(relative_error(tensor({3, 4}), tensor({3, nan}))));
  CHECK(relative_error(tensor({0, 0}), tensor({0, 0})) == 0);
  CHECK(std::isinf(relative_error(tensor({0, 0}), tensor({0, 1}))));
  CHECK(relative_error(tensor({0, 0}), tensor({0, -1.4e-45F})) == 0);
  CHECK(std::isinf(relative_error(tensor({0, 0}), tensor({0, 1.2e-38F}))));
  CHECK(std::isinf(relative_error(tensor({1}), tensor({1, 1}))));
}

TEST_CASE("verify: right outputs pass, and one wrong number or NaN fails") {
  const Case model = encoder();
  const auto backend = backends::make_backend("cpu", "onednn").backend;
  Session session(*backend, model.graph, model.weights, {});
  session.run(model.inputs);
  const std::vector<NamedTensor> outputs = session.outputs();
  const auto check = [&] {
    return verify(model.graph, model.weights, model.inputs, outputs, backends::MatmulPrecision::highest);
  };
  CHECK(check().pass);
  CHECK(check().against == "reference");
  const double right = outputs[0].tensor.at(3);
  outputs[0].tensor.set(3, right + 0.01);
  CHECK_FALSE(check().pass);
  outputs[0].tensor.set(3, std::numeric_limits<double>::quiet_NaN());
  CHECK_FALSE(check().pass);
  outputs[0].tensor.set(3, right);
  CHECK(verify_repeat(outputs, outputs).pass);
}

TEST_CASE("operations: each distinct operation is listed once, and computes the results of a pass") {
  const Case model = encoder();
  for (const std::string name : {"reference", "onednn"}) {
    const auto backend = backends::make_backend("cpu", name).backend;
    const std::vector<Operation> operations = operations_of(*backend, model.graph, model.inputs, model.weights, {});
    UInt128 flops = 0;
    std::int64_t projections = 0;
    for (const Operation& operation : operations) {
      flops += static_cast<UInt128>(operation.count) * operation.flops;
      if (operation.count == 3) projections += operation.name == "linear";
      Session session(*backend, operation.graph, operation.weights, {});
      session.run(operation.inputs);
      for (const NamedTensor& output : session.outputs())
        for (std::int64_t i = 0; i < output.tensor.size(); ++i) REQUIRE(std::isfinite(output.tensor.at(i)));
      CHECK(verify(operation.graph, operation.weights, operation.inputs, session.outputs(),
                   backends::MatmulPrecision::highest)
                .pass);
    }
    CHECK(projections == (name == "reference" ? 1 : 0));  // query, key and value: one matrix product if they are packed
    CHECK(bool(flops == total_flops(plan::make_plan(backend->optimize(model.graph)).graph)));
  }
}

TEST_CASE("bound: the slower of computing and moving is the bound, and small data comes from the cache") {
  const Peaks peaks{DType::float32, 100, 10, 25, 50, 4000, 1000};  // per second; 4000 and 1000 are bytes
  const Traffic one{1, 0}, weights{20, 0}, fresh{0, 20};
  CHECK(bound_of(peaks, 200, one, 5000).seconds == doctest::Approx(2));
  CHECK_FALSE(bound_of(peaks, 200, one, 5000).by_memory);
  CHECK(bound_of(peaks, 10, weights, 5000).seconds == doctest::Approx(2));
  CHECK(bound_of(peaks, 10, weights, 5000).by_memory);
  CHECK(bound_of(peaks, 10, weights, 4000).seconds == doctest::Approx(0.8));
  CHECK(bound_of(peaks, 10, weights, 1000).seconds == doctest::Approx(0.4));
  // Results of the previous step are in a near cache, whatever else a pass reads.
  CHECK(bound_of(peaks, 10, fresh, 5000).seconds == doctest::Approx(0.4));
  CHECK(bound_of(peaks, 10, {20, 20}, 5000).seconds == doctest::Approx(2.4));
  CHECK(bound_of(peaks, 0, {0, 2000}, 5000).seconds == doctest::Approx(80));
  CHECK(bound_of(peaks, 0, {0, 5000}, 9000).seconds == doctest::Approx(500));
}

TEST_CASE("bound: weights and values computed from them are separate from a pass's values") {
  graph::Graph graph;
  graph::Builder build(graph);
  const graph::ValueId x = build.input("x", DType::float32, {2, 3});
  const graph::ValueId w = build.weight({"w", "w", {5, 3}, DType::float32, true, {}});
  const graph::ValueId turned = build.apply(graph::Transpose{{1, 0}}, {w});
  graph.outputs.push_back({"y", build.apply(graph::Linear{}, {x, turned})});
  const Traffic traffic = run::traffic(graph, graph.nodes.back(), fixed_values(graph));
  CHECK(traffic.weights == 4 * 15);
  CHECK(traffic.others == 4 * (6 + 10));
  CHECK(traffic.total() == 4 * 31);
}

TEST_CASE("peaks: all peaks are measured, and a nearer cache is not slower") {
  const auto backend = backends::make_backend("cpu", "onednn").backend;
  const Peaks peaks = measure_peaks(*backend, DType::float32, {});
  CHECK(peaks.flops_per_second > 0);
  CHECK(peaks.memory_bytes_per_second > 0);
  if (peaks.shared_bytes > 0) CHECK(peaks.shared_bytes_per_second >= peaks.memory_bytes_per_second);
  if (peaks.cache_bytes > 0)
    CHECK(peaks.cache_bytes_per_second >= std::max(peaks.shared_bytes_per_second, peaks.memory_bytes_per_second));
  const Peaks half = measure_peaks(*backend, DType::bfloat16, {}, &peaks);
  CHECK(half.dtype == DType::bfloat16);
  CHECK(half.flops_per_second > 0);
  CHECK(half.memory_bytes_per_second == peaks.memory_bytes_per_second);
  const Peaks bytes = measure_peaks(*backend, DType::int8, {}, &peaks);
  CHECK(bytes.dtype == DType::int8);
  CHECK(bytes.flops_per_second > 0);
}

TEST_CASE("peaks: int8 products are those of layers that quantize their input") {
  graph::QuantizedLinear weights_alone, both;
  both.inputs = graph::IntegerRange{};
  CHECK(is_int8_product(both));
  CHECK_FALSE(is_int8_product(weights_alone));
  CHECK_FALSE(is_int8_product(graph::Linear{}));
}
