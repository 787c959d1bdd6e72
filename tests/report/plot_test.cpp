#include "attn/report/plot.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "../text.h"
#include "drawing/layered.h"
#include "pictures/plot_layout.h"
#include "text/escape.h"

using namespace attn;
using report::Link;
using report::Point;
using report::Size;

namespace {

using attn::test::contains;

report::PlotNode node(const std::string& name, int parent = report::kNoParent) {
  report::PlotNode out;
  out.name = name;
  out.class_name = "Dense";
  out.output_shape = "(None, 8)";
  out.parent = parent;
  return out;
}

// ESC, a C1 control, a right-to-left override, ends of scripts and of CDATA, and the quoting characters of each
// language.
const std::string kHostile = "\x1b[31m\xc2\x9b\xe2\x80\xae<script>alert(1)</script>]]>\"'\\`#quot;&amp;%%{}\n--> $(x)";

}  // namespace

TEST_CASE("layered: boxes of one layer do not overlap, and links pass between boxes") {
  std::mt19937 random(1);
  std::vector<Size> boxes;
  for (int i = 0; i < 60; ++i) boxes.push_back({40.0 + static_cast<double>(random() % 150), 40});
  std::vector<Link> links;
  for (int i = 1; i < 60; ++i)
    for (int n = 0; n < 3; ++n) links.push_back({static_cast<int>(random() % static_cast<unsigned>(i)), i});
  const report::Layout layout = report::place(boxes, links);
  REQUIRE(layout.centres.size() == boxes.size());
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    CHECK(layout.centres[a].x - boxes[a].width / 2 >= -0.01);
    CHECK(layout.centres[a].x + boxes[a].width / 2 <= layout.size.width + 0.01);
    for (std::size_t b = 0; b < a; ++b) {
      const bool apart = std::abs(layout.centres[a].y - layout.centres[b].y) >= 40 ||
                         std::abs(layout.centres[a].x - layout.centres[b].x) >= (boxes[a].width + boxes[b].width) / 2;
      CHECK(apart);
    }
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::vector<Point>& points = layout.routes[i].points;
    REQUIRE(points.size() >= 4);
    REQUIRE(points.size() % 2 == 0);
    for (std::size_t p = 1; p < points.size(); ++p) CHECK(points[p].y >= points[p - 1].y);
    // Straight segments cross no box except those at the ends.
    for (std::size_t p = 2; p + 3 < points.size(); p += 2)
      for (std::size_t box = 0; box < boxes.size(); ++box) {
        const bool beside = std::abs(points[p].x - layout.centres[box].x) >= boxes[box].width / 2;
        const bool elsewhere = points[p].y > layout.centres[box].y + 20 || points[p + 1].y < layout.centres[box].y - 20;
        const bool passes = beside || elsewhere;
        CHECK(passes);
      }
  }
}

TEST_CASE("layered: an empty graph, one box, a self-link and a backward link are placed") {
  CHECK(report::place({}, {}).size.width == 0);
  CHECK(report::place({{50, 20}}, {}).size.height == 20);
  const report::Layout layout = report::place({{50, 20}, {50, 20}}, {{0, 1}, {1, 0}, {1, 1}});
  CHECK(layout.centres[1].y > layout.centres[0].y);
  CHECK_FALSE(layout.routes[0].is_backward);
  CHECK(layout.routes[1].is_backward);
  CHECK(layout.routes[2].points.empty());
}

