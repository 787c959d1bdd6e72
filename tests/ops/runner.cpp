#include "runner.h"

#include <fmt/format.h>

#include "attn/plan/plan.h"

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
