// Compares FLOPs with an instrumented run of the reference backend: its own sources, with numbers that count operations
// (counted.h).
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/keras/explanation.h"
#include "attn/keras/model.h"
#include "attn/plan/plan.h"
#include "counted.h"
#include "counted_run.h"
#include "program.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Returns whether a node may do fewer operations than counted, because its function has branches.
bool takes_branches(const graph::Op& op) {
  const auto branches = [](const graph::Unary& unary) {
    using graph::UnaryFn;
    constexpr UnaryFn kBranching[] = {UnaryFn::relu,        UnaryFn::elu,         UnaryFn::selu,
                                      UnaryFn::soft_shrink, UnaryFn::sparse_plus, UnaryFn::sparse_sigmoid};
    return std::ranges::find(kBranching, unary.fn) != std::end(kBranching);
  };
  if (const auto* unary = std::get_if<graph::Unary>(&op)) return branches(*unary);
  if (const auto* linear = std::get_if<graph::Linear>(&op)) return branches(linear->activation);
  if (const auto* conv = std::get_if<graph::Conv>(&op)) return branches(conv->activation);
  if (const auto* rnn = std::get_if<graph::Rnn>(&op))
    return rnn->mask || branches(rnn->activation) || branches(rnn->recurrent_activation);
  if (const auto* softmax = std::get_if<graph::Softmax>(&op)) return softmax->kind == graph::SoftmaxKind::sparsemax;
  if (const auto* binary = std::get_if<graph::Binary>(&op)) return binary->fn == graph::BinaryFn::mod;
  return false;
}

std::vector<std::string> all_cases() {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(fixture("")))
    if (entry.path().filename() == "model.json") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

/// Moonshine reads samples, of which its convolutions need hundreds.
std::int64_t length_of(const std::string& path) { return path.find("moonshine") == std::string::npos ? 5 : 2400; }

}  // namespace

TEST_CASE("costs: every step of every case has the FLOPs that an instrumented run counts") {
  const std::vector<std::string> cases = all_cases();
  CHECK(cases.size() > 150);
  for (const std::string& path : cases) {
    CAPTURE(path);
    keras::LowerOptions options;
    options.sequence_length = length_of(path);
    const graph::Graph graph = plan::make_plan(keras::Model::read(path, read_text(path)).lower(options)).graph;
    const std::vector<std::int64_t> counts = count_operations(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const graph::Node& node = graph.nodes[i];
      const graph::ValueId first = node.inputs.empty() ? node.outputs.front() : node.inputs.front();
      if (!is_floating(graph.value(first).dtype)) continue;
      const std::string op(graph::name_of(node.op));
      CAPTURE(op);
      const auto told = static_cast<std::int64_t>(graph::flops(graph, node, graph::HiddenPairs::counted));
      if (takes_branches(node.op)) {
        CHECK(counts[i] <= told);
      } else {
        CHECK(counts[i] == told);
      }
    }
  }
}

TEST_CASE("costs: every unary function has the FLOPs of its longest branch") {
  using graph::UnaryFn;
  for (const UnaryFn fn : graph::kUnaryFns) {
    const std::string name(graph::name_of(fn));
    CAPTURE(name);
    for (const double a : {0.0, 0.5}) {
      const graph::Unary op{fn, a, 0.25, 6.0};
      std::int64_t most = 0;
      for (const double x : {-7.0, -2.0, -0.75, -0.125, 0.0, 0.125, 0.4, 0.75, 2.0, 7.0}) {
        const std::int64_t before = operations_counted;
        (void)backends::apply(op, Counted(x));
        most = std::max(most, operations_counted - before);
      }
      graph::Graph graph;
      graph::Builder build(graph);
      build.apply(op, {build.input("x", fn == UnaryFn::logical_not ? DType::boolean : DType::float32, {1})});
      CHECK(static_cast<std::int64_t>(graph::flops(graph, graph.nodes.back())) == most);
    }
  }
}

