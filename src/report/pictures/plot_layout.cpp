#include "plot_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/base/text.h"
#include "attn/keras/role.h"
#include "text/escape.h"

namespace attn::report {
namespace {

constexpr int kLongestName = 40, kLongestTitle = 400;  // lengths in terminal cells
constexpr double kBoxPadding = 18, kLoop = 26;

std::string params_text(const PlotNode& node) {
  if (!node.built) return "unbuilt";
  return node.params == 0 ? "" : with_commas(node.params) + " params";
}

DrawnNode labelled(const PlotNode& node) {
  DrawnNode out;
  out.node = &node;
  out.kind = node.is_opened ? "box" : layer_kind(node.class_name);
  const std::string name = printable(node.name), class_name = printable(node.class_name);
  const std::string shape = printable(node.output_shape), params = params_text(node);
  out.lines = {shortened(name, kLongestName),
               shortened(class_name, kLongestName) + (params.empty() ? "" : " · " + params),
               shortened(shape, kLongestName)};
  out.title = {shortened(name, kLongestTitle), shortened(class_name, kLongestTitle), shortened(shape, kLongestTitle)};
  if (!params.empty()) out.title.insert(out.title.end() - 1, params);
  int cells = 8;
  for (const std::string& line : out.lines) cells = std::max(cells, display_width(line));
  out.size = {cells * kCell + 2 * kNodePadding + 6, 3 * kLineHeight + 2 * kNodePadding};
  return out;
}

std::string path_of(const std::vector<Point>& points, Point origin) {
  std::string out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = points[i].x + origin.x, y = points[i].y + origin.y;
    if (i == 0) {
      out = fmt::format("M{:.1f} {:.1f}", x, y);
    } else if (i % 2 == 1) {
      if (points[i].y > points[i - 1].y) out += fmt::format("V{:.1f}", y);
    } else {
      const double before = points[i - 1].x + origin.x, middle = (points[i - 1].y + points[i].y) / 2 + origin.y;
      out += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", before, middle, x, middle, x, y);
    }
  }
  return out;
}

class Drawing {
 public:
  explicit Drawing(const PlotGraph& graph) : children_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const int parent = graph.nodes[i].parent;
      (parent == kNoParent ? top_ : children_[at(parent)]).push_back(static_cast<int>(i));
      plot_.nodes.push_back(labelled(graph.nodes[i]));
    }
    std::set<std::pair<int, int>> seen;
    links_.resize(graph.nodes.size() + 1);
    for (const PlotEdge& edge : graph.edges)
      if (seen.emplace(edge.from, edge.to).second)
        links_[at(graph.nodes[at(edge.from)].parent + 1)].push_back({edge.from, edge.to});
    layouts_.resize(graph.nodes.size() + 1);
  }

  DrawnPlot run() {
    // Boxes precede their contents, so in reverse order the contents of every box are already placed.
    for (std::size_t i = plot_.nodes.size(); i-- > 0;)
      if (plot_.nodes[i].node->is_opened) open(i);
    layouts_[0] = placed(top_, links_[0]);
    plot_.size = {layouts_[0].size.width + 2 * kMargin + (has_loop(0) ? kLoop : 0),
                  layouts_[0].size.height + 2 * kMargin};
    put(top_, 0, {kMargin, kMargin});
    return std::move(plot_);
  }

 private:
  void open(std::size_t box) {
    DrawnNode& node = plot_.nodes[box];
    const std::size_t scope = box + 1;
    layouts_[scope] = placed(children_[box], links_[scope]);
    const double loop = has_loop(scope) ? kLoop : 0;
    node.size.width = std::max(node.size.width, layouts_[scope].size.width + 2 * kBoxPadding + loop);
    node.size.height += layouts_[scope].size.height + kBoxPadding;
  }

  [[nodiscard]] bool has_loop(std::size_t scope) const {
    return std::any_of(links_[scope].begin(), links_[scope].end(), [](const Link& l) { return l.from == l.to; });
  }

  [[nodiscard]] Layout placed(const std::vector<int>& members, const std::vector<Link>& links) {
    std::vector<Size> sizes;
    local_.resize(plot_.nodes.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      local_[at(members[i])] = static_cast<int>(i);
      sizes.push_back(plot_.nodes[at(members[i])].size);
    }
    std::vector<Link> local;
    for (const Link& link : links) local.push_back({local_[at(link.from)], local_[at(link.to)]});
    return place(sizes, local);
  }

  void put(const std::vector<int>& members, std::size_t scope, Point origin) {
    const Layout& layout = layouts_[scope];
    for (std::size_t i = 0; i < members.size(); ++i) {
      DrawnNode& node = plot_.nodes[at(members[i])];
      node.corner = {origin.x + layout.centres[i].x - node.size.width / 2,
                     origin.y + layout.centres[i].y - node.size.height / 2};
    }
    for (std::size_t i = 0; i < links_[scope].size(); ++i) {
      const Link& link = links_[scope][i];
      if (link.from == link.to) {
        const DrawnNode& node = plot_.nodes[at(link.from)];
        const double right = node.corner.x + node.size.width, middle = node.corner.y + node.size.height / 2;
        plot_.edges.push_back(
            {fmt::format("M{0:.1f} {1:.1f}c{2} 0 {2} 20 0 20", right, middle - 10, kLoop), true, false});
      } else {
        std::string path = path_of(layout.routes[i].points, origin);
        const bool backward = layout.routes[i].is_backward;  // still drawn downward
        plot_.edges.push_back({std::move(path), backward, backward});
      }
    }
    for (const int member : members) {
      const DrawnNode& node = plot_.nodes[at(member)];
      if (!node.node->is_opened) continue;
      const double inner = layouts_[at(member) + 1].size.width;
      put(children_[at(member)], at(member) + 1,
          {node.corner.x + (node.size.width - inner) / 2, node.corner.y + 3 * kLineHeight + 2 * kNodePadding});
    }
  }

  std::vector<int> top_;
  std::vector<std::vector<int>> children_;
  // Indexed by scope: 0 is the model, n + 1 the contents of node n.
  std::vector<std::vector<Link>> links_;
  std::vector<Layout> layouts_;
  std::vector<int> local_;  // index of each node in its scope
  DrawnPlot plot_;
};

}  // namespace

