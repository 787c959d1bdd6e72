#include "runner.h"

#include <fmt/format.h>

#include <cstdlib>

#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/plan/plan.h"

#ifdef ATTN_CUDA_EMULATED
extern "C" attn::backends::Backend* attn_open_backend(int index);  // linked here, not opened
#endif

namespace attn::test {
using graph::ValueId;

graph::Graph graph_of(const Case& row) {
  graph::Graph graph;
  graph::Builder builder(graph);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    const Operand& operand = row.inputs[i];
    const std::string name = fmt::format("operand_{}", i);
    operands.push_back(operand.weight  ? builder.weight({name, name, operand.shape, operand.dtype, true, {}})
                       : operand.state ? builder.state(name, operand.dtype, operand.shape)
                                       : builder.input(name, operand.dtype, operand.shape));
  }
  const auto outputs = builder.apply_all(row.op, operands);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.outputs.push_back({fmt::format("output_{}", i), outputs[i]});
  return graph;
}

std::vector<Runner> all_runners() {
  std::vector<Runner> result;
  // Where an instruction set is asked for, what has no kernels for it has been run without.
  const bool all = std::getenv("ATTN_ISA") == nullptr;
  if (all) result.push_back({"reference", backends::make_reference_backend({.poison_arena = true}), 0});
  result.push_back({"onednn", backends::make_cpu_backend({.poison_arena = true}), 0});
  const backends::CpuOptions everywhere{.work_per_thread = 1.0, .poison_arena = true};
  const backends::CpuOptions on_tiles{.work_per_thread = 1.0, .poison_arena = true, .emulate_tiles = true};
#ifdef ATTN_CUDA_EMULATED
  if (all) result.push_back({"cuda, emulated", std::unique_ptr<backends::Backend>(attn_open_backend(0)), 0, false});
#endif
  result.push_back({"onednn on 3 threads", backends::make_cpu_backend(everywhere), 3});
  result.push_back({"onednn on emulated tiles", backends::make_cpu_backend(on_tiles), 3});
  return result;
}

std::vector<Tensor> run_on(const backends::Backend& backend, const Case& row, const std::vector<Tensor>& operands,
                           int threads) {
  std::vector<Tensor> inputs, weights;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!row.inputs[i].state) (row.inputs[i].weight ? weights : inputs).push_back(operands[i]);
  }
  const graph::Graph graph = backend.optimize(graph_of(row));
  backends::CompileOptions options{threads};
  options.store = backend.make_store(options);
  const auto executable = backend.compile(plan::make_plan(graph), weights, options);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (row.inputs[i].state) options.store->set_state(fmt::format("operand_{}", i), operands[i]);
  executable->run(inputs);
  executable->run(inputs);
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) outputs.push_back(executable->value(output.value));
  return outputs;
}

}  // namespace attn::test
