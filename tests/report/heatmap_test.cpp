#include "attn/report/heatmap.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <random>

#include "../text.h"
#include "drawing/deflate.h"
#include "drawing/page.h"
#include "drawing/png.h"
#include "drawing/ramp.h"

using namespace attn;
using nlohmann::json;
using report::HeatmapReport;
using report::Ink;

namespace {

using attn::test::contains;

const std::string kHostile = "\x1b[31m\xc2\x9b\xe2\x80\xae</script><script>pwned = 1</script>]]>\"'<!--";

std::string inflated(const std::string& packed, std::size_t size) {
  std::string out(size, '\0');
  uLongf length = size;
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(out.data()), &length, reinterpret_cast<const Bytef*>(packed.data()),
                     packed.size()) == Z_OK);
  REQUIRE(length == size);
  return out;
}

std::string from_base64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(letters.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

/// The text between two markers of a page.
std::string between(const std::string& page, const std::string& from, const std::string& to) {
  const std::size_t at = page.find(from) + from.size();
  return page.substr(at, page.find(to, at) - at);
}

HeatmapReport example(std::int64_t side, int heads, int layers) {
  HeatmapReport out;
  out.setting.model = kHostile;
  out.setting.device = "cpu";
  out.inputs.push_back({kHostile, "float32", {1, side, 8}, "random"});
  std::mt19937 random(1);
  for (int l = 0; l < layers; ++l) {
    run::LayerMap layer;
    layer.name = kHostile;
    layer.index = l;
    layer.queries = layer.keys = layer.rows = layer.columns = side;
    for (int h = 0; h < heads; ++h) {
      run::HeadMap head;
      head.head = h;
      for (std::int64_t i = 0; i < side * side; ++i) head.cells.push_back(static_cast<float>(random() % 1000) / 1000);
      layer.heads.push_back(std::move(head));
    }
    out.layers.push_back(std::move(layer));
  }
  out.labels[side] = std::vector<std::string>(static_cast<std::size_t>(side), kHostile);
  return out;
}

}  // namespace

TEST_CASE("heatmap: hostile names and labels stay text in every form") {
  const HeatmapReport report = example(4, 2, 2);
  const std::string html = report::render(report::Format::html, report, {});
  HeatmapReport alone = example(4, 1, 1);
  for (const std::string& text :
       {html, report::render(report::Format::svg, report, {}), report::render(report::Format::svg, alone, {}),
        report::render(report::Format::json, report, {}),
        report::render(report::Format::table, report, {Ink::shade, 80})}) {
    CHECK_FALSE(contains(text, "\x1b"));
    CHECK_FALSE(contains(text, "\xc2\x9b"));
    CHECK_FALSE(contains(text, "\xe2\x80\xae"));
  }
  for (const std::string& text :
       {html, report::render(report::Format::svg, report, {}), report::render(report::Format::svg, alone, {})}) {
    CHECK_FALSE(contains(text, "<script>pwned"));
    CHECK_FALSE(contains(text, "]]>\""));
  }
  // The page's JSON can be parsed, and contains the names, made printable.
  const json data = json::parse(between(html, "id=\"data\">", "</script>"));
  CHECK(contains(data["sections"][0]["layers"][1]["name"], "</script><script>pwned = 1</script>]]>\"'<!--"));
}

TEST_CASE("heatmap: a page's weights are exact to half a level") {
  const HeatmapReport report = example(30, 3, 2);
  const std::string html = report::render(report::Format::html, report, {});
  const json section = json::parse(between(html, "id=\"data\">", "</script>"))["sections"][0];
  REQUIRE(section["bits"] == 16);
  const std::string levels = inflated(from_base64(between(html, "id=\"payload-0\">", "<")), 2 * 30 * 30 * 3 * 2);
  std::size_t at = 0;
  double worst = 0;
  for (std::size_t l = 0; l < 2; ++l)
    for (std::size_t h = 0; h < 3; ++h) {
      const double scale = section["layers"][l]["heads"][h]["scale"];
      for (const float cell : report.layers[l].heads[h].cells) {
        const int level = static_cast<unsigned char>(levels[at]) | static_cast<unsigned char>(levels[at + 1]) << 8;
        at += 2;
        worst = std::max(worst, std::abs(scale * (level / 65535.0) * (level / 65535.0) - cell));
      }
    }
  // Half a level is 1/131070 of a square root, which is twice as much for a weight of 1.
  CHECK(worst < 2.0 / 131070 * 1.01);
}

