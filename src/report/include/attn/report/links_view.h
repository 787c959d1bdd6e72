// What was measured between ranks, as text.
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
  std::vector<std::pair<std::string, int>> nodes;  ///< name, and how many ranks it has
  std::vector<std::int64_t> cores;                 ///< by rank: on which it may run
  std::vector<parallel::MeasuredSum> sums;
  parallel::Cluster cluster;  ///< for --cluster
};

[[nodiscard]] std::string links_text(const LinksReport& report);
[[nodiscard]] Json links_json(const LinksReport& report);
/// As --cluster takes it.
[[nodiscard]] Json cluster_json(const parallel::Cluster& cluster);

}  // namespace attn::report
