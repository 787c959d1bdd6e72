#include "counted_run.h"

#include "attn/base/rng.h"
#include "attn/weights/initialize.h"
#include "counted.h"
#include "numbers.h"

namespace attn::backends::reference {

template <>
test::Counted rounded(DType dtype, test::Counted number) {
  return rounded(dtype, number.value());
}
template <>
std::vector<test::Counted> read<test::Counted>(const Tensor& x) {
  const auto numbers = read<double>(x);
  return {numbers.begin(), numbers.end()};
}

template <>
void write<test::Counted>(const Tensor& y, const std::vector<test::Counted>& numbers) {
  std::vector<double> values;
  for (const test::Counted& number : numbers) values.push_back(number.value());
  write(y, values);
}

}  // namespace attn::backends::reference

namespace attn::test {
namespace {

Tensor draw(const std::string& name, DType dtype, const Shape& shape) {
  RandomStream stream(0, name);
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, is_floating(dtype) ? stream.normal() : 1.0);
  return tensor;
}

}  // namespace

std::vector<std::int64_t> count_operations(const graph::Graph& graph) {
  std::vector<Tensor> values;
  for (const graph::Value& value : graph.values) {
    switch (value.kind) {
      case graph::ValueKind::input:
        values.push_back(draw(value.name, value.dtype, value.shape));
        break;
      case graph::ValueKind::weight:
        values.push_back(weights::initialize(graph.weights[static_cast<std::size_t>(value.weight)], 0));
        break;
      case graph::ValueKind::constant:
        values.push_back(value.constant);
        break;
      case graph::ValueKind::state:
      case graph::ValueKind::computed:
        values.emplace_back(value.dtype, value.shape);
    }
  }
  std::vector<std::int64_t> counts;
  for (const graph::Node& node : graph.nodes) {
    std::vector<Tensor> in, out;
    for (const graph::ValueId id : node.inputs) in.push_back(values[static_cast<std::size_t>(id)]);
    for (const graph::ValueId id : node.outputs) out.push_back(values[static_cast<std::size_t>(id)]);
    const std::int64_t before = operations_counted;
    backends::evaluate(node, graph, in, out);
    counts.push_back(operations_counted - before);
  }
  return counts;
}

std::int64_t count_operations(const graph::Op& op, const std::vector<Shape>& shapes) {
  graph::Graph graph;
  graph::Builder build(graph);
  std::vector<graph::ValueId> inputs;
  for (const Shape& shape : shapes) inputs.push_back(build.input(shape.str(), DType::float32, shape));
  build.apply(op, inputs);
  return count_operations(graph).back();
}

}  // namespace attn::test
