// The formulas of a layer's numbers, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/keras/anatomy.h"
#include "attn/keras/symbol.h"

namespace attn::keras {

/// One line of arithmetic: its subject, and the factors whose product is its value. A line without factors is the sum
/// of a sublayer.
struct Product {
  std::string what;            ///< the subject: "query/kernel", "query: multiply and add", "dense_1 (Dense)"
  std::optional<Shape> shape;  ///< shape of the variable, if the subject is one
  std::vector<NamedNumber> factors;
  Count value = 0;
  std::int64_t calls = 1;  ///< number of repetitions, included in the value
};

/// A formula for the sum of several lines.
struct Identity {
  std::string what;     ///< common name of the lines: "kernels"
  std::string formula;  ///< the formula: "3·d_model² + d_model² = 4·d_model²"
  Count value = 0;
  std::string since;  ///< the condition of the formula: "h·d_head = d_model", or ""
};

struct Explanation {
  std::string name, class_name;  ///< the part's path, "block/dense", and its class; no class for a group of variables
  std::vector<Symbol> symbols;
  std::vector<Product> params;
  std::vector<Identity> identities;  ///< sums of `params` with a short form
  std::string no_params;             ///< the reason why the part has no parameters, or ""
  Count total_params = 0, trainable_params = 0;
  std::vector<Product> flops;
  Count total_flops = 0;
  bool custom = false;  ///< the part is a custom class, whose code is not run: its FLOPs are unknown
};

/// The layers of one class in a model.
struct ClassTotals {
  std::string class_name;
  std::int64_t layers = 0;
  Count params = 0, flops = 0;
  std::string how;  ///< the parameters of the first layer as symbols, or the reason why it has none
};

/// Explains the parts of a model.
class Explainer {
 public:
  /// Explains the parts of `anatomy`. `graph` is the graph of `anatomy`, or the result of passes on it; `steps` are the
  /// nodes that a pass runs. All of these and the model must outlive the explainer.
  Explainer(const Anatomy& anatomy, const graph::Graph& graph, std::span<const graph::NodeId> steps);

  /// Returns the part with this name: "dense", "block/dense", "multi_head_attention/query"; empty if there is none.
  [[nodiscard]] std::optional<std::int32_t> find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] Explanation explain(std::int32_t part) const;
  /// Returns the layers of the model and of nested models by class, in the order of first occurrence.
  [[nodiscard]] std::vector<ClassTotals> classes() const;

 private:
  class Names;
  [[nodiscard]] std::int32_t end_of(std::int32_t part) const;
  [[nodiscard]] Count params_of(std::int32_t part, bool trainable_only) const;
  [[nodiscard]] Count flops_of(std::int32_t part) const;
  [[nodiscard]] bool is_made_of_layers(std::int32_t part) const;
  void add_inner(Explanation& out, std::int32_t part) const;
  /// Returns the purpose of a node in keras.layers.Attention or AdditiveAttention as a prefix, "scores: "; otherwise
  /// "".
  [[nodiscard]] std::string role_of(const graph::Node& node, const Part& part) const;
  void add_params(Explanation& out, std::int32_t part, Names& names) const;
  /// Adds the FLOPs of `part` and all parts below it, or only of the part `only`.
  void add_flops(Explanation& out, std::int32_t part, Names& names, std::int32_t only = graph::kNone) const;

  const Anatomy& anatomy_;
  const graph::Graph& graph_;
  Owners owners_;
  std::vector<std::vector<graph::NodeId>> nodes_;  ///< the nodes of each part, without those of nested parts
  std::vector<bool> is_step_;  ///< by node: whether it is one of the steps. Other nodes are views, or run once
};

}  // namespace attn::keras
