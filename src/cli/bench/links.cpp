#include "bench/links.h"

#include <algorithm>

#include "attn/backends/registry.h"
#include "attn/run/machine.h"
#include "attn/run/peaks.h"

namespace attn::cli {

report::LinksReport measure_links(Ranks& ranks) {
  communicators::Communicator& world = ranks.world();
  report::LinksReport report;
  report.launcher = ranks.launch().launcher;
  report.library = world.library();
  report.ranks = world.size();
  for (const std::string& name : gather_texts(world, communicators::host_name())) {
    const auto found = std::ranges::find(report.nodes, name, &std::pair<std::string, int>::first);
    if (found == report.nodes.end()) {
      report.nodes.emplace_back(name, 1);
    } else {
      ++found->second;
    }
  }
  for (const double cores : gather_numbers(world, run::cpu_info().cores))
    report.cores.push_back(static_cast<std::int64_t>(cores));
  report.sums = parallel::measure_sums(world);
  report.cluster = parallel::cluster_of(report.sums, {report.ranks, static_cast<int>(report.nodes.size())});
  const backends::MadeBackend made = backends::make_backend("cpu", "onednn");
  world.barrier();
  const run::Peaks peaks = run::measure_peaks(*made.backend, DType::float32, {});
  report.cluster.peak = std::ranges::min(gather_numbers(world, peaks.flops_per_second));
  report.cluster.memory_bw = std::ranges::min(gather_numbers(world, peaks.memory_bytes_per_second));
  return report;
}

}  // namespace attn::cli
