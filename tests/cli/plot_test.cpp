// attn plot as a user runs it.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "../instrumented.h"
#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::kIsInstrumented;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

json tensor(const std::string& layer) {
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", {nullptr, 8}}, {"dtype", "float32"}, {"keras_history", {layer, 0, 0}}}}};
}

json layer(const std::string& class_name, json config, const std::string& name, json inbound) {
  config["name"] = name;
  return {{"module", "keras.layers"},
          {"class_name", class_name},
          {"config", config},
          {"name", name},
          {"inbound_nodes", inbound}};
}

json functional(const std::string& name, const std::vector<json>& layers, const std::string& in,
                const std::string& out) {
  return {{"module", "keras"},
          {"class_name", "Functional"},
          {"config",
           {{"name", name},
            {"layers", layers},
            {"input_layers", json::array({json::array({in, 0, 0})})},
            {"output_layers", json::array({json::array({out, 0, 0})})}}}};
}

json call(std::vector<std::string> inputs) {
  json args = json::array();
  for (const std::string& input : inputs) args.push_back(tensor(input));
  if (args.size() > 1) args = json::array({args});
  return json::array({{{"args", args}, {"kwargs", json::object()}}});
}

const json kInput = {{"batch_shape", {nullptr, 8}}, {"dtype", "float32"}};

}  // namespace

TEST_CASE("plot: the extension of -o or --format selects the form, by default SVG") {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"svg", "<svg "}, {"dot", "digraph "}, {"mmd", "flowchart TB"}, {"json", "{\n  \"schema\": \"attn.plot/1\""}};
  for (const auto& [ending, begin] : forms) {
    const std::string path = folder / ("graph." + ending);
    CHECK(run_attn({"plot", "-o", path}).code == 0);
    CHECK(read_text(path).rfind(begin, 0) == 0);
  }
  CHECK(run_attn({"plot"}).out.rfind("<svg ", 0) == 0);
  CHECK(run_attn({"plot", "--format", "dot", "-o", folder / "x.svg"}).code == 0);
  CHECK(read_text(folder / "x.svg").rfind("digraph ", 0) == 0);
  const Result result = run_attn({"plot", "-o", folder / "graph.pdf"});
  CHECK(result.code == 2);
  CHECK(contains(result.err, "expected .svg, .png, .dot"));
}

TEST_CASE("plot: a PNG shows the SVG with twice as many pixels, for names in any script") {
  const TemporaryFolder folder;
  const auto size_of = [](const std::string& png, std::size_t at) {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8U | static_cast<unsigned char>(png.at(at + i));
    return size;
  };
  for (const std::string name : {"plain", "注意😀é</svg>"}) {
    CAPTURE(name);
    const std::string model = functional(name,
                                         {layer("InputLayer", {{"batch_shape", {nullptr, 8}}}, "in", json::array()),
                                          layer("Dense", {{"units", 8}}, name + "_d",
                                                json::array({{{"args", {tensor("in")}}, {"kwargs", json::object()}}}))},
                                         "in", name + "_d")
                                  .dump();
    REQUIRE(run_attn({"plot", "-", "-o", folder / "m.png"}, model).code == 0);
    const std::string png = read_text(folder / "m.png"), svg = run_attn({"plot", "-"}, model).out;
    CHECK(png.starts_with("\x89PNG\r\n\x1a\n"));
    CHECK(contains(svg, " width=\"" + std::to_string(size_of(png, 16) / 2) + "\" height=\"" +
                            std::to_string(size_of(png, 20) / 2) + "\""));
    CHECK(run_attn({"plot", "-", "--format", "png"}, model).out == png);
  }
}

TEST_CASE("plot: connections between layers, also inside nested models, equal Keras's") {
  // The residual around the Dropout joins it to the Dense, and reads the input, not the Dropout that returns it.
  const json block = functional(
      "block",
      {layer("InputLayer", kInput, "in", json::array()), layer("Dropout", {{"rate", 0.1}}, "drop", call({"in"})),
       layer("Dense", {{"units", 8}}, "dense", call({"drop"})),
       layer("Add", json::object(), "sum", call({"in", "dense"}))},
      "in", "sum");
  json nested = block;
  nested["name"] = "block";
  nested["inbound_nodes"] = json::array({{{"args", {tensor("x")}}, {"kwargs", json::object()}},
                                         {{"args", {tensor("block")}}, {"kwargs", json::object()}}});
  nested["inbound_nodes"][1]["args"][0]["config"]["keras_history"] = {"block", 0, 0};
  json whole = functional("model", {layer("InputLayer", kInput, "x", json::array()), nested}, "x", "block");
  whole["config"]["output_layers"][0] = {"block", 2, 0};

  const json plot = json::parse(run_attn({"plot", "-", "--json", "--expand-nested"}, whole.dump()).out);
  std::vector<std::string> edges;
  for (const json& edge : plot["edges"])
    edges.push_back(plot["nodes"][edge["from"].get<std::size_t>()]["name"].get<std::string>() + ">" +
                    plot["nodes"][edge["to"].get<std::size_t>()]["name"].get<std::string>());
  std::sort(edges.begin(), edges.end());
  CHECK(edges == std::vector<std::string>{"block>block", "dense>sum", "drop>dense", "in>drop", "in>sum", "x>block"});
  const json closed = json::parse(run_attn({"plot", "-", "--json"}, whole.dump()).out);
  CHECK(closed["nodes"].size() == 2);
}

TEST_CASE("plot: a thousand layers take less than a second") {
  std::vector<json> layers = {layer("InputLayer", kInput, "x", json::array())};
  std::vector<std::string> names = {"x"};
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "layer_" + std::to_string(i);
    if (i % 3 == 2)
      layers.push_back(layer("Add", json::object(), name, call({names.back(), names[names.size() - 3]})));
    else
      layers.push_back(layer("Dense", {{"units", 8}}, name, call({names.back()})));
    names.push_back(name);
  }
  const std::string text = functional("deep", layers, "x", names.back()).dump();
  const auto begin = std::chrono::steady_clock::now();
  const Result result = run_attn({"plot", "-"}, text);
  CHECK(result.code == 0);
  CHECK(contains(result.out, ">layer_999<"));
  // It takes 60 ms; more on a machine under load.
  if (!kIsInstrumented) CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
}
