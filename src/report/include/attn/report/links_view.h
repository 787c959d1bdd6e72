// Measured links between ranks, as text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attn/parallel/links.h"
#include "attn/report/json.h"

namespace attn::report {

struct LinksReport {
  std::string launcher, library;
  int ranks = 1;
  std::vector<std::pair<std::string, int>> nodes;  ///< name and number of ranks
  std::vector<std::int64_t> cores;                 ///< by rank: the cores that it may use
  std::vector<parallel::MeasuredSum> sums;
  parallel::Cluster cluster;  ///< for --cluster
};

[[nodiscard]] std::string links_text(const LinksReport& report);
[[nodiscard]] Json links_json(const LinksReport& report);
/// Returns the format that --cluster reads.
[[nodiscard]] Json cluster_json(const parallel::Cluster& cluster);

}  // namespace attn::report