TEST_CASE("layered: long links of a dense graph do not pass through each layer") {
  constexpr int kBoxes = 300;
  std::vector<Link> links;
  for (int to = 1; to < kBoxes; ++to)
    for (int from = 0; from < to; ++from) links.push_back({from, to});
  std::size_t points = 0;
  for (const report::Route& route : report::place(std::vector<Size>(kBoxes, {50, 20}), links).routes) {
    points += route.points.size();
  }
  CHECK(points == 4 * links.size());

  std::vector<Link> chain(20'000, Link{0, 199});  // one box reads another many times
  for (int to = 1; to < 200; ++to) chain.push_back({to - 1, to});
  points = 0;
  for (const report::Route& route : report::place(std::vector<Size>(200, {50, 20}), chain).routes) {
    points += route.points.size();
  }
  CHECK(points == 4 * chain.size());
}

TEST_CASE("plot: a box encloses its contents") {
  report::PlotGraph graph;
  graph.name = "m";
  graph.nodes = {node("in"), node("box"), node("a", 1), node("b", 1), node("out")};
  graph.nodes[1].is_opened = true;
  graph.edges = {{0, 1, 0, 0}, {2, 3, 0, 0}, {2, 3, 0, 1}, {1, 4, 0, 0}};
  const report::DrawnPlot plot = report::draw(graph);
  CHECK(plot.edges.size() == 3);  // two tensors from a to b are one edge
  const report::DrawnNode& box = plot.nodes[1];
  for (const std::size_t inner : {2U, 3U}) {
    const report::DrawnNode& part = plot.nodes[inner];
    CHECK(part.corner.x >= box.corner.x);
    CHECK(part.corner.y >= box.corner.y);
    CHECK(part.corner.x + part.size.width <= box.corner.x + box.size.width);
    CHECK(part.corner.y + part.size.height <= box.corner.y + box.size.height);
  }
  CHECK(plot.nodes[3].corner.y > plot.nodes[2].corner.y + plot.nodes[2].size.height);
  CHECK(contains(report::render(report::Format::mermaid, graph),
                 "  subgraph n1[\"box<br/>Dense<br/>(None, 8)\"]\n    n2["));
  CHECK(contains(report::render(report::Format::dot, graph), "n0 -> n1 [lhead=cluster_1];"));
  const auto json = nlohmann::json::parse(report::render(report::Format::json, graph));
  CHECK(json["schema"] == "attn.plot/1");
  CHECK(json["nodes"][2]["parent"] == 1);
  CHECK(json["edges"].size() == 4);
}

TEST_CASE("plot: hostile names stay text in every form") {
  report::PlotGraph graph;
  graph.name = kHostile;
  graph.nodes = {node(kHostile), node(std::string(1'000'000, 'x')), node("\xff\xfe")};
  graph.nodes[0].class_name = kHostile;
  graph.nodes[0].output_shape = kHostile;
  graph.edges = {{0, 1, 0, 0}};
  using report::Format;
  for (const Format format : {Format::svg, Format::dot, Format::mermaid, Format::json}) {
    const std::string text = render(format, graph);
    CHECK_FALSE(contains(text, "\x1b"));
    CHECK_FALSE(contains(text, "\xc2\x9b"));
    CHECK_FALSE(contains(text, "\xe2\x80\xae"));
  }
  const std::string svg = report::render(report::Format::svg, graph);
  CHECK(svg.size() < 30'000);
  CHECK(contains(svg, "$(x)&#10;\\u{1b}[31m"));  // only attn adds lines to a tooltip: a newline in a name is escaped
  CHECK_FALSE(contains(svg, "<script"));
  CHECK_FALSE(contains(svg, "]]>"));
  CHECK(nlohmann::json::parse(report::render(report::Format::json, graph))["nodes"][0]["name"] == kHostile);
}

TEST_CASE("plot: a tooltip has name, class, parameters and shape on separate lines") {
  report::PlotGraph graph;
  graph.nodes = {node("dense\n2")};
  graph.nodes[0].params = 1234;
  const std::string svg = report::render(report::Format::svg, graph);
  CHECK(contains(svg, "<title>dense\\u{a}2&#10;Dense&#10;1,234 params&#10;(None, 8)</title>"));
  const report::Json page = report::drawn_json(report::draw(graph));
  CHECK(page["nodes"][0]["title"] == report::Json({"dense\\u{a}2", "Dense", "1,234 params", "(None, 8)"}));
}

TEST_CASE("escape: each language reads the escaped text back unchanged") {
  CHECK(report::xml_text("<a b=\"c\">&'") == "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
  CHECK(report::xml_text("\xef\xbf\xbf") == "\\u{ffff}");
  CHECK(report::dot_text("a\"b\\N&lt;") == "a\\\"b\\\\N&amp;lt;");
  CHECK(report::mermaid_text("a\"b]#x;%%") == "a#34;b#93;#35;x#59;#37;#37;");
  CHECK(report::script_json({{"a<b", "</script><!--"}}) == R"({"a\u003cb":"\u003c/script>\u003c!--"})");
  CHECK(report::script_json({"\x1b"}) == R"(["\\u{1b}"])");
  CHECK(report::shortened("abcdefghij", 5) == "ab…ij");
  CHECK(report::shortened("abcde", 5) == "abcde");
}
