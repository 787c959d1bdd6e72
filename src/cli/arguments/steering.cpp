#include "arguments/steering.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/model.h"
#include "attn/probe/steer.h"

namespace attn::cli {
namespace {

constexpr std::int64_t kMostLayers = 1000;

/// Splits FILE:SCALE. A word that is the path of a file is not split.
std::pair<std::string, double> scaled_file(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string::npos || open::is_file(word)) return {word, 1.0};
  const std::string number = word.substr(colon + 1);
  char* end = nullptr;
  const double scale = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !std::isfinite(scale))
    throw bad_usage("--steer {}: expected FILE or FILE:SCALE", printable(word));
  return {word.substr(0, colon), scale};
}

/// Parses "3" or "3:6" as the points of these layers.
std::vector<std::string> points_of(const std::string& layers) {
  std::vector<int> ends;
  for (const std::string& text : split(layers, ':')) {
    int layer = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), layer);
    if (error != std::errc() || stop != text.data() + text.size())
      throw bad_usage("--steer-layer {}: expected a layer or FIRST:LAST", printable(layers));
    ends.push_back(layer);
  }
  if (ends.size() > 2 || (ends.size() == 2 && ends[0] > ends[1]))
    throw bad_usage("--steer-layer {}: expected a layer or FIRST:LAST", printable(layers));
  if (std::int64_t{ends.back()} - ends.front() >= kMostLayers)
    throw bad_usage("--steer-layer {}: at most {} layers are allowed", printable(layers), kMostLayers);
  std::vector<std::string> out;
  for (std::int64_t layer = ends.front(); layer <= ends.back(); ++layer)
    out.push_back(fmt::format("resid_post.{}", layer));
  return out;
}

}  // namespace

void SteeringWords::declare(Options& options) {
  options
      .add("--steer", files, "FILE[:SCALE]",
           "add a vector of attn probe steer, times a scale, to the residual stream; repeatable")
      .repeatable();
  options.add("--steer-layer", layers, "LAYERS",
              "with --steer: layer, or FIRST:LAST, after which it is added (default the file's)");
  options.add("--steer-from", from, "POSITION", "with --steer: all, last (of the prompt) or a position (default all)");
}

std::function<graph::Graph(graph::Graph)> SteeringWords::edit(std::optional<std::int64_t> last) const {
  if (files.empty()) {
    if (layers) throw bad_usage("--steer-layer requires --steer");
    if (from != "all") throw bad_usage("--steer-from requires --steer");
    return nullptr;
  }
  std::int64_t first = 0;
  if (from == "last") {
    if (!last) throw bad_usage("--steer-from last requires prompts of equal length");
    first = *last;
  } else if (from != "all") {
    const char* end = from.data() + from.size();
    const auto [stop, error] = std::from_chars(from.data(), end, first);
    if (error != std::errc() || stop != end || first < 0)
      throw bad_usage("--steer-from {}: expected all, last or a position from 0 on", printable(from));
  }
  std::vector<probe::Steering> steerings;
  for (const std::string& word : files) {
    const auto [file, scale] = scaled_file(word);
    const std::vector<std::string> points = layers ? points_of(*layers) : std::vector<std::string>{""};
    for (const std::string& point : points) {
      probe::Steering steering = probe::read_steering(file, point.empty() ? std::nullopt : std::optional(point));
      steering.scale = scale;
      steering.from = first;
      steerings.push_back(std::move(steering));
    }
  }
  return [steerings](graph::Graph graph) { return probe::steered(std::move(graph), steerings); };
}

}  // namespace attn::cli
