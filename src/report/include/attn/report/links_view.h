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
  std::vector<std::pair<std::string, int>> nodes;  ///< name of each machine and number of its ranks
  std::vector<std::int64_t> cores;                 ///< number of cores that each rank may use, by rank
  std::vector<parallel::MeasuredSum> sums;
  parallel::Cluster cluster;  ///< the measured figures, for --cluster
};

[[nodiscard]] std::string links_text(const LinksReport& report);
[[nodiscard]] Json links_json(const LinksReport& report);
/// Returns the JSON that --cluster reads.
[[nodiscard]] Json cluster_json(const parallel::Cluster& cluster);

}  // namespace attn::report
