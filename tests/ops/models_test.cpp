#include "models.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/plan/passes.h"
#include "attn/plan/plan.h"
#include "compare.h"

namespace attn::test {
namespace {

using graph::Graph;

/// The outputs of a graph, with every node on separate tensors: no plan and no shared memory.
std::vector<Tensor> run_without_plan(const Graph& graph, const std::vector<Tensor>& inputs,
                                     const std::vector<Tensor>& weights) {
  std::vector<Tensor> values(graph.values.size());
  const auto at = [&](graph::ValueId id) -> Tensor& { return values[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const graph::Value& value = graph.values[i];
    if (value.kind == graph::ValueKind::weight) values[i] = weights[static_cast<std::size_t>(value.weight)];
    if (value.kind == graph::ValueKind::constant) values[i] = value.constant;
    if (value.kind == graph::ValueKind::computed) values[i] = Tensor(value.dtype, value.shape);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) at(graph.inputs[i]) = inputs[i];
  for (const graph::Node& node : graph.nodes) {
    std::vector<Tensor> in, out;
    for (const graph::ValueId id : node.inputs) in.push_back(at(id));
    for (const graph::ValueId id : node.outputs) out.push_back(at(id));
    backends::evaluate(node, graph, in, out);
  }
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) outputs.push_back(at(output.value));
  return outputs;
}

std::vector<Tensor> run_planned(const backends::Backend& backend, const Graph& graph, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& weights, int threads = 0) {
  const auto executable = backend.compile(plan::make_plan(graph), weights, {threads});
  executable->run(inputs);
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) outputs.push_back(executable->value(output.value));
  return outputs;
}

void check_same(const std::vector<Tensor>& expected, const std::vector<Tensor>& got, double tolerance,
                const std::string& what) {
  REQUIRE(expected.size() == got.size());
  for (std::size_t o = 0; o < got.size(); ++o) {
    const std::vector<double> allowed(static_cast<std::size_t>(expected[o].size()), tolerance);
    const auto problem = difference(expected[o], got[o], allowed);
    CHECK_MESSAGE(!problem, fmt::format("{}, output {}: {}", what, o, problem.value_or("")));
  }
}

const EncoderSize kSmall{.B = 2, .T = 5, .D = 12, .N = 3, .H = 4, .F = 17, .L = 2};

TEST_CASE("models: a plan with shared memory computes the bits of separate tensors") {
  const Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto weights = draw_weights(graph);
  const auto backend = backends::make_reference_backend({.poison_arena = true});
  check_same(run_without_plan(graph, inputs, weights), run_planned(*backend, graph, inputs, weights), 0.0, "planned");
}

TEST_CASE("models: every graph pass keeps the results") {
  using Pass = std::function<Graph(Graph)>;
  const Pass fuse_activation = [](Graph g) {
    return plan::fuse_activation(std::move(g), [](const graph::Unary&) { return true; });
  };
  const std::vector<std::pair<std::string, Pass>> passes{
      {"remove_dead", plan::remove_dead},           {"fold_identities", plan::fold_identities},
      {"simplify_einsum", plan::simplify_einsum},   {"simplify_conv", plan::simplify_conv},
      {"fuse_activation", fuse_activation},         {"fuse_residual", plan::fuse_residual},
      {"pack_projections", plan::pack_projections}, {"narrow_norms", plan::narrow_norms},
  };
  for (const bool einsum : {false, true}) {
    EncoderSize size = kSmall;
    size.einsum = einsum;
    const Graph graph = encoder(size);
    const auto inputs = draw_inputs(graph);
    const auto weights = draw_weights(graph);
    const auto expected = run_without_plan(graph, inputs, weights);
    const auto backend = backends::make_reference_backend({.poison_arena = true});
    Graph all = graph;
    for (const auto& [name, pass] : passes) {
      // A fused sum is rounded to float32 once instead of twice; the softmax's outputs are below 1.
      constexpr double kTolerance = 1e-6;
      const Graph one = pass(graph);
      graph::verify(one);
      check_same(expected, run_planned(*backend, one, inputs, weights), kTolerance, name);
      all = pass(std::move(all));
      graph::verify(all);
      check_same(expected, run_planned(*backend, all, inputs, weights), kTolerance, "passes up to " + name);
    }
    const auto has_einsum = [](const graph::Node& node) { return std::holds_alternative<graph::Einsum>(node.op); };
    CHECK(std::none_of(all.nodes.begin(), all.nodes.end(), has_einsum));
    if (!einsum) CHECK(all.nodes.size() < graph.nodes.size());
  }
}

TEST_CASE("models: a half-precision normalization equals float32 between casts, rounded once") {
  for (const DType half : {DType::bfloat16, DType::float16}) {
    for (const DType factors : {DType::float32, half}) {
      Graph graph;
      graph::Builder builder(graph);
      const auto wide = [&](graph::ValueId id) { return builder.cast(id, DType::float32); };
      const auto x = builder.input("x", half, {5, 37});
      const auto gamma = wide(builder.weight({"gamma", "gamma", {37}, factors, true, {}}));
      const auto beta = wide(builder.weight({"beta", "beta", {37}, factors, true, {}}));
      const graph::LayerNorm norm{graph::NormKind::layer, {1}, 1e-6, true, true};
      graph.outputs.push_back({"output_0", builder.cast(builder.apply(norm, {wide(x), gamma, beta}), half)});
      const auto inputs = draw_inputs(graph);
      const auto weights = draw_weights(graph);
      const auto expected = run_without_plan(graph, inputs, weights);
      const Graph narrow = plan::narrow_norms(plan::fold_identities(graph));
      CHECK(narrow.nodes.size() < graph.nodes.size());
      // The sums are the same, and a tie may round either way: an ulp of numbers below 8.
      const double tolerance = half == DType::bfloat16 ? 0x1p-5 : 0x1p-8;
      for (const bool on_reference : {true, false}) {
        const auto backend = on_reference ? backends::make_reference_backend({}) : backends::make_cpu_backend();
        check_same(expected, run_planned(*backend, narrow, inputs, weights), tolerance, backend->name().data());
      }
    }
  }
}

TEST_CASE("models: the encoder on onednn agrees with the reference, with the same bits for any number of threads") {
  EncoderSize size{.B = 3, .T = 33, .D = 96, .N = 4, .H = 24, .F = 130, .L = 2};
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    size.dtype = dtype;
    const Graph graph = encoder(size);
    const auto inputs = draw_inputs(graph);
    const auto weights = draw_weights(graph);
    const auto expected = run_without_plan(graph, inputs, weights);
    const auto backend = backends::make_cpu_backend();
    const Graph optimized = backend->optimize(graph);
    // Probabilities below 1 after 13 products of normalized rows: some 30 roundings deep.
    const double tolerance = dtype == DType::float32 ? 30 * 6e-8 : 30 * 2e-3;
    for (const int threads : {1, 2, 5}) {
      const auto first = run_planned(*backend, optimized, inputs, weights, threads);
      check_same(expected, first, tolerance, fmt::format("{} on {} threads", name_of(dtype), threads));
      check_same(first, run_planned(*backend, optimized, inputs, weights, threads), 0.0, "the second time");
    }
  }
}

