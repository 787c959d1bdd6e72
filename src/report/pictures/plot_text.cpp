// Plots in the languages of Graphviz and Mermaid.
#include <fmt/format.h>

#include <map>
#include <set>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/plot.h"
#include "plot_png.h"
#include "plot_svg.h"
#include "text/escape.h"

namespace attn::report {
namespace {

constexpr int kLongest = 200;  // maximum terminal cells of a line in a label

/// Returns the lines of a label: name, class with parameters, shape.
std::vector<std::string> lines_of(const PlotNode& node) {
  std::string about = shortened(printable(node.class_name), kLongest);
  if (!node.built) about += ", unbuilt";
  if (node.params > 0) about += ", " + with_commas(node.params) + " params";
  return {shortened(printable(node.name), kLongest), about, shortened(printable(node.output_shape), kLongest)};
}

std::string label(const PlotNode& node, std::string (*escape)(std::string_view), const char* separator) {
  std::string out;
  for (const std::string& line : lines_of(node)) out += (out.empty() ? "" : separator) + escape(line);
  return out;
}

/// Returns the scope of a node: 0 is the model, n + 1 the contents of node n.
std::size_t scope_of(const PlotNode& node) {
  return node.parent == kNoParent ? 0 : static_cast<std::size_t>(node.parent) + 1;
}

std::vector<std::vector<int>> children_of(const PlotGraph& graph) {
  std::vector<std::vector<int>> out(graph.nodes.size() + 1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) out[scope_of(graph.nodes[i])].push_back(static_cast<int>(i));
  return out;
}

/// Returns each pair of connected layers, without duplicates.
std::vector<std::pair<int, int>> pairs_of(const PlotGraph& graph) {
  std::vector<std::pair<int, int>> out;
  std::set<std::pair<int, int>> seen;
  for (const PlotEdge& edge : graph.edges)
    if (seen.emplace(edge.from, edge.to).second) out.emplace_back(edge.from, edge.to);
  return out;
}

class Dot {
 public:
  explicit Dot(const PlotGraph& graph) : graph_(graph), children_(children_of(graph)) {}

  std::string run() {
    out_ = fmt::format("digraph \"{}\" {{\n", dot_text(shortened(printable(graph_.name), kLongest)));
    out_ += "  compound=true;\n  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10];\n";
    add(0, 1);
    for (const auto& [from, to] : pairs_of(graph_)) add_edge(from, to);
    return out_ + "}\n";
  }

 private:
  void add(std::size_t scope, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    for (const int child : children_[scope]) {
      const PlotNode& node = graph_.nodes[static_cast<std::size_t>(child)];
      if (!node.is_opened) {
        out_ += fmt::format("{}n{} [label=\"{}\"];\n", indent, child, label(node, dot_text, "\\n"));
        continue;
      }
      out_ += fmt::format("{}subgraph cluster_{} {{\n{}  label=\"{}\";\n", indent, child, indent,
                          label(node, dot_text, "\\n"));
      // Graphviz has no edges to clusters: edges end at invisible points inside, and are clipped at the border.
      out_ += fmt::format("{0}  n{1} [shape=point, style=invis];\n", indent, child);
      add(static_cast<std::size_t>(child) + 1, depth + 1);
      out_ += indent + "}\n";
    }
  }

  void add_edge(int from, int to) {
    std::string attributes;
    const auto clip = [&](const char* end, int node) {
      if (!graph_.nodes[static_cast<std::size_t>(node)].is_opened || from == to) return;
      attributes += fmt::format("{}{}=cluster_{}", attributes.empty() ? "" : ", ", end, node);
    };
    clip("ltail", from);
    clip("lhead", to);
    out_ += fmt::format("  n{} -> n{}{};\n", from, to, attributes.empty() ? "" : " [" + attributes + "]");
  }

  const PlotGraph& graph_;
  std::vector<std::vector<int>> children_;
  std::string out_;
};

class Mermaid {
 public:
  explicit Mermaid(const PlotGraph& graph) : graph_(graph), children_(children_of(graph)) {}

  std::string run() {
    out_ = "flowchart TB\n";
    add(0, 1);
    for (const auto& [from, to] : pairs_of(graph_)) out_ += fmt::format("  n{} --> n{}\n", from, to);
    return out_;
  }

 private:
  void add(std::size_t scope, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    for (const int child : children_[scope]) {
      const PlotNode& node = graph_.nodes[static_cast<std::size_t>(child)];
      const std::string text = label(node, mermaid_text, "<br/>");
      if (!node.is_opened) {
        out_ += fmt::format("{}n{}[\"{}\"]\n", indent, child, text);
        continue;
      }
      out_ += fmt::format("{}subgraph n{}[\"{}\"]\n", indent, child, text);
      add(static_cast<std::size_t>(child) + 1, depth + 1);
      out_ += indent + "end\n";
    }
  }

  const PlotGraph& graph_;
  std::vector<std::vector<int>> children_;
  std::string out_;
};

std::string plot_json(const PlotGraph& graph) {
  Json json;
  json["schema"] = "attn.plot/1";
  json["name"] = json_text(graph.name);
  json["class_name"] = json_text(graph.class_name);
  json["total_params"] = json_integer(graph.total_params);
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const PlotNode& node = graph.nodes[i];
    json["nodes"].push_back({{"id", i},
                             {"name", json_text(node.name)},
                             {"class_name", json_text(node.class_name)},
                             {"output_shape", json_text(node.output_shape)},
                             {"params", json_integer(node.params)},
                             {"built", node.built},
                             {"parent", node.parent == kNoParent ? Json(nullptr) : Json(node.parent)}});
  }
  json["edges"] = Json::array();
  for (const PlotEdge& edge : graph.edges)
    json["edges"].push_back({{"from", edge.from}, {"to", edge.to}, {"call", edge.call}, {"tensor", edge.tensor}});
  return json_document(json);
}

}  // namespace

std::string render(Format format, const PlotGraph& graph) {
  switch (format) {
    case Format::svg:
      return plot_svg(graph);
    case Format::png:
      return plot_png(graph);
    case Format::dot:
      return Dot(graph).run();
    case Format::mermaid:
      return Mermaid(graph).run();
    case Format::json:
      return plot_json(graph);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
