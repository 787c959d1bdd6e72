// attn plan: steps and their memory, as text, JSON and a picture.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "../text.h"
#include "attn/base/text.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// With a tolerance for the rounding of numbers in a picture.
bool overlap(const Box& a, const Box& b, double slack) {
  return a.left < b.right - slack && b.left < a.right - slack && a.top < b.bottom - slack && b.top < a.bottom - slack;
}

int overlaps(const std::vector<Box>& boxes, double slack) {
  int count = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) count += overlap(boxes[i], boxes[j], slack) ? 1 : 0;
  return count;
}

/// The memory in the arena as boxes: offsets across, steps down.
std::vector<Box> boxes_of(const json& plan) {
  std::vector<Box> out;
  const auto steps = plan["steps"].size();
  for (const json& step : plan["steps"]) {
    for (const json& result : step["results"]) {
      if (!result["in_place_of"].is_null()) continue;
      const double offset = result["offset"].get<double>();
      const double last =
          result["last_read"].is_null() ? static_cast<double>(steps) : result["last_read"].get<double>();
      out.push_back({offset, step["step"].get<double>(), offset + result["bytes"].get<double>(), last + 1});
    }
  }
  return out;
}

std::vector<Box> boxes_of_svg(const std::string& svg) {
  static const std::regex kRect(R"re(</title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>)re");
  std::vector<Box> out;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), kRect); it != std::sregex_iterator(); ++it) {
    const auto part = [&](std::size_t i) { return std::stod((*it)[i]); };
    out.push_back({part(1), part(2), part(1) + part(3), part(2) + part(4)});
  }
  return out;
}

TEST_CASE("plan: results that are live at one time do not overlap, in JSON and in the picture") {
  for (const std::vector<std::string>& model : std::vector<std::vector<std::string>>{
           {},
           {"configs/bert_base.json", "--seq-len", "16"},
           {"configs/encoder_decoder.json", "--batch-size", "2", "--dtype", "bfloat16"},
           {"configs/lstm_attention.json", "--backend", "reference"},
           {fixture("model/encoder_decoder/model.json"), "--seq-len", "6"}}) {
    CAPTURE(join(model, " "));
    std::vector<std::string> words = {"plan"};
    words.insert(words.end(), model.begin(), model.end());
    const auto as = [&](const char* form) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--format", form});
      const Result result = run_attn(all);
      CHECK(result.code == 0);
      return result.out;
    };
    const json plan = json::parse(as("json"));
    const std::vector<Box> boxes = boxes_of(plan);
    CHECK(boxes.size() > 3);
    CHECK(overlaps(boxes, 0) == 0);
    double end = 0, sum = 0;
    for (const Box& box : boxes) end = std::max(end, box.right);
    for (const json& step : plan["steps"])
      for (const json& result : step["results"]) sum += result["bytes"].get<double>();
    const json& arena = plan["arena"];
    CHECK(arena["bytes"].get<double>() >= end);
    CHECK(arena["bytes"].get<double>() < end + 64);  // rounded up to the alignment
    CHECK(arena["unshared_bytes"] == sum);
    const json& peak = plan["steps"].at(arena["peak_step"].get<std::size_t>());
    CHECK(peak["live_bytes"] == arena["peak_bytes"]);
    for (const json& step : plan["steps"]) CHECK(step["live_bytes"] <= arena["peak_bytes"]);
    CHECK(arena["peak_bytes"] <= arena["bytes"]);

    const std::vector<Box> drawn = boxes_of_svg(as("svg"));
    CHECK(drawn.size() == boxes.size());
    CHECK(overlaps(drawn, 0.02) == 0);
  }
}

TEST_CASE("plan: the effects of graph passes and overwritten results are shown") {
  const Result text = run_attn({"plan"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "linear + relu"));
  CHECK(contains(text.out, "linear + residual"));
  CHECK(contains(text.out, "layers without a step of their own: "));
  CHECK(contains(text.out, "dropout_1 (Dropout)"));
  CHECK(contains(text.out, "The arena from 0 to "));
  CHECK(contains(text.out, " ← peak\n"));
  const json plan = json::parse(run_attn({"plan", "--json"}).out);
  CHECK(plan["operations"]["fused_activations"] == 1);
  CHECK(plan["operations"]["fused_sums"] == 2);
  std::set<std::string> idle;
  for (const json& layer : plan["idle_layers"]) idle.insert(layer["class_name"]);
  CHECK(idle == std::set<std::string>{"Add", "Dropout"});

  // The reference backend runs the lowered graph without fusion.
  const json plain = json::parse(run_attn({"plan", "--backend", "reference", "--json"}).out);
  CHECK(plain["operations"]["fused_activations"] == 0);
  CHECK(plain["steps"].size() > plan["steps"].size());
}

TEST_CASE("plan: a larger batch has larger results, and kernels are named on request") {
  const auto arena = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json::parse(run_attn(words).out)["arena"]["bytes"].get<std::int64_t>();
  };
  CHECK(arena({"--batch-size", "4"}) == 4 * arena({}));
  const json plan = json::parse(run_attn({"plan", "--kernels", "--json"}).out);
  for (const json& step : plan["steps"]) CHECK_FALSE(step["kernel"].get<std::string>().empty());
  CHECK(contains(run_attn({"plan", "--kernels"}).out, "Kernel"));
}

TEST_CASE("plan: the picture fits the terminal, and is ASCII on request") {
  const Result narrow = run_on_terminal({"plan", "--ascii"}, 60);
  CHECK(narrow.code == 0);
  const auto from = narrow.out.find("The arena from 0");
  REQUIRE(from != std::string::npos);
  const std::vector<std::string> lines = split(narrow.out.substr(from), '\n');
  for (std::size_t i = 1; i < lines.size(); ++i) CHECK(lines[i].size() <= 61);  // including the terminal's CR
  for (const char letter : narrow.out) CHECK(static_cast<unsigned char>(letter) < 0x80);
  CHECK(contains(narrow.out, "#"));
  const TemporaryFolder folder;
  CHECK(run_attn({"plan", "-o", folder / "plan.svg"}).code == 0);
  CHECK(read_text(folder / "plan.svg").rfind("<svg ", 0) == 0);
  const Result odd = run_attn({"plan", "-o", folder / "plan.pdf"});
  CHECK(odd.code == 2);
  CHECK(contains(odd.err, ".svg, .json, .txt"));
}

TEST_CASE("plan: a model without operations has no steps") {
  const Result result = run_attn({"plan", "-"}, R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}},
    {"class_name": "Dropout", "config": {"name": "d", "rate": 0.5}}]}})");
  CHECK(result.code == 0);
  CHECK(contains(result.out, "0 steps after optimization"));
}

}  // namespace
}  // namespace attn::test