TEST_CASE("models: onednn runs the float32 encoder without reference kernels, and drops weights that it packed") {
  const Graph graph = encoder({});
  const auto backend = backends::make_cpu_backend();
  const plan::Plan plan = plan::make_plan(backend->optimize(graph));
  const auto executable = backend->compile(plan, draw_weights(graph), {});
  for (const backends::KernelChoice& choice : executable->choices()) {
    CAPTURE(graph::name_of(plan.graph.nodes[static_cast<std::size_t>(choice.node)].op));
    CHECK(choice.kernel.find("reference") == std::string::npos);
    CHECK(choice.why.empty());
  }
  const std::int64_t others = executable->memory_bytes() - plan.weight_bytes - plan.arena_bytes - plan.prepared_bytes;
  CHECK(others < plan.weight_bytes / 10);
}

/// x of `rows` rows times the same 256 x 256 weight, `times` times.
Graph power_graph(Dim rows, int times) {
  Graph graph;
  graph::Builder builder(graph);
  const auto w = builder.weight({"w", "w", {256, 256}, DType::float32, true, {}});
  auto y = builder.input("x", DType::float32, {rows, 256});
  for (int i = 0; i < times; ++i) y = builder.apply(graph::Linear{}, {y, w});
  graph.outputs.push_back({"output_0", y});
  return graph;
}

