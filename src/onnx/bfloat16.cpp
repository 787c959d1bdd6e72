#include "bfloat16.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace attn::onnx {
namespace {

constexpr std::array<std::string_view, 20> kSince22 = {
    "Acos", "Acosh",   "Asin",        "Asinh", "Atan", "Atanh", "Conv", "AveragePool", "Cos",      "Cosh",
    "Elu",  "MaxPool", "HardSigmoid", "Round", "Selu", "Sin",   "Sinh", "Softplus",    "Softsign", "Tan"};
constexpr std::array<std::string_view, 2> kNever = {"Einsum", "TopK"};
constexpr std::array<std::string_view, 11> kBoolean = {
    "And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "Not", "LessOrEqual", "Or", "Xor"};

template <std::size_t kCount>
bool has(const std::array<std::string_view, kCount>& ops, std::string_view op) {
  return std::ranges::find(ops, op) != ops.end();
}

bool takes_bfloat16(std::string_view op, int opset) {
  constexpr int kNewerTypes = 22;
  return !has(kNever, op) && (opset >= kNewerTypes || !has(kSince22, op));
}

/// The types of values, by name (TensorProto.DataType).
using Types = std::map<std::string, std::int64_t>;

class Pass {
 public:
  Pass(int opset, const std::function<std::string(const std::string&)>& unique) : opset_(opset), unique_(unique) {}

  /// `types` are those of the enclosing graphs.
  void run(Graph& graph, Types types) {
    for (const ValueInfo& input : graph.inputs) types[input.name] = type_code(input.dtype);
    for (const NamedTensor& tensor : graph.initializers) types[tensor.name] = type_code(tensor.tensor.dtype());
    std::map<std::string, std::string> wide;  // keys are names of bfloat16 values
    std::vector<Node> out;
    for (Node& node : graph.nodes) {
      widen_bodies(node, types);
      set_types(node, types);
      const bool narrow =
          std::ranges::any_of(node.inputs, [&](const std::string& name) { return is_narrow(types, name); });
      if (!narrow || takes_bfloat16(node.op, opset_)) {
        out.push_back(std::move(node));
        continue;
      }
      for (std::string& input : node.inputs)
        if (is_narrow(types, input)) input = widened(input, wide, out);
      std::vector<Node> casts;
      for (std::string& output : node.outputs) {
        if (!is_narrow(types, output)) continue;
        const std::string name = unique_(output + "/float32");
        casts.push_back(cast(std::exchange(output, name), name, kNarrow));
      }
      out.push_back(std::move(node));
      std::ranges::move(casts, std::back_inserter(out));
    }
    graph.nodes = std::move(out);
  }

 private:
  static constexpr std::int64_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9, kNarrow = 16;

  static bool is_narrow(const Types& types, const std::string& name) {
    const auto found = types.find(name);
    return found != types.end() && found->second == kNarrow;
  }

  static Node cast(std::string to, std::string from, std::int64_t type) {
    return {"Cast", to, {std::move(from)}, {to}, {{"to", type}}};
  }

  std::string widened(const std::string& name, std::map<std::string, std::string>& wide, std::vector<Node>& out) const {
    const auto [found, is_new] = wide.try_emplace(name);
    if (is_new) {
      found->second = unique_(name + "/float32");
      out.push_back(cast(found->second, name, kFloat));
    }
    return found->second;
  }

  void widen_bodies(Node& node, const Types& types) {
    for (Attribute& attribute : node.attributes) {
      auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute.value);
      if (body == nullptr) continue;
      auto changed = std::make_shared<Graph>(**body);
      run(*changed, types);
      *body = std::move(changed);
    }
  }

  /// Sets the types of a node's results. Most operators give the type of their first input.
  static void set_types(const Node& node, Types& types) {
    const auto type_of = [&](std::size_t input) {
      const auto found = input < node.inputs.size() ? types.find(node.inputs[input]) : types.end();
      return found == types.end() ? std::int64_t{0} : found->second;
    };
    std::int64_t type = type_of(node.op == "Where" ? 1 : 0);
    if (has(kBoolean, node.op)) type = kBool;
    if (node.op == "Shape" || node.op == "ArgMax" || node.op == "ArgMin") type = kInt64;
    if (node.op == "MatMulInteger") type = kInt32;
    for (const Attribute& attribute : node.attributes)
      if (node.op == "Cast" && attribute.name == "to") type = std::get<std::int64_t>(attribute.value);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      types[node.outputs[i]] = node.op == "TopK" && i == 1 ? kInt64 : type;
    for (const Attribute& attribute : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute.value))
        for (std::size_t i = 0; i < node.outputs.size() && i < (*body)->outputs.size(); ++i)
          types[node.outputs[i]] = type_code((*body)->outputs[i].dtype);
  }

  int opset_;
  const std::function<std::string(const std::string&)>& unique_;
};

}  // namespace

void widen_bfloat16(Graph& graph, int opset, const std::function<std::string(const std::string&)>& unique) {
  Pass(opset, unique).run(graph, {});
}

}  // namespace attn::onnx
