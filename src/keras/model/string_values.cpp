#include "model/string_values.h"

#include <variant>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "classes/layers/preprocessing/string_output.h"

namespace attn::keras {
namespace {

/// Returns whether the node's result consists of unchanged elements of its first input, or of all inputs.
bool moves(const graph::Op& op) {
  return std::holds_alternative<graph::Reshape>(op) || std::holds_alternative<graph::Transpose>(op) ||
         std::holds_alternative<graph::Broadcast>(op) || std::holds_alternative<graph::Slice>(op) ||
         std::holds_alternative<graph::Gather>(op) || std::holds_alternative<graph::Concat>(op);
}

bool same_terms(const text::Lookup& a, const text::Lookup& b) {
  return a.terms == b.terms && a.first == b.first && a.others == b.others && a.mask == b.mask &&
         a.other_name == b.other_name;
}

}  // namespace

bool gives_texts(const Layer& layer) {
  return dynamic_cast<const StringOutput*>(&layer) != nullptr && !layer.takes_texts();
}

Strings strings_of(const graph::Graph& graph, const std::vector<const Layer*>& callees) {
  Strings out;
  for (std::size_t i = 0; i < callees.size() && i < graph.layers.size(); ++i) {
    if (!gives_texts(*callees[i])) continue;
    const auto terms = std::make_shared<const text::Lookup>(dynamic_cast<const StringOutput&>(*callees[i]).places());
    for (const graph::ValueId value : graph.layers[i].outputs) out.emplace(value, terms);
  }
  if (out.empty()) return out;
  for (const graph::Node& node : graph.nodes) {
    std::shared_ptr<const text::Lookup> terms;
    std::size_t read = 0;
    for (const graph::ValueId input : node.inputs) {
      const auto found = out.find(input);
      if (found == out.end()) continue;
      ++read;
      const bool joins = terms != nullptr && !same_terms(*terms, *found->second);
      const bool gathers = std::holds_alternative<graph::Gather>(node.op) && input != node.inputs.front();
      if (joins || gathers || !moves(node.op)) {
        const std::string layer = node.layer == graph::kNone ? "" : graph.layers[graph::at(node.layer)].name;
        throw bad_input("'{}' {}; strings of StringLookup(invert=True) can only be moved and returned",
                        printable(layer), joins ? "joins strings of two vocabularies" : "computes with strings");
      }
      terms = found->second;
    }
    if (terms == nullptr) continue;
    if (std::holds_alternative<graph::Concat>(node.op) && read != node.inputs.size())
      throw bad_input("'{}' joins strings and numbers",
                      printable(node.layer == graph::kNone ? "" : graph.layers[graph::at(node.layer)].name));
    for (const graph::ValueId value : node.outputs) out.emplace(value, terms);
  }
  return out;
}

}  // namespace attn::keras