TEST_CASE("models: onednn packs a weight once for all products that read it") {
  for (const Dim rows : {4, 400}) {  // panels, oneDNN's blocks or tiles
    const auto backend = backends::make_cpu_backend();
    const auto bytes = [&](int times) {
      const Graph graph = power_graph(rows, times);
      const plan::Plan plan = plan::make_plan(graph);
      return backend->compile(plan, draw_weights(graph), {})->memory_bytes() - plan.arena_bytes;
    };
    CHECK(bytes(8) - bytes(2) < 256 * 256 * 4);  // two: the first hands its packed result over
    const Graph graph = power_graph(rows, 8);
    const auto inputs = draw_inputs(graph);
    const auto weights = draw_weights(graph);
    // √256 roundings in each of eight products.
    check_same(run_without_plan(graph, inputs, weights), run_planned(*backend, graph, inputs, weights), 1e-5, "shared");
  }
}

TEST_CASE("models: attention over many tiles of keys agrees with the reference, with and without skipped keys") {
  struct Case {
    std::string name;
    Dim T, S;
    bool causal = false;
    std::optional<std::int64_t> window = {};
    Dim hidden_from = -1;  // keys from here on are masked; -1: no mask
    Dim seen_from = 0;     // and keys before here
    Dim nan_at = -1;       // a value that is NaN
  };
  const std::vector<Case> cases = {
      {"one tile", 70, 50},
      {"more than one", 130, 700},
      {"the last tile is not full", 37, 513},
      {"causal", 600, 600, true},
      {"causal, fewer keys", 600, 300, true},
      {"causal, more keys", 300, 600, true},
      {"a window", 600, 600, false, 40},
      {"padding", 100, 700, false, {}, 300},
      {"padding of whole tiles before", 100, 700, false, {}, 700, 600},
      {"rows that see nothing", 600, 600, true, {}, 600, 300},
      {"nothing is seen", 40, 600, false, {}, 0},
      {"a NaN that is hidden spreads", 600, 600, true, {}, -1, 0, 590},
      {"a NaN that is masked spreads", 40, 700, false, {}, 300, 0, 650},
  };
  struct Backend {
    std::unique_ptr<backends::Backend> backend;
    DType dtype;
    double tolerance;
  };
  std::vector<Backend> all;
  // Scores of 24 terms, rounded, become exponents. In bfloat16 a weight, and in the end the result, is rounded too.
  all.push_back({backends::make_cpu_backend(), DType::float32, 1e-5});
  all.push_back({backends::make_cpu_backend({.emulate_tiles = true}), DType::float32, 1e-5});
  all.push_back({backends::make_cpu_backend({.emulate_tiles = true}), DType::bfloat16, 1e-2});
  for (const Case& c : cases) {
    for (const auto path : {graph::AttentionPath::fused, graph::AttentionPath::explicit_}) {
      for (const Backend& row : all) {
        Graph graph;
        graph::Builder builder(graph);
        const Dim N = 2, K = 1, H = 24, V = 40;
        std::vector<graph::ValueId> in = {builder.input("q", row.dtype, {1, c.T, N, H}),
                                          builder.input("k", row.dtype, {1, c.S, K, H}),
                                          builder.input("v", row.dtype, {1, c.S, K, V})};
        graph::Attention op;
        op.scale = 0.5;
        op.path = path;
        op.causal = c.causal;
        op.window = c.window;
        if (c.hidden_from >= 0) {
          op.masks = 1;
          in.push_back(builder.input("mask", DType::boolean, {1, 1, 1, c.S}));
        }
        graph.outputs.push_back({"output_0", builder.apply(op, in)});
        std::vector<Tensor> inputs = draw_inputs(graph);
        if (c.hidden_from >= 0)
          for (Dim s = 0; s < c.S; ++s) inputs[3].set(s, s >= c.seen_from && s < c.hidden_from ? 1 : 0);
        if (c.nan_at >= 0) inputs[2].set(c.nan_at * V + 3, std::nan(""));
        const auto expected = run_without_plan(graph, inputs, {});
        check_same(expected, run_planned(*row.backend, graph, inputs, {}, 2), row.tolerance, c.name);
      }
    }
  }
}

