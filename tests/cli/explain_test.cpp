// attn explain, as scripts and terminals see it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../text.h"
#include "attn/base/text.h"
#include "program.h"

using attn::split;
using attn::test::contains;
using attn::test::Result;
using attn::test::run_attn;
using nlohmann::json;

TEST_CASE("explain: a layer of the built-in encoder is explained line by line") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"explain", "multi_head_attention"},
        std::vector<std::string>{"explain", "configs/encoder.json", "multi_head_attention"}}) {
    const Result result = run_attn(arguments);
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "  query/kernel (512, 8, 64): d_model × h × d_head = 262,144\n"));
    CHECK(
        contains(result.out, "  kernels: 3·d_model² + d_model² = 4·d_model² = 1,048,576, since h·d_head = d_model\n"));
    CHECK(contains(result.out, "  total: 1,050,624, all of them trainable\n"));
    CHECK(contains(result.out, "2 × B × T × d_model × h × d_head = 2 × 1 × 50 × 512 × 8 × 64 = 26,214,400\n"));
  }
}

TEST_CASE("explain: all forms have the totals of attn summary --costs") {
  const json costs = json::parse(run_attn({"summary", "--costs", "--json"}).out);
  const json overview = json::parse(run_attn({"explain", "--json"}).out);
  CHECK(overview["schema"] == "attn.explain/1");
  CHECK(overview["total_params"] == costs["total_params"]);
  CHECK(overview["total_flops"] == costs["costs"]["flops"]);
  for (const json& row : costs["layers"]) {
    const std::string name = row["name"];
    CAPTURE(name);
    const json layer = json::parse(run_attn({"explain", "configs/encoder.json", name, "--json"}).out);
    CHECK(layer["total_params"] == row["params"]);
    CHECK(layer["total_flops"] == row["flops"]);
    CHECK(layer["no_params"].is_null() == (row["params"] != 0));
  }
  CHECK(contains(run_attn({"explain", "--markdown"}).out, "| MultiHeadAttention "));
  CHECK(
      contains(run_attn({"explain", "multi_head_attention", "--latex"}).out,
               "= 4 \\cdot d_{\\text{model}} = 2{,}048, \\text{ since } h \\cdot d_{\\text{head}} = d_{\\text{model}} "
               "\\\\\n"));
  const Result latex = run_attn({"explain", "dense_2", "--latex"});
  CHECK(contains(latex.out, "\\text{kernel (512, 512)} &: d_{\\text{in}} \\times d_{\\text{out}} = 262{,}144 \\\\"));
}

TEST_CASE("explain: a composite layer shows its own arithmetic, and every row of summary --depth has a name") {
  const std::string config = R"({"module": "keras_hub.layers", "class_name": "TransformerDecoder", "config":
    {"name": "decoder", "intermediate_dim": 8, "num_heads": 2}, "registered_name": "keras_hub>TransformerDecoder"})";
  const Result decoder = run_attn({"explain", "-", "decoder", "--input-shape", "5,8"}, config);
  CHECK(decoder.code == 0);
  CHECK_FALSE(contains(decoder.out, "(itself)"));
  CHECK(contains(decoder.out, " B × T × "));

  const Result attends = run_attn({"explain", "configs/encoder.json", "multi_head_attention/attention"});
  CHECK(attends.code == 0);
  CHECK(contains(attends.out, "softmax: 4 × B × h × T × S"));
}

TEST_CASE("explain: an unknown layer is a usage error with a suggestion") {
  const Result result = run_attn({"explain", "configs/encoder.json", "multi_head_atention"});
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "did you mean 'multi_head_attention'?"));
  CHECK(run_attn({"explain", "nowhere.json"}).code == 3);
}