TEST_CASE("costs: windows at the padding count only cells inside") {
  using graph::Padding;
  for (const Dim size : {1, 2, 7, 10}) {
    for (const std::int64_t window : {1, 2, 5, 12}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        for (const std::int64_t dilation : {1, 2}) {
          for (const Padding padding : {Padding::valid, Padding::same, Padding::causal}) {
            if (padding == Padding::valid && (window - 1) * dilation >= size) continue;
            CAPTURE(size);
            CAPTURE(window);
            CAPTURE(stride);
            CAPTURE(dilation);
            const graph::Conv conv{{stride}, {dilation}, padding};
            const std::vector<Shape> shapes{{2, size, 3}, {window, 3, 4}};
            graph::Graph graph;
            graph::Builder build(graph);
            build.apply(conv,
                        {build.input("x", DType::float32, shapes[0]), build.input("k", DType::float32, shapes[1])});
            CHECK(static_cast<std::int64_t>(graph::flops(graph, graph.nodes.back())) == count_operations(conv, shapes));
          }
        }
      }
    }
  }
}

namespace {

using nlohmann::json;

/// The numbers of a row must be the sums over the rows of its inner layers.
void check_sums(const json& row) {
  if (!row.contains("layers")) return;
  CAPTURE(row["name"].get<std::string>());
  std::int64_t flops = 0, activations = 0, scores = 0;
  for (const json& inside : row["layers"]) {
    flops += inside["flops"].get<std::int64_t>();
    activations += inside["activation_bytes"].get<std::int64_t>();
    scores += inside["score_bytes"].get<std::int64_t>();
    check_sums(inside);
  }
  CHECK(flops == row["flops"]);
  CHECK(activations == row["activation_bytes"]);
  CHECK(scores == row["score_bytes"]);
}

/// The lines of an explanation add up to the costs of the row; the same holds for all rows inside it.
void check_explanations(const json& rows, const keras::Explainer& explainer, const std::string& around) {
  for (const json& row : rows) {
    const std::string name = around + row["name"].get<std::string>();
    CAPTURE(name);
    const std::optional<std::int32_t> part = explainer.find(name);
    REQUIRE(part.has_value());
    const keras::Explanation it = explainer.explain(*part);
    keras::Count params = 0, flops = 0;
    for (const keras::Product& line : it.params) params += line.value;
    for (const keras::Product& line : it.flops) flops += line.value;
    CHECK(row["params"] == static_cast<std::int64_t>(params));
    CHECK(row["flops"] == static_cast<std::int64_t>(flops));
    CHECK(row["params"] == static_cast<std::int64_t>(it.total_params));
    CHECK(row["flops"] == static_cast<std::int64_t>(it.total_flops));
    std::int64_t of_variables = 0;
    for (const json& variable : row["variables"]) of_variables += variable["params"].get<std::int64_t>();
    if (!row.contains("layers")) CHECK(of_variables == row["params"]);
    if (row.contains("layers")) check_explanations(row["layers"], explainer, name + "/");
  }
}

bool has_layer(const json& row, const std::string& name) {
  return row["name"] == name || (row.contains("layers") && std::ranges::any_of(row["layers"], [&](const json& inside) {
                                   return has_layer(inside, name);
                                 }));
}

/// The outermost row with the costs of a layer that a model calls itself. A task that calls the embedding of its
/// backbone has no row for the call.
std::string row_of(const json& rows, const std::string& layer) {
  for (const json& row : rows)
    if (row["name"] == layer) return layer;
  const auto found = std::ranges::find_if(rows, [&](const json& row) { return has_layer(row, layer); });
  return found == rows.end() ? layer : (*found)["name"].get<std::string>();
}

/// The name of the outermost layer of a node.
std::string outermost(const graph::Graph& graph, const graph::Node& node) {
  graph::LayerId layer = node.layer;
  while (graph.layers[static_cast<std::size_t>(layer)].parent != graph::kNone)
    layer = graph.layers[static_cast<std::size_t>(layer)].parent;
  return graph.layers[static_cast<std::size_t>(layer)].name;
}

}  // namespace