TEST_CASE("heatmap: a page with the maximum number of cells is smaller than 5 MB") {
  const HeatmapReport report = example(151, 12, 12);  // 12 × 12 × 151 × 151 = 3,283,344
  const std::string html = report::render(report::Format::html, report, {});
  CHECK(html.size() < 5'000'000);
  CHECK(contains(html, "rounded to 255 levels"));
}

TEST_CASE("heatmap: a page may run only its own scripts, and load nothing") {
  const std::string html = report::render(report::Format::html, example(4, 1, 1), {});
  const std::string policy = between(html, "Content-Security-Policy\" content=\"", "\"");
  CHECK(policy.rfind("default-src 'none'; script-src 'sha256-", 0) == 0);
  CHECK_FALSE(contains(policy, "unsafe"));
  CHECK_FALSE(contains(policy, "http"));
  for (const char* part : {" src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "eval("})
    CHECK_FALSE(contains(html, part));
}

TEST_CASE("heatmap: a PNG reads back to its pixels") {
  report::Image image{2, 1, {{1, 2, 3}, {250, 251, 252}}};
  const std::string file = report::png(image);
  CHECK(file.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  std::vector<std::string> kinds;
  std::string pixels;
  for (std::size_t at = 8; at < file.size();) {
    const auto number = [&](std::size_t i) {
      std::uint32_t value = 0;
      for (std::size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(file[i + k]);
      return value;
    };
    const std::size_t length = number(at);
    kinds.push_back(file.substr(at + 4, 4));
    const auto* checked = reinterpret_cast<const Bytef*>(file.data() + at + 4);
    CHECK(crc32(0, checked, static_cast<uInt>(length + 4)) == number(at + 8 + length));
    if (kinds.back() == "IDAT") pixels = inflated(file.substr(at + 8, length), 7);
    at += 12 + length;
  }
  CHECK(kinds == std::vector<std::string>{"IHDR", "IDAT", "IEND"});
  CHECK(pixels == std::string("\0\x01\x02\x03\xfa\xfb\xfc", 7));
}

TEST_CASE("heatmap: base64, colors and shades are right at their limits") {
  CHECK(report::base64("") == "");
  CHECK(report::base64("f") == "Zg==");
  CHECK(report::base64("fo") == "Zm8=");
  CHECK(report::base64("foo") == "Zm9v");
  CHECK(report::base64("\xff\xfe\xfd\xfc") == "//79/A==");
  CHECK(report::color_at(report::kLightRamp, 0) == report::Color{255, 255, 255});
  CHECK(report::color_at(report::kLightRamp, 1) == report::Color{0x10, 0x30, 0x5f});
  CHECK(report::shade_of(0.5, 1, false) == 0.5);
  CHECK(report::shade_of(0.01, 1, true) == doctest::Approx(0.5));
  CHECK(report::shade_of(1e-9, 1, true) == 0);
  CHECK(report::shade_of(0, 0, false) == 0);
}

TEST_CASE("heatmap: the preview keeps to its columns and inks") {
  HeatmapReport report = example(8, 3, 1);
  report.setting.model = report.layers[0].name = report.inputs[0].name = "m";
  const std::string ascii = report::render(report::Format::table, report, {Ink::ascii, 40});
  for (const char c : between(ascii, "largest\n", "\x01")) CHECK(static_cast<unsigned char>(c) < 0x80);
  CHECK(contains(ascii, "head 0            head 1\n"));
  CHECK(contains(ascii, "head 2\n"));
  CHECK(contains(report::render(report::Format::table, report, {Ink::color, 40}), "▀"));
  CHECK(contains(report::render(report::Format::table, report, {Ink::shade, 40}), "██"));
}
