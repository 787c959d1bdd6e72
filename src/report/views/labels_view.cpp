#include "views/labels_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

constexpr std::size_t kRowsOfImage = 20;   // rows of an image in the table
constexpr std::size_t kLongestText = 100;  // bytes

/// Returns the numbers of the texts, with the highest probability first.
std::vector<std::size_t> ranked(const std::vector<double>& probabilities) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  return order;
}

}  // namespace

std::string labels_text(const LabelsReport& labels) {
  Table table{{{"Image"}, {"Text"}, {"Probability", Align::right}}, {}};
  for (std::size_t image = 0; image < labels.images.size(); ++image) {
    const std::vector<double>& row = labels.probabilities[image];
    std::string name = labels.images[image];
    for (const std::size_t text : ranked(row)) {
      if (table.rows.size() == (image + 1) * kRowsOfImage) break;
      table.rows.push_back({name, shortened(labels.texts[text], kLongestText), number(row[text])});
      name.clear();
    }
  }
  std::string out = plain_table(table) + '\n';
  if (labels.texts.size() > kRowsOfImage)
    out += fmt::format("{} of {} texts for each image; --json has all\n", kRowsOfImage,
                       with_commas(std::ssize(labels.texts)));
  if (labels.is_independent) out += "the probabilities are independent, and do not add up to 1\n";
  return out;
}

Json labels_json(const LabelsReport& labels) {
  Json json;
  json["activation"] = labels.is_independent ? "sigmoid" : "softmax";
  json["texts"] = Json::array();
  for (const std::string& text : labels.texts) json["texts"].push_back(json_text(text));
  json["images"] = Json::array();
  for (std::size_t image = 0; image < labels.images.size(); ++image)
    json["images"].push_back(
        {{"image", json_text(labels.images[image])}, {"probabilities", labels.probabilities[image]}});
  return json;
}

}  // namespace attn::report
