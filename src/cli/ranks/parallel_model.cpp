#include "ranks/parallel_model.h"

#include <algorithm>
#include <numeric>

#include "attn/base/error.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/plan/passes.h"
#include "attn/run/bench.h"
#include "attn/run/inputs.h"

namespace attn::cli {
ParallelModel prepare_parallel(const open::LoadedModel& loaded, const open::GivenInputs& given,
                               const backends::Backend& backend, const open::Execution& execution, bool scores,
                               Ranks& ranks, const Console& console) {
  const Ranks::Groups groups = ranks.groups();
  keras::LowerOptions lower = open::lower_options(execution, given);
  lower.scores = scores;
  ParallelModel out;
  out.whole = plan::simplify_einsum(loaded.model.lower(lower));
  if (groups.count > 1) out.rows = parallel::rows_of_group(out.whole, groups.group, groups.count);
  const bool shares_model = groups.count == 1 || groups.ranks > 1;
  const graph::Graph& of_group = groups.count > 1 ? out.rows.part.graph : out.whole;
  out.local = shares_model ? parallel::parallelize(of_group, ranks.kind(), groups.rank, groups.ranks) : out.rows.part;
  out.memory_bytes = open::require_memory(loaded, lower, out.local.graph, backend, execution);
  out.inputs = run::make_inputs(out.whole, given.arrays, execution.seed);
  if (scores && out.whole.scores.empty())
    throw bad_input("{}: --scores requires an attention layer, and the model has none", loaded.file);
  const std::vector<Tensor> all = open::load_weights(loaded, execution, console);
  out.weights = groups.count > 1 ? parallel::local_weights(out.rows.part, all, groups.group) : all;
  if (shares_model) out.weights = parallel::local_weights(out.local, out.weights, groups.rank);
  out.fingerprints = {fingerprint_of("attn", ATTN_VERSION), fingerprint_of("plan", graph::print(out.whole)),
                      fingerprint_of("weights", all), fingerprint_of("inputs", out.inputs),
                      fingerprint_of("kind of device", std::string(backend.name()))};
  ranks.runs_on(backend);
  return out;
}

std::vector<NamedTensor> gather_groups(Ranks& ranks, std::vector<NamedTensor> own,
                                       const std::vector<std::vector<Dim>>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    Shape shape = own[i].tensor.shape();
    shape[0] = std::accumulate(rows[i].begin(), rows[i].end(), Dim{0});
    const Tensor whole(own[i].tensor.dtype(), shape);
    std::vector<std::int64_t> bytes;
    for (const Dim count : rows[i]) bytes.push_back(whole.bytes() / shape[0] * count);
    ranks.across().all_gather(own[i].tensor.data(), whole.data(), bytes);
    own[i].tensor = whole;
  }
  return own;
}

report::ParallelReport parallel_report(Ranks& ranks, std::vector<parallel::Shared> split,
                                       const communicators::Counts& counts, double seconds, int threads) {
  communicators::Communicator& world = ranks.world();
  double waiting = 0;
  for (const auto& [collective, count] : counts) waiting += count.seconds;
  const auto measured = [&ranks](double number) {
    return ranks.are_timed() ? std::optional(number) : std::optional<double>();
  };
  report::ParallelReport report;
  report.kind = parallel::name_of(ranks.kind());
  report.ranks = world.size();
  report.data = ranks.groups().count;
  report.launcher = ranks.launch().launcher;
  report.library = world.library();
  report.split = std::move(split);
  for (const auto& [collective, count] : counts)
    report.collectives.push_back({std::string(communicators::name_of(collective)), count.calls, count.bytes,
                                  measured(count.seconds), std::nullopt});
  const std::vector<std::string> nodes = gather_texts(world, communicators::host_name());
  const std::vector<double> took = gather_numbers(world, seconds), waited = gather_numbers(world, waiting),
                            peaks = gather_numbers(world, static_cast<double>(run::peak_memory())),
                            teams = gather_numbers(world, threads);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    report.per_rank.push_back({nodes[rank], took[rank], measured(waited[rank]), static_cast<std::int64_t>(peaks[rank]),
                               static_cast<std::int64_t>(teams[rank])});
  return report;
}

}  // namespace attn::cli
