#include "plot_svg.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "drawing/page_assets.h"
#include "plot_layout.h"
#include "text/escape.h"

namespace attn::report {
namespace {

std::string node_svg(const DrawnNode& node) {
  std::string out = fmt::format("<g class=\"{}\"><title>{}</title>", node.kind, xml_lines(node.title));
  out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\"/>", node.corner.x,
                     node.corner.y, node.size.width, node.size.height);
  for (std::size_t i = 0; i < node.lines.size(); ++i) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>", node.corner.x + kTextLeft,
                       node.corner.y + kFirstLine + static_cast<double>(i) * kLineHeight, i == 0 ? "name" : "detail",
                       xml_text(node.lines[i]));
  }
  return out + "</g>\n";
}

}  // namespace

std::string plot_svg(const PlotGraph& graph) {
  const DrawnPlot plot = draw(graph);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}: {3} params</title>\n<style>\n",
      plot.size.width, plot.size.height, xml_text(shortened(printable(graph.name), 400)),
      with_commas(graph.total_params));
  out += page::kPlotCss.text;
  out +=
      "</style>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto-start-reverse\"><path class=\"arrow\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";
  for (const DrawnNode& node : plot.nodes) out += node_svg(node);
  for (const DrawnEdge& edge : plot.edges) {
    out += fmt::format("<path class=\"edge{}\" d=\"{}\" marker-{}=\"url(#arrow)\"/>\n",
                       edge.is_backward ? " backward" : "", edge.path, edge.head_at_start ? "start" : "end");
  }
  return out + "</svg>\n";
}

}  // namespace attn::report
