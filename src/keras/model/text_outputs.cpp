#include "model/text_outputs.h"

#include <variant>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "classes/layers/gives_texts.h"
#include "model/lower.h"
#include "model/model_lowering.h"

namespace attn::keras {
namespace {

/// Does the node give elements of its first input, or of all of them, as they are?
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

Strings strings_of(const graph::Graph& graph, const std::vector<const Layer*>& callees) {
  Strings out;
  for (std::size_t i = 0; i < callees.size() && i < graph.layers.size(); ++i) {
    const auto* gives = dynamic_cast<const GivesTexts*>(callees[i]);
    if (gives == nullptr || callees[i]->takes_texts()) continue;
    const auto terms = std::make_shared<const text::Lookup>(gives->places());
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
        throw bad_input("'{}' {}; what becomes of the strings of StringLookup(invert=True) is moved and given out",
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

std::vector<TextOutput> text_outputs(Functional& model) {
  bool any = false;
  visit_layers(model, [&](const Layer& layer) {
    any = any || (dynamic_cast<const GivesTexts*>(&layer) != nullptr && !layer.takes_texts());
  });
  if (!any) return {};
  graph::Graph graph;
  ModelLowering lowering(graph, true);
  LowerOptions options;
  options.symbolic = true;
  lower(model, options, lowering);
  const Strings strings = strings_of(graph, lowering.callees());
  std::vector<TextOutput> out;
  for (const graph::Output& output : graph.outputs)
    if (const auto found = strings.find(output.value); found != strings.end())
      out.push_back({output.name, found->second});
  return out;
}

}  // namespace attn::keras
