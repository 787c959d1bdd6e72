// Options that steer a decoder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "options/options.h"

namespace attn::cli {

/// The values of --steer, --steer-layer and --steer-from.
struct SteeringWords {
  std::vector<std::string> files;  ///< FILE or FILE:SCALE
  std::optional<std::string> layers;
  std::string from = "all";

  void declare(Options& options);
  /// Returns a function that adds the vectors to the graph of a decode step; empty without --steer. `last` is the last
  /// position of the prompts, if they have the same length. Throws Error.
  [[nodiscard]] std::function<graph::Graph(graph::Graph)> edit(std::optional<std::int64_t> last) const;
};

}  // namespace attn::cli