std::string layer_kind(std::string_view class_name) {
  switch (keras::role_of(class_name)) {
    case keras::Role::input:
      return "input";
    case keras::Role::attention:
    case keras::Role::dot_attention:
    case keras::Role::transformer:
      return "attention";
    case keras::Role::normalization:
      return "norm";
    case keras::Role::tokens:
    case keras::Role::embedding:
      return "embedding";
    case keras::Role::kernel:
      return "dense";
    case keras::Role::model:
    case keras::Role::chain:
      return "model";
    case keras::Role::other:
    case keras::Role::activation:
    case keras::Role::merge:
    case keras::Role::pooling:
    case keras::Role::arrangement:
    case keras::Role::pass_through:
    case keras::Role::training:
      return "other";
  }
  return "other";
}

DrawnPlot draw(const PlotGraph& graph) { return Drawing(graph).run(); }

Json drawn_json(const DrawnPlot& plot) {
  const auto rounded = [](double value) { return static_cast<double>(static_cast<std::int64_t>(value * 10)) / 10; };
  Json out{{"width", rounded(plot.size.width)}, {"height", rounded(plot.size.height)}};
  out["nodes"] = Json::array();
  for (const DrawnNode& node : plot.nodes) {
    out["nodes"].push_back({{"kind", node.kind},
                            {"x", rounded(node.corner.x)},
                            {"y", rounded(node.corner.y)},
                            {"width", rounded(node.size.width)},
                            {"height", rounded(node.size.height)},
                            {"title", node.title},
                            {"lines", node.lines}});
  }
  out["edges"] = Json::array();
  for (const DrawnEdge& edge : plot.edges)
    out["edges"].push_back(
        {{"path", edge.path}, {"backward", edge.is_backward}, {"head_at_start", edge.head_at_start}});
  return out;
}

}  // namespace attn::report
