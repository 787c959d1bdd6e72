#include "parallel_model.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/io/sha256.h"
#include "attn/plan/passes.h"
#include "attn/run/bench.h"
#include "attn/run/inputs.h"

namespace attn::cli {
namespace {

std::string hash_of(const std::string& text) { return io::sha256(std::as_bytes(std::span(text))); }

/// A few numbers of every array: files of other numbers differ there too.
std::string sample_of(std::span<const Tensor> tensors) {
  constexpr std::int64_t kSamples = 64;
  std::string text;
  for (const Tensor& tensor : tensors) {
    const std::int64_t step = std::max<std::int64_t>(1, tensor.size() / kSamples);
    for (std::int64_t i = 0; i < tensor.size(); i += step) {
      const std::int64_t bytes = bytes_of(tensor.dtype());
      text.append(reinterpret_cast<const char*>(tensor.data() + i * bytes), static_cast<std::size_t>(bytes));
    }
  }
  return hash_of(text);
}

}  // namespace

ParallelModel prepare_parallel(const LoadedModel& loaded, const GivenInputs& given, const backends::Backend& backend,
                               const Execution& execution, bool scores, Ranks& ranks, const Console& console) {
  const communicators::Communicator& world = ranks.world();
  keras::LowerOptions lower = lower_options(execution, given);
  lower.scores = scores;
  ParallelModel out;
  out.whole = plan::simplify_einsum(loaded.model.lower(lower));
  out.local = parallel::parallelize(out.whole, ranks.kind(), world.rank(), world.size());
  out.memory_bytes = require_memory(loaded, lower, out.local.graph, backend, execution);
  out.inputs = run::make_inputs(out.whole, given.arrays, execution.seed);
  if (scores && out.whole.scores.empty())
    throw bad_input("{}: the model has no attention layer, so there are no --scores", loaded.file);
  const std::vector<Tensor> all = load_weights(loaded, execution, console);
  out.weights = parallel::local_weights(out.local, all, world.rank());
  out.facts = {{"attn", hash_of(ATTN_VERSION)},
               {"plan", hash_of(graph::print(out.whole))},
               {"weights", sample_of(all)},
               {"inputs", sample_of(out.inputs)}};
  return out;
}

report::ParallelReport parallel_report(Ranks& ranks, const parallel::Parallel& local,
                                       const communicators::Counts& counts, double seconds, int threads) {
  communicators::Communicator& world = ranks.world();
  double waiting = 0;
  for (const auto& [collective, count] : counts) waiting += count.seconds;
  report::ParallelReport report;
  report.kind = parallel::name_of(ranks.kind());
  report.ranks = world.size();
  report.launcher = ranks.launch().launcher;
  report.library = world.library();
  report.split = local.shared;
  for (const auto& [collective, count] : counts)
    report.collectives.push_back(
        {std::string(communicators::name_of(collective)), count.calls, count.bytes, count.seconds, std::nullopt});
  const std::vector<std::string> nodes = gather_texts(world, communicators::host_name());
  const std::vector<double> took = gather_numbers(world, seconds), waited = gather_numbers(world, waiting),
                            peaks = gather_numbers(world, static_cast<double>(run::peak_memory())),
                            teams = gather_numbers(world, threads);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    report.per_rank.push_back({nodes[rank], took[rank], waited[rank], static_cast<std::int64_t>(peaks[rank]),
                               static_cast<std::int64_t>(teams[rank])});
  return report;
}

}  // namespace attn::cli
