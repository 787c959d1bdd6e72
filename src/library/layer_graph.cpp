#include "attn/library/layer_graph.h"

#include <charconv>
#include <map>
#include <optional>
#include <span>

#include "attn/base/error.h"
#include "attn/keras/role.h"

namespace attn::library {
namespace {

using report::PlotGraph;

struct Source {
  std::string layer;
  int call = 0, tensor = 0;
};

/// Parses "layer[0][1]"; the name may contain brackets too.
Source parse_connection(const std::string& text) {
  Source out;
  std::size_t end = text.size();
  for (int* number : {&out.tensor, &out.call}) {
    const std::size_t open = text.rfind('[', end - 1);
    std::from_chars(text.data() + open + 1, text.data() + end - 1, *number);
    end = open;
  }
  out.layer = text.substr(0, end);
  return out;
}

bool is_chain(const std::string& class_name) { return keras::role_of(class_name) == keras::Role::chain; }

class LayerGraph {
 public:
  explicit LayerGraph(bool expand_nested) : expand_nested_(expand_nested) {}

  void add_model(const keras::Model& model, const keras::Summary& summary, int parent) {
    add_rows(model, summary.rows, 0, "", is_chain(summary.class_name), parent);
  }

  PlotGraph graph;

 private:
  /// Adds the rows of `rows` at `level`, and skips rows that are nested deeper. `path` is their location in `model`.
  void add_rows(const keras::Model& model, std::span<const keras::SummaryRow> rows, int level, const std::string& path,
                bool chained, int parent) {
    std::map<std::string, int> ids;
    std::vector<std::pair<int, const keras::SummaryRow*>> added;
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t behind = i + 1;
      while (behind < rows.size() && rows[behind].level > level) ++behind;
      const int id = add_node(rows[i], parent);
      ids.emplace(rows[i].name, id);
      added.emplace_back(id, &rows[i]);
      if (behind > i + 1 && expand_nested_) open(model, rows.subspan(i, behind - i), path + rows[i].name, id);
      i = behind;
    }
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (chained && i > 0) graph.edges.push_back({added[i - 1].first, added[i].first, 0, 0});
      if (chained) continue;
      for (const std::string& connection : added[i].second->connected_to) {
        const Source source = parse_connection(connection);
        if (const auto from = ids.find(source.layer); from != ids.end())
          graph.edges.push_back({from->second, added[i].first, source.call, source.tensor});
      }
    }
  }

  int add_node(const keras::SummaryRow& row, int parent) {
    report::PlotNode node;
    node.name = row.name;
    node.class_name = row.class_name;
    node.output_shape = row.output_shape_text;
    node.params = row.params;
    node.built = row.built;
    node.parent = parent;
    graph.nodes.push_back(std::move(node));
    return static_cast<int>(graph.nodes.size()) - 1;
  }

  /// Adds the contents of a nested model, whose row is the first of `rows`. A summary omits the connections inside a
  /// nested model, so they come from the nested model's own summary.
  void open(const keras::Model& model, std::span<const keras::SummaryRow> rows, const std::string& path, int id) {
    graph.nodes[static_cast<std::size_t>(id)].is_opened = true;
    if (is_chain(rows.front().class_name)) {
      add_rows(model, rows.subspan(1), rows.front().level + 1, path + "/", true, id);
      return;
    }
    keras::ConfigOptions options;
    options.layer = path;
    const keras::Model nested = keras::Model::read(path, model.config(options));
    add_model(nested, nested.summary(), id);
  }

  bool expand_nested_;
};

}  // namespace

PlotGraph layer_graph(const keras::Model& model, bool expand_nested) {
  const keras::Summary summary = model.summary();
  LayerGraph layers(expand_nested);
  layers.graph.name = summary.name;
  layers.graph.class_name = summary.class_name;
  layers.graph.total_params = summary.total_params;
  layers.add_model(model, summary, report::kNoParent);
  return std::move(layers.graph);
}

}  // namespace attn::library
