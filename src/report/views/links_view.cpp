#include "attn/report/links_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

Json link_json(const parallel::Link& link) { return {{"alpha", link.alpha}, {"beta", link.beta}}; }

std::string advice(const LinksReport& report) {
  std::string out;
  if (report.nodes.size() > 1 && static_cast<int>(report.nodes.size()) < report.ranks)
    out +=
        "\nSome ranks share a machine: one rank on each machine measures links between machines, several on one "
        "machine those inside it.\n";
  for (const std::int64_t cores : report.cores)
    if (cores == 1 && report.ranks > 1) {
      out += "\nA rank may run on only one core: mpirun --bind-to none, or --map-by socket:PE=N, gives it more.\n";
      break;
    }
  return out;
}

}  // namespace

Json cluster_json(const parallel::Cluster& cluster) {
  return {{"name", json_text(cluster.name)},
          {"ranks_per_node", cluster.ranks_per_node},
          {"peak", cluster.peak},
          {"share", cluster.share},
          {"memory_bw", cluster.memory_bw},
          {"wire_bytes", cluster.wire_bytes},
          {"inside", link_json(cluster.inside)},
          {"between", link_json(cluster.between)}};
}

std::string links_text(const LinksReport& report) {
  std::string nodes;
  for (const auto& [name, ranks] : report.nodes)
    nodes += fmt::format("{}{} on {}", nodes.empty() ? "" : ", ", ranks, printable(name));
  std::string out = fmt::format("{} ranks of {}, {}: {}\n\n", report.ranks,
                                report.launcher.empty() ? "no launcher" : report.launcher, report.library, nodes);
  Table table{{{"Sum over ranks", Align::right}, {"Time", Align::right}, {"Rate", Align::right}}, {}};
  for (const parallel::MeasuredSum& sum : report.sums)
    table.rows.push_back({byte_size(sum.bytes), duration(sum.seconds),
                          fmt::format("{}/s", byte_size(static_cast<std::int64_t>(static_cast<double>(sum.bytes) /
                                                                                  std::max(sum.seconds, 1e-12))))});
  out += plain_table(table) + advice(report);
  return out + fmt::format("\nFor attn plan --parallel:\n--cluster '{}'\n", cluster_json(report.cluster).dump());
}

Json links_json(const LinksReport& report) {
  Json json;
  json["launcher"] = report.launcher.empty() ? Json(nullptr) : Json(report.launcher);
  json["library"] = report.library;
  json["ranks"] = report.ranks;
  json["nodes"] = Json::array();
  for (const auto& [name, ranks] : report.nodes) json["nodes"].push_back({{"name", json_text(name)}, {"ranks", ranks}});
  json["cores"] = report.cores;
  json["all_reduce"] = Json::array();
  for (const parallel::MeasuredSum& sum : report.sums)
    json["all_reduce"].push_back({{"bytes", sum.bytes}, {"seconds", sum.seconds}});
  json["cluster"] = cluster_json(report.cluster);
  return json;
}

}  // namespace attn::report