TEST_CASE("models: the encoder on emulated tiles needs no more memory than estimated, at every precision") {
  EncoderSize size{.B = 3, .T = 33, .D = 96, .N = 4, .H = 24, .F = 130, .L = 2};
  using Precision = backends::MatmulPrecision;
  struct Row {
    DType dtype;
    Precision precision;
    double roundoff;
  };
  for (const Row& row :
       {Row{DType::float32, Precision::highest, 6e-8}, Row{DType::float32, Precision::high, 4e-6},
        Row{DType::float32, Precision::medium, 2e-3}, Row{DType::bfloat16, Precision::highest, 2e-3}}) {
    size.dtype = row.dtype;
    const Graph graph = encoder(size);
    const auto inputs = draw_inputs(graph);
    const auto weights = draw_weights(graph);
    const auto backend = backends::make_cpu_backend({.emulate_tiles = true});
    const plan::Plan plan = plan::make_plan(backend->optimize(graph));
    backends::CompileOptions options;
    options.threads = 2;
    options.precision = row.precision;
    const auto executable = backend->compile(plan, weights, options);
    executable->run(inputs);
    std::vector<Tensor> got;
    for (const graph::Output& output : plan.graph.outputs) got.push_back(executable->value(output.value));
    // Some 30 roundings deep, see above.
    check_same(run_without_plan(graph, inputs, weights), got, 30 * row.roundoff, fmt::format("{}", row.roundoff));
    std::set<std::string> products;
    for (const backends::KernelChoice& choice : executable->choices())
      if (choice.kernel.find("amx") != std::string::npos) products.insert(choice.kernel);
    CHECK(products.size() == 1);
    std::int64_t input_bytes = 0;
    for (const Tensor& input : inputs) input_bytes += input.bytes();
    const std::int64_t told = backend->memory_needed(plan, options);
    CHECK(told >= executable->memory_bytes() + input_bytes);
    constexpr std::int64_t kProgram = 7 << 19;  // the program's own pages, and the library's if it is used
    CHECK(told <= executable->memory_bytes() * 5 / 4 + kProgram);
  }
}

TEST_CASE("models: onednn names the layer of an index that is out of range") {
  Graph graph;
  graph.layers.push_back({"tokens", "Embedding", {}});
  graph::Builder builder(graph);
  builder.set_layer(0);
  const auto table = builder.weight({"table", "table", {4, 3}, DType::float32, true, {}});
  const auto y = builder.apply(graph::Gather{0}, {table, builder.input("tokens", DType::int32, {2})});
  graph.outputs.push_back({"output_0", y});
  const auto backend = backends::make_cpu_backend();
  const auto executable = backend->compile(plan::make_plan(graph), draw_weights(graph), {});
  Tensor indices(DType::int32, {2});
  indices.as<std::int32_t>()[1] = 4;
  CHECK_THROWS_WITH_AS(executable->run(std::vector{indices}),
                       "layer 'tokens': index 4 at (1,) is outside the table of 4 entries", Error);
  indices.as<std::int32_t>()[1] = -1;
  executable->run(std::vector{indices});
  CHECK(executable->value(y).at(3) == draw_weights(graph)[0].at(9));
}

TEST_CASE("models: a profiled run times every step and gives the same bits") {
  const Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto weights = draw_weights(graph);
  const auto backend = backends::make_reference_backend();
  const plan::Plan plan = plan::make_plan(graph);
  const auto executable = backend->compile(plan, weights, {});
  std::vector<graph::NodeId> steps;
  executable->run_profiled(inputs, [&](graph::NodeId id, double seconds) {
    steps.push_back(id);
    CHECK(seconds >= 0.0);
  });
  CHECK(steps == plan.steps);
  CHECK(executable->choices().size() == steps.size());
  check_same(run_without_plan(graph, inputs, weights), {executable->value(graph.outputs[0].value)}, 0.0, "profiled");
}

}  // namespace
}  // namespace attn::test
