#include "attn/report/summary.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

using namespace attn;
using nlohmann::json;
using report::Format;
using report::render;
using report::SummaryOptions;

namespace {

keras::Count count_of(const json& digits) {
  keras::Count value = 0;
  for (const char c : digits.get<std::string>()) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

/// The expected values and tables in tests/data/summary come from Keras 3.15.1.
json golden(const std::string& name) {
  std::ifstream file(attn::test::in_repository("tests/data/summary/") + name + ".json");
  REQUIRE(file.good());
  return json::parse(file);
}

keras::Summary summary_of(const json& value) {
  keras::Summary summary;
  summary.name = value["name"];
  summary.class_name = value["class_name"];
  summary.sequential_like = value["sequential_like"];
  for (const json& row : value["rows"]) {
    keras::SummaryRow& made = summary.rows.emplace_back();
    made.name = row["name"];
    made.class_name = row["class_name"];
    made.level = row["level"];
    made.output_shape_text = row["output_shape_text"];
    made.built = row["built"];
    made.params = count_of(row["params"]);
    if (!row["trainable"].is_null()) made.trainable = row["trainable"].get<bool>();
    made.connected_to = row["connected_to"].get<std::vector<std::string>>();
  }
  const json& total = value["total"];
  summary.total_params = count_of(total[0]);
  summary.trainable_params = count_of(total[1]);
  summary.non_trainable_params = count_of(total[2]);
  summary.total_bytes = count_of(total[3]);
  summary.trainable_bytes = count_of(total[4]);
  summary.non_trainable_bytes = count_of(total[5]);
  return summary;
}

SummaryOptions options_of(const json& table) {
  SummaryOptions options;
  if (table.contains("line_length")) options.line_length = table["line_length"].get<int>();
  if (table.contains("columns")) options.terminal_columns = table["columns"].get<int>();
  options.expand_nested = table.value("expand_nested", false);
  options.show_trainable = table.value("show_trainable", false);
  if (table.contains("layer_range")) {
    options.layer_range = report::LayerRange{table["layer_range"][0], table["layer_range"][1]};
  }
  return options;
}

SummaryOptions of_length(int line_length) {
  SummaryOptions options;
  options.line_length = line_length;
  return options;
}

keras::SummaryRow dense(const std::string& name) {
  keras::SummaryRow row;
  row.name = name;
  row.class_name = "Dense";
  row.output_shape_text = "(None, 4)";
  row.output_shapes = {Shape{kUnknown, 4}};
  row.params = row.trainable_params = 20;
  row.trainable = true;
  return row;
}

keras::Summary chain(std::initializer_list<std::string> names) {
  keras::Summary summary;
  summary.name = "model";
  summary.class_name = "Sequential";
  for (const std::string& name : names) summary.rows.push_back(dense(name));
  return summary;
}

std::string error_of(const keras::Summary& summary, const SummaryOptions& options) {
  try {
    (void)render(Format::table, summary, options);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("summary: the table equals Keras's byte for byte") {
  for (const std::string name : {"encoder", "nested", "chain", "unbuilt", "empty", "names"}) {
    const json value = golden(name);
    for (const json& table : value["tables"]) {
      std::string expected;
      for (const json& line : table["text"]) expected += (expected.empty() ? "" : "\n") + line.get<std::string>();
      CAPTURE(name);
      CAPTURE(table.value("line_length", 0));
      CAPTURE(table.value("columns", 0));
      CHECK(render(Format::table, summary_of(value), options_of(table)) == expected);
    }
  }
}

TEST_CASE("summary: a table without a width cuts no name and stays bounded") {
  const json value = golden("names");
  const std::string text = render(Format::table, summary_of(value), {});
  CHECK(text.find("…") == std::string::npos);
  CHECK(text.find(std::string(150, 'x') + " (Dense)") == std::string::npos);  // the name is whole, but the class may
                                                                              // wrap
  CHECK(text.find(std::string(150, 'x')) != std::string::npos);

  const std::string huge = render(Format::table, chain({std::string(100000, 'y'), "small"}), {});
  CHECK(huge.size() < 2000000);
  CHECK(huge.find("…") == std::string::npos);
}

TEST_CASE("summary: a table without a width puts a layer and its class on one line") {
  keras::Summary summary = chain({"multi_head_attention_with_a_name"});
  summary.rows[0].class_name = "MultiHeadAttention";
  CHECK(render(Format::table, summary, {}).find("│ multi_head_attention_with_a_name (MultiHeadAttention) │") !=
        std::string::npos);
}

TEST_CASE("summary: a line length that is too short is a usage error with Keras's message") {
  CHECK(error_of(chain({"a"}), of_length(10)).starts_with("Insufficient console width to print summary"));
  CHECK(error_of(chain({"a"}), of_length(0)).starts_with("Insufficient console width"));
  CHECK(error_of(chain({"a"}), of_length(-80)).starts_with("Insufficient console width"));
  CHECK(error_of(chain({"a"}), of_length(2000000000)) == "the line length 2000000000 is beyond 10000");
}

TEST_CASE("summary: a layer range without a match is a usage error with Keras's message") {
  SummaryOptions options = of_length(80);
  options.layer_range = report::LayerRange{"nothing", "a"};
  CHECK(error_of(chain({"a", "b"}), options) ==
        "Passed layer_names do not match the layer names in the model. Received: ['nothing', 'a']");
  options.layer_range = report::LayerRange{"nothing\u3164", "a"};
  CHECK(error_of(chain({"a", "b"}), options).ends_with("Received: ['nothing\\u3164', 'a']"));
  options.layer_range = report::LayerRange{"(", "a"};
  CHECK(error_of(chain({"a"}), options) == "layer range: '(' is not a regular expression: missing closing parenthesis");
}

TEST_CASE("summary: a layer range accepts Python's regular expressions") {
  const keras::Summary summary = chain({"dense", "dense_1", "größe", "a_a"});
  for (const char* pattern :
       {R"(dense_\d$)", R"((?P<first>dense)_1)", R"(d(?!ense$))", R"(gr\w{3}$)", R"((\w)_\1)", "gr..e"}) {
    CAPTURE(pattern);
    SummaryOptions options = of_length(80);
    options.layer_range = report::LayerRange{pattern, pattern};
    CHECK(error_of(summary, options).empty());
    CHECK(render(Format::table, summary, options).find("dense (") == std::string::npos);
  }
}

TEST_CASE("summary: a layer range matches names of any length") {
  SummaryOptions options = of_length(80);
  for (const std::size_t length : {500, 10000}) {
    options.layer_range = report::LayerRange{"(a|b)*z", "last"};
    CHECK(error_of(chain({std::string(length, 'a'), "last"}), options).starts_with("Passed layer_names"));
    CHECK(error_of(chain({std::string(length, 'a') + "z", "last"}), options).empty());
  }
  options.layer_range = report::LayerRange{".*a.*b.*c", "last"};
  CHECK(error_of(chain({std::string(500, 'a'), "last"}), options).starts_with("Passed layer_names"));
  options.layer_range = report::LayerRange{"aaa", "last"};
  CHECK(error_of(chain({std::string(1000000, 'a'), "last"}), options).empty());
}

TEST_CASE("summary: a layer range with excessive backtracking is a usage error") {
  const auto goes_too_far = [](const std::string& pattern, std::size_t length) {
    SummaryOptions options = of_length(80);
    options.layer_range = report::LayerRange{pattern, "last"};
    return error_of(chain({std::string(length, 'a'), "last"}), options)
        .starts_with("layer range: matching '" + pattern + "' takes too long: ");
  };
  CHECK(goes_too_far("(a+)+[bc]", 50));
  CHECK(goes_too_far("(a|aa)+[bc]", 100));
  CHECK(goes_too_far(".*a.*b.*c", 10000));
  CHECK(goes_too_far("(a|b)*z", 1000000));
}

TEST_CASE("summary: control characters of names are not printed") {
  keras::Summary summary = chain({"a\x1b[31mred\x07\r\n\t", std::string("\0z", 2), "\xff\xfe",
                                  "\xe2\x80\xae"
                                  "rtl",
                                  "\xc2\x9b"});
  summary.sequential_like = false;
  summary.name = "\x1b]0;title\x07";
  summary.class_name = "\x1b[2J";
  summary.rows[1].class_name = "\x1b[2J";
  summary.rows[1].output_shape_text = "\x1b[2J";
  summary.rows[1].connected_to = {"a\x1b[31mred[0][0]", "\xff[0][0]"};
  for (const std::string& text :
       {render(Format::table, summary, {}), render(Format::table, summary, of_length(60)),
        report::render(report::Format::json, summary, {}), report::render(report::Format::markdown, summary, {}),
        report::render(report::Format::csv, summary, {})}) {
    CHECK(is_utf8(text));
    for (const char c : text) {
      const bool newline = c == '\n' || c == '\r';
      CHECK((newline || static_cast<unsigned char>(c) >= 0x20));
    }
    CHECK(text.find("\xc2\x9b") == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  }
}

TEST_CASE("summary: JSON has exact counts, null for unknown sizes, and nested layers inside their parent") {
  keras::Summary summary = chain({"first", "block", "inside", "deeper", "last"});
  summary.rows[1].output_shapes = {Shape{kUnknown, 4}, Shape{kUnknown, 2, 2}};
  summary.rows[2].level = 1;
  summary.rows[3].level = 2;
  summary.rows[4].output_shapes.clear();
  summary.rows[4].connected_to = {"block[0][0]", "block[0][1]"};
  summary.total_params = keras::Count{1} << 80;
  summary.trainable_params = 7;
  summary.total_bytes = 28;
  SummaryOptions options;
  options.expand_nested = true;
  const std::string text = report::render(report::Format::json, summary, options);
  CHECK(text.find("\"total_params\": 1208925819614629174706176,") != std::string::npos);
  CHECK(text.find("\"output_shape\": [null, 4],") != std::string::npos);

  const json value = json::parse(text);
  CHECK(value["schema"] == "attn.summary/1");
  CHECK(value["name"] == "model");
  CHECK(value["class_name"] == "Sequential");
  CHECK(value["trainable_params"] == 7);
  CHECK(value["total_bytes"] == 28);
  REQUIRE(value["layers"].size() == 3);
  const json& layers = value["layers"];
  CHECK(layers[0] == json{{"name", "first"},
                          {"class_name", "Dense"},
                          {"output_shape", {nullptr, 4}},
                          {"params", 20},
                          {"trainable_params", 20},
                          {"connected_to", json::array()}});
  CHECK(layers[1]["output_shape"] == json({{nullptr, 4}, {nullptr, 2, 2}}));
  CHECK(layers[1]["layers"][0]["name"] == "inside");
  CHECK(layers[1]["layers"][0]["layers"][0]["name"] == "deeper");
  CHECK(layers[2]["output_shape"] == nullptr);
  CHECK(layers[2]["connected_to"] == json({"block[0][0]", "block[0][1]"}));

  CHECK(!json::parse(report::render(report::Format::json, summary, {}))["layers"][1].contains("layers"));
}

TEST_CASE("summary: Markdown and CSV stay valid for any names") {
  keras::Summary summary = chain({"a|b", "=1+2", "say \"hi\", you", "[x](http://y)"});
  const std::string markdown = report::render(report::Format::markdown, summary, {});
  CHECK(markdown.find("| a\\|b") != std::string::npos);
  CHECK(markdown.find("[x]\\(http://y)") != std::string::npos);
  const std::string csv = report::render(report::Format::csv, summary, {});
  CHECK(
      csv.starts_with("name,class_name,level,output_shape,params,trainable_params,connected_to\r\n"
                      "a|b,Dense,0,\"(None, 4)\",20,20,\r\n"
                      "'=1+2,Dense,0,\"(None, 4)\",20,20,\r\n"
                      "\"say \"\"hi\"\", you\",Dense,"));
}
