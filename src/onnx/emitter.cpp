#include "emitter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/base/error.h"

namespace attn::onnx {

Emitter::Emitter(const Samples& samples, int opset) : samples_(samples), opset_(opset) {}

Name Emitter::unique(const std::string& wanted) {
  Name name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

Names Emitter::nodes(std::string op, Names inputs, std::size_t outputs, std::vector<Attribute> attributes) {
  const Name name = unique(layer_.empty() ? op : layer_ + "/" + op);
  Names made{name};  // a node and its first output may have the same name
  for (std::size_t i = 1; i < outputs; ++i) made.push_back(unique(name + ":" + std::to_string(i)));
  graph_.nodes.push_back({std::move(op), name, std::move(inputs), made, std::move(attributes)});
  return made;
}

Name Emitter::node(std::string op, Names inputs, std::vector<Attribute> attributes) {
  return nodes(std::move(op), std::move(inputs), 1, std::move(attributes)).front();
}

void Emitter::initializer(const Name& name, Tensor tensor) { graph_.initializers.push_back({name, std::move(tensor)}); }

Name Emitter::constant(Tensor tensor) {
  Name name = unique("constant");
  initializer(name, std::move(tensor));
  return name;
}

Name Emitter::scalar(DType dtype, double value) {
  Tensor tensor(dtype, Shape{});
  tensor.set(0, value);
  const std::string bytes(reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  Name& name = scalars_[{dtype, bytes}];
  if (name.empty()) name = constant(std::move(tensor));
  return name;
}

Name Emitter::index(std::int64_t value) { return scalar(DType::int64, static_cast<double>(value)); }

Name Emitter::ints(const Ints& values) {
  Name& name = ints_[values];
  if (!name.empty()) return name;
  Tensor tensor(DType::int64, Shape{static_cast<Dim>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<std::int64_t>().begin());
  return name = constant(std::move(tensor));
}

Sizes Emitter::sizes(graph::ValueId id) const {
  Sizes out;
  for (int axis = 0; axis < graph().value(id).shape.rank(); ++axis)
    out.push_back(fit(samples_, [&](const graph::Graph& graph) { return graph.value(id).shape[axis]; }));
  return out;
}

namespace {

[[noreturn]] void no_formula(const Samples& samples) {
  const bool is_batch = std::ranges::all_of(samples.lengths, [](const Length& length) { return length.axis == 0; });
  throw bad_input("a size in it is not a simple function of the model's lengths; fix them")
      .about(is_batch ? "batch" : "sequence_length");
}

}  // namespace

Size Emitter::size(const SizeReader& read) const {
  const auto found = fit(samples_, read);
  if (!found) no_formula(samples_);
  return *found;
}

Name Emitter::length(int which) {
  Name& name = lengths_[which];
  if (!name.empty()) return name;
  const Length& length = samples_.lengths[static_cast<std::size_t>(which)];
  const Name& input = graph().value(graph().inputs[static_cast<std::size_t>(length.input)]).name;
  const std::string layer = std::exchange(layer_, "");
  // The node goes into the outermost graph, even if the body of a loop is the first to request the length. Other graphs
  // do not see nodes of that body.
  std::vector<Node> body;
  if (!outer_.empty()) body = std::exchange(graph_.nodes, std::exchange(outer_.front(), {}));
  const Name shape =
      node("Shape", {input}, {{"start", std::int64_t{length.axis}}, {"end", std::int64_t{length.axis + 1}}});
  if (!outer_.empty()) outer_.front() = std::exchange(graph_.nodes, std::move(body));
  layer_ = layer;
  return lengths_[which] = shape;
}

Name Emitter::one(const Size& size) {
  if (size.fixed()) return ints({size.offset});
  Name name = length(size.lengths.front());
  for (std::size_t i = 1; i < size.lengths.size(); ++i) name = node("Mul", {name, length(size.lengths[i])});
  if (size.factor != 1) name = node("Mul", {name, ints({size.factor})});
  if (size.offset != 0) name = node("Add", {name, ints({size.offset})});
  return name;
}

Name Emitter::vector(const Sizes& sizes) {
  if (std::any_of(sizes.begin(), sizes.end(), [](const auto& size) { return !size; })) no_formula(samples_);
  if (std::all_of(sizes.begin(), sizes.end(), [](const auto& size) { return size->fixed(); })) {
    Ints values;
    for (const auto& size : sizes) values.push_back(size->offset);
    return ints(values);
  }
  Names parts;
  for (const auto& size : sizes) parts.push_back(one(*size));
  if (parts.size() == 1) return parts.front();
  return node("Concat", std::move(parts), {{"axis", std::int64_t{0}}});
}

Name Emitter::rank0(const Size& size) {
  return size.fixed() ? index(size.offset) : node("Squeeze", {one(size), ints({0})});
}

Name Emitter::range(const Size& size) {
  constexpr std::int64_t kMost = 1 << 16;  // larger constants are computed at run time instead of stored
  if (!size.fixed() || size.offset > kMost) return node("Range", {index(0), rank0(size), index(1)});
  Ints values(static_cast<std::size_t>(size.offset));
  std::iota(values.begin(), values.end(), 0);
  return ints(values);
}

Name Emitter::reshape(const Name& x, const Sizes& from, const Sizes& to) {
  if (from == to && std::all_of(from.begin(), from.end(), [](const auto& size) { return size.has_value(); })) return x;
  Ints target;
  int open = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] && to[i]->fixed() && to[i]->offset != 0) {
      target.push_back(to[i]->offset);
    } else if (to[i] && i < from.size() && from[i] == to[i]) {
      target.push_back(0);  // 0: keeps the size of x
    } else {
      target.push_back(-1);
      ++open;
    }
  }
  return node("Reshape", {x, open > 1 ? vector(to) : ints(target)});
}

Name Emitter::transpose(const Name& x, const std::vector<int>& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  return node("Transpose", {x}, {{"perm", Ints(permutation.begin(), permutation.end())}});
}

Name Emitter::expand(const Name& x, const Sizes& to) { return node("Expand", {x, vector(to)}); }

Name Emitter::cast(const Name& x, DType from, DType to) {
  return from == to ? x : node("Cast", {x}, {{"to", type_code(to)}});
}

void Emitter::begin_body() { outer_.push_back(std::exchange(graph_.nodes, {})); }

std::shared_ptr<const Graph> Emitter::end_body(const std::string& name, std::vector<ValueInfo> inputs,
                                               std::vector<ValueInfo> outputs) {
  auto body = std::make_shared<Graph>();
  body->name = name;
  body->nodes = std::exchange(graph_.nodes, std::move(outer_.back()));
  outer_.pop_back();
  body->inputs = std::move(inputs);
  body->outputs = std::move(outputs);
  return body;
}

Graph Emitter::take() { return std::move(graph_); }

bool Emitter::is_made(const Name& name) const {
  return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
  });
}

void Emitter::copy(const Name& from, const Name& to) { graph_.nodes.push_back({"Identity", to, {from}, {to}, {}}); }

void Emitter::rename(const Name& from, const Name& to) {
  for (Node& node : graph_.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(node.outputs.begin(), node.outputs.end(), from, to);
  }
}

}  // namespace attn::onnx