TEST_CASE("costs: attn summary --costs and attn explain agree with an instrumented run for every layer of every case") {
  for (const std::string& path : all_cases()) {
    CAPTURE(path);
    const Result result = run_attn({"summary", path, "--costs", "--depth", "9", "--weights", "--seq-len",
                                    std::to_string(length_of(path)), "--json"});
    REQUIRE(result.code == 0);
    const json told = json::parse(result.out);

    keras::LowerOptions options;
    options.sequence_length = length_of(path);
    const keras::Model model = keras::Model::read(path, read_text(path));
    const keras::Anatomy anatomy = model.anatomy(options);
    const plan::Plan plan = plan::make_plan(anatomy.graph);
    check_explanations(told["layers"], keras::Explainer(anatomy, plan.graph, plan.steps), "");
    const std::vector<std::int64_t> counts = count_operations(plan.graph);
    std::map<std::string, std::int64_t> counted, left_out;
    std::int64_t written = 0;
    for (const graph::NodeId id : plan.steps) {
      const graph::Node& node = plan.graph.nodes[static_cast<std::size_t>(id)];
      const auto flops = static_cast<std::int64_t>(graph::flops(plan.graph, node, graph::HiddenPairs::counted));
      const std::string layer = row_of(told["layers"], outermost(plan.graph, node));
      const bool floating = node.inputs.empty() || is_floating(plan.graph.value(node.inputs.front()).dtype);
      counted[layer] += floating ? counts[static_cast<std::size_t>(id)] : 0;
      if (takes_branches(node.op)) left_out[layer] += flops - counts[static_cast<std::size_t>(id)];
      for (const graph::ValueId output : node.outputs) {
        const graph::Value& value = plan.graph.value(output);
        written += value.shape.size() * bytes_of(value.dtype);
      }
    }
    std::int64_t flops = 0, activations = 0, params = 0;
    for (const json& row : told["layers"]) {
      const std::string name = row["name"];
      CAPTURE(name);
      CHECK(row["flops"] == counted[name] + left_out[name]);
      flops += row["flops"].get<std::int64_t>();
      activations += row["activation_bytes"].get<std::int64_t>();
      params += row["params"].get<std::int64_t>();
      check_sums(row);
    }
    CHECK(told["costs"]["flops"] == flops);
    CHECK(told["costs"]["activation_bytes"] == activations);
    CHECK(activations == written);
    CHECK(told["total_params"] == params);
    CHECK(told["costs"]["peak"]["activations"] == plan.arena_bytes);
    CHECK(told["costs"]["peak_bytes"] == plan.arena_bytes + plan.weight_bytes + plan.input_bytes + plan.prepared_bytes);
  }
}

TEST_CASE("costs: an encoder has the FLOPs computed by hand, for any batch and length") {
  const std::int64_t B = 3, T = 20, D = 512, N = 8, H = 64, F = 2048;
  const std::string text = R"({"name": "by_hand", "input_shape": [null, 512], "num_layers": 1, "num_heads": 8,
    "key_dim": 64, "intermediate_dim": 2048, "dropout": 0})";
  const Result result =
      run_attn({"summary", "-", "--costs", "--depth", "1", "--batch-size", "3", "--seq-len", "20", "--json"}, text);
  REQUIRE(result.code == 0);
  const json told = json::parse(result.out);
  const json& attention = told["layers"][1];
  CHECK(attention["name"] == "multi_head_attention");
  const std::int64_t projection = B * T * N * H * (2 * D + 1), scores = B * N * T * T;
  CHECK(attention["layers"][0]["name"] == "query");
  CHECK(attention["layers"][0]["flops"] == projection);
  CHECK(attention["flops"] == 4 * projection + scores * (2 * H + 1 + 4 + 2 * H));
  CHECK(attention["score_bytes"] == scores * 4);
  CHECK(attention["weight_bytes"] == json{{"float32", 4 * (4 * D * D + 4 * D)}});
  for (const json& row : told["layers"]) {
    if (row["name"] == "dense") CHECK(row["flops"] == B * T * F * (2 * D + 1));  // relu has a branch
  }
}
