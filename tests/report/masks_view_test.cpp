#include "attn/report/masks_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace attn;
using keras::MaskRow;
using keras::MaskTrace;

namespace {

/// An embedding, then attention inside a nested model.
MaskTrace trace_of(const std::string& embedding = "embedding") {
  MaskTrace trace;
  MaskRow made;
  made.name = embedding;
  made.class_name = "Embedding";
  made.inputs = {{"tokens", std::nullopt}};
  made.outputs = {{embedding, Shape{kUnknown, 7}}};
  made.makes = true;
  MaskRow used;
  used.name = "attention";
  used.class_name = "MultiHeadAttention";
  used.level = 1;
  used.call = 2;
  used.inputs = {made.outputs[0], {"other", std::nullopt}};
  used.outputs = {{"attention", Shape{kUnknown, 7}}};
  used.uses = {"query_mask", "value_mask"};
  used.keeps = used.takes_off = true;
  trace.rows = {made, used};
  trace.warnings = {"'a' drops the mask of 'b'"};
  return trace;
}

}  // namespace

TEST_CASE("masks: the table shows the mask of each input, its use and the mask of the output") {
  CHECK(report::render(report::Format::table, "model", trace_of(), true) ==
        "Model: \"model\", its masks\n"
        "\n"
        "Layer (type)                         Masks in      What it does                                             "
        "Masks out\n"
        "───────────────────────────────────  ────────────  ───────────────────────────────────────────────────────  "
        "─────────\n"
        "embedding (Embedding)                -             makes                                                    "
        "(None, 7)\n"
        "└ attention[2] (MultiHeadAttention)  (None, 7), -  uses query_mask, value_mask; keeps; removes input masks  "
        "(None, 7)\n"
        "\n"
        "Warning: 'a' drops the mask of 'b'\n");
}

TEST_CASE("masks: calls inside nested models are shown on request, warnings always") {
  const std::string text = report::render(report::Format::table, "model", trace_of(), false);
  CHECK(text.find("attention[2]") == std::string::npos);
  CHECK(text.find("Warning") != std::string::npos);
  CHECK(report::render(report::Format::csv, "model", trace_of(), false).find("MultiHeadAttention") ==
        std::string::npos);
}

TEST_CASE("masks: JSON has a list of calls and a list of warnings") {
  report::Json summary = report::Json::object();
  report::add_masks(summary, trace_of(), true);
  const auto written = nlohmann::json::parse(report::json_document(summary));
  REQUIRE(written["masks"].size() == 2);
  CHECK(written["masks"][1] == nlohmann::json::parse(R"({
    "name": "attention", "class_name": "MultiHeadAttention", "level": 1, "call": 2,
    "inputs": [{"of": "embedding", "mask": [null, 7]}, {"of": "other", "mask": null}],
    "uses": ["query_mask", "value_mask"], "makes": false, "keeps": true, "merges": false, "drops": false,
    "takes_off": true, "outputs": [{"mask": [null, 7]}]})"));
  CHECK(written["mask_warnings"] == nlohmann::json::parse(R"(["'a' drops the mask of 'b'"])"));
}

TEST_CASE("masks: a hostile name cannot write to the terminal, a page or a cell") {
  const std::string name = "e\x1b[31m\n|<b>,\"";
  for (const std::string& text : {report::render(report::Format::table, name, trace_of(name), true),
                                  report::render(report::Format::markdown, name, trace_of(name), true)}) {
    CAPTURE(text);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("31m\n") == std::string::npos);
  }
  const std::string page = report::render(report::Format::markdown, name, trace_of(name), true);
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find("\\|") != std::string::npos);
  CHECK(report::render(report::Format::csv, "model", trace_of(name), true).find(",\"\"\",Embedding") !=
        std::string::npos);
  report::Json summary = report::Json::object();
  report::add_masks(summary, trace_of(name), true);
  CHECK(nlohmann::json::parse(report::json_document(summary))["masks"][0]["name"] == name);
}
