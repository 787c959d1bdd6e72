#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <set>

#include "attn/backends/onednn.h"
#include "attn/backends/reference.h"
#include "attn/plan/plan.h"
#include "cases.h"
#include "compare.h"
#include "tolerance.h"

#ifdef ATTN_CUDA_EMULATED
extern "C" attn::backends::Backend* attn_open_backend(int index);  // linked here, not opened
#endif

namespace attn::test {
namespace {

using graph::ValueId;

struct Runner {
  std::string name;
  std::unique_ptr<backends::Backend> backend;
  int threads;
};

std::vector<Runner> all_runners() {
  std::vector<Runner> result;
  result.push_back({"reference", backends::make_reference_backend({.poison_arena = true}), 0});
  result.push_back({"onednn", backends::make_onednn_backend({.poison_arena = true}), 0});
  const backends::OnednnOptions everywhere{.work_per_thread = 1.0, .poison_arena = true};
#ifdef ATTN_CUDA_EMULATED
  result.push_back({"cuda, emulated", std::unique_ptr<backends::Backend>(attn_open_backend(0)), 0});
#endif
  result.push_back({"onednn on 3 threads", backends::make_onednn_backend(everywhere), 3});
  return result;
}

/// A graph of the one operation; every output of it is an output.
graph::Graph graph_of(const Case& row) {
  graph::Graph graph;
  graph::Builder builder(graph);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    const Operand& operand = row.inputs[i];
    const std::string name = fmt::format("operand_{}", i);
    operands.push_back(operand.weight ? builder.weight({name, name, operand.shape, operand.dtype, true, {}})
                                      : builder.input(name, operand.dtype, operand.shape));
  }
  const auto outputs = builder.apply_all(row.op, operands);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.outputs.push_back({fmt::format("output_{}", i), outputs[i]});
  return graph;
}

/// The outputs of a case as a backend gives them, of a second run over an arena that the first has used.
std::vector<Tensor> run_on(const Runner& runner, const Case& row, const std::vector<Tensor>& operands) {
  std::vector<Tensor> inputs, weights;
  for (std::size_t i = 0; i < operands.size(); ++i) (row.inputs[i].weight ? weights : inputs).push_back(operands[i]);
  const graph::Graph graph = runner.backend->optimize(graph_of(row));
  const auto executable = runner.backend->compile(plan::make_plan(graph), weights, {runner.threads});
  executable->run(inputs);
  executable->run(inputs);
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) outputs.push_back(executable->value(output.value));
  return outputs;
}

TEST_CASE("ops: every case agrees with the reference on every backend") {
  const auto runners = all_runners();
  for (const Case& row : all_cases()) {
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = reference(row.op, operands);
    const auto allowed = tolerances(row, operands, expected);
    for (const Runner& runner : runners) {
      const std::vector<Tensor> got = run_on(runner, row, operands);
      REQUIRE(got.size() == expected.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        const auto problem = difference(expected[o], got[o], allowed[o]);
        CHECK_MESSAGE(!problem, fmt::format("{} on {}, output {}: {}", row.name, runner.name, o, problem.value_or("")));
      }
    }
  }
}

TEST_CASE("ops: every kind of operation has a case, and every case a name of its own") {
  std::set<std::size_t> kinds;
  std::set<std::string> names;
  for (const Case& row : all_cases()) {
    kinds.insert(row.op.index());
    CHECK_MESSAGE(names.insert(row.name).second, row.name);
  }
  CHECK(kinds.size() == std::variant_size_v<graph::Op>);
}

TEST_CASE("ops: the reference writes its outputs and not a byte beside them") {
  constexpr std::int64_t kGuard = 64;
  constexpr int kSentinel = 0x5A;
  for (const Case& row : all_cases()) {
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = reference(row.op, operands);
    std::vector<std::shared_ptr<std::byte>> blocks;
    std::vector<Tensor> outputs;
    for (const Tensor& output : expected) {
      blocks.push_back(allocate_bytes(output.bytes() + 2 * kGuard));
      std::memset(blocks.back().get(), kSentinel, static_cast<std::size_t>(output.bytes() + 2 * kGuard));
      outputs.emplace_back(output.dtype(), output.shape(),
                           std::shared_ptr<std::byte>(blocks.back(), blocks.back().get() + kGuard));
    }
    backends::evaluate({row.op, {}, {}, graph::kNone}, {}, operands, outputs);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      bool untouched = true;
      for (std::int64_t i = 0; i < kGuard; ++i) {
        untouched = untouched && blocks[o].get()[i] == std::byte{kSentinel} &&
                    blocks[o].get()[kGuard + outputs[o].bytes() + i] == std::byte{kSentinel};
      }
      CHECK_MESSAGE(untouched, row.name);
      const std::vector<double> none(static_cast<std::size_t>(outputs[o].size()), 0.0);
      const auto problem = difference(expected[o], outputs[o], none);
      CHECK_MESSAGE(!problem, row.name);
    }
  }
}

}  // namespace
}  // namespace attn::test