TEST_CASE("costs and explanations: hostile names stay text in every form") {
  json config = json::parse(run_attn({"get-config", "configs/encoder.json"}).out);
  const std::string evil = "=x\x1b[31m<script>$^_\xe2\x80\xae";
  for (json& layer : config["config"]["layers"]) {
    if (layer["class_name"] != "Dense" || layer["name"] != "dense_2") continue;
    layer["name"] = evil;
    layer["config"]["name"] = evil;
  }
  config["config"]["output_layers"] = json::array({evil, 0, 0});
  const std::string text = config.dump();
  const auto check = [&](const std::vector<std::string>& arguments) {
    const Result result = run_attn(arguments, text);
    CAPTURE(arguments.back());
    CHECK(result.code == 0);
    CHECK(contains(result.out, "script>"));
    CHECK_FALSE(contains(result.out, "\x1b"));
    CHECK_FALSE(contains(result.out, "\xe2\x80\xae"));
    return result.out;
  };
  for (const char* format : {"table", "json", "markdown", "csv"}) {
    const std::string out = check({"summary", "-", "--costs", "--depth", "2", "--weights", "--format", format});
    if (std::string(format) == "csv") CHECK(contains(out, "\n'=x"));
    if (std::string(format) == "markdown") CHECK_FALSE(contains(out, "<script"));
  }
  for (const char* format : {"table", "json", "markdown", "latex"}) {
    const std::string out = check({"explain", "-", evil, "--format", format});
    if (std::string(format) == "latex") CHECK(contains(out, "\\$\\textasciicircum{}\\_"));
    if (std::string(format) == "markdown") CHECK_FALSE(contains(out, "<script"));
  }
}

TEST_CASE("costs and explanations: counts scale with a giant batch, or are rejected") {
  const std::string zeros = "000000000000";
  const auto rows = [](const std::string& batch) {
    std::vector<std::vector<std::string>> out;
    for (const std::string& line :
         split(run_attn({"summary", "--costs", "--batch-size", batch, "--format", "csv"}).out, '\n'))
      out.push_back(split(line.substr(0, line.find('\r')), ','));
    return out;
  };
  // Returns one of the last five cells of a row: FLOPs, their fraction, hidden FLOPs, activations, scores.
  const auto cell = [](const std::vector<std::string>& row, std::size_t behind) { return row[row.size() - behind]; };
  const auto one = rows("1"), giant = rows("1" + zeros);
  REQUIRE(one.size() > 10);
  REQUIRE(giant.size() == one.size());
  for (std::size_t i = 1; i < one.size(); ++i) {
    if (one[i].size() < 5) continue;
    CAPTURE(one[i][0]);
    for (const std::size_t behind : {5, 2, 1})
      CHECK(cell(giant[i], behind) == (cell(one[i], behind) == "0" ? "0" : cell(one[i], behind) + zeros));
    CHECK(std::stod(cell(giant[i], 4)) == doctest::Approx(std::stod(cell(one[i], 4))));
  }
  for (const std::string& text : {run_attn({"summary", "--costs", "--batch-size", "1" + zeros, "--json"}).out,
                                  run_attn({"explain", "--batch-size", "1" + zeros, "--json"}).out})
    CHECK(contains(text, "346826900" + zeros));
  CHECK(contains(run_attn({"explain", "dense", "--batch-size", "1" + zeros}).out,
                 "  total: 104,960,000,000,000,000,000\n"));
  for (const std::string command : {"summary --costs", "explain"}) {
    std::vector<std::string> line = split(command, ' ');
    line.insert(line.end(), {"--batch-size", "1000000" + zeros});
    const Result refused = run_attn(line);
    CHECK(refused.code == 4);
    CHECK(refused.out.empty());
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
}

TEST_CASE("summary: options of costs require --costs, and options of Keras's table reject it") {
  CHECK(run_attn({"summary", "--batch-size", "2"}).code == 2);
  CHECK(run_attn({"summary", "--costs", "--masks"}).code == 2);
  CHECK(run_attn({"summary", "--costs", "--line-length", "80"}).code == 2);
  const json opened = json::parse(run_attn({"summary", "--depth", "1", "--weights", "--json"}).out);
  const json& attention = opened["layers"][1];
  CHECK(attention["output_shape"] == json({nullptr, 50, 512}));
  CHECK(attention["layers"][0]["name"] == "query");
  CHECK(attention["layers"][0]["variables"][0]["shape"] == json({512, 8, 64}));
  CHECK_FALSE(attention.contains("flops"));
}
