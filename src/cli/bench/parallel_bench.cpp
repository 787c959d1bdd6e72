#include "bench/parallel_bench.h"

#include <algorithm>
#include <map>

#include "attn/base/error.h"
#include "attn/library/setting.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/parallel/cost.h"
#include "attn/run/verify.h"
#include "ranks/parallel_model.h"

namespace attn::cli {
namespace {

using communicators::Communicator;

/// Broadcasts rank 0's decision whether to run another pass; all ranks return it.
bool broadcast_decision(Communicator& world, bool goes_on) {
  auto word = static_cast<std::byte>(goes_on ? 1 : 0);
  world.broadcast({&word, 1}, 0);
  return word != std::byte{0};
}

/// Runs `pass` on all ranks, as long as rank 0 decides. Returns the seconds of the timed passes.
std::vector<double> measure_on_ranks(Communicator& world, const std::function<void()>& pass,
                                     const run::BenchOptions& options) {
  const run::Clock clock = run::steady_clock();
  const auto timed = [&] {
    const double from = clock();
    pass();
    return clock() - from;
  };
  std::vector<double> seconds;
  if (world.rank() == 0) {
    seconds = run::measure_timed([&] { return broadcast_decision(world, true), timed(); }, options);
    broadcast_decision(world, false);
  } else {
    while (broadcast_decision(world, true)) seconds.push_back(timed());
  }
  return seconds;
}

run::BenchOptions warm_up_of(run::BenchOptions options) {
  options.max_runs = 0;
  return options;
}

run::BenchOptions without_warm_up(run::BenchOptions options) {
  options.warmup_runs = 0;
  options.warmup_seconds = options.max_warmup_seconds = 0;
  return options;
}

std::vector<NamedTensor> copies(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> out;
  for (const NamedTensor& named : tensors) {
    const Tensor copy(named.tensor.dtype(), named.tensor.shape());
    std::copy_n(named.tensor.data(), named.tensor.bytes(), copy.data());
    out.push_back({named.name, copy});
  }
  return out;
}

class SharedBench {
 public:
  SharedBench(const BenchPlan& plan, const backends::Backend& backend, Ranks& ranks,
              report::ParallelBenchReport& report)
      : plan_(plan), backend_(backend), ranks_(ranks), report_(report) {}

  int run(const std::function<const open::LoadedModel&()>& load) {
    return ranks_.run_on_ranks(
        [&] {
          loaded_ = &load();
          model_ = prepare_parallel(*loaded_, plan_.given, backend_, plan_.execution, false, ranks_, *plan_.console);
          return model_.fingerprints;
        },
        [&] {
          measure_shared();
          measure_one_rank();
          const Ranks::Groups groups = ranks_.groups();
          row_.prediction = parallel::predict(model_.whole, ranks_.kind(), groups.ranks, groups.count, report_.cluster);
          report_.rows.push_back(std::move(row_));
          return static_cast<int>(ExitCode::done);
        });
  }

 private:
  void measure_shared() {
    Communicator& world = ranks_.world();
    row_.setting = library::setting_of(*loaded_, model_.whole, backend_, plan_.execution);
    backends::CompileOptions options = plan_.execution.compile_options();
    options.ranks = &ranks_.group();
    run::reset_peak_memory();
    run::Session session(backend_, model_.local.graph, std::move(model_.weights), options);
    std::vector<NamedTensor> outputs;
    const auto pass = [&] {
      session.run(model_.inputs);
      outputs = gather_groups(ranks_, session.outputs(), model_.rows.outputs);
    };
    static_cast<void>(measure_on_ranks(world, pass, warm_up_of(plan_.options)));
    ranks_.reset_counts();
    std::vector<double> seconds = measure_on_ranks(world, pass, without_warm_up(plan_.options));
    communicators::Counts counts = ranks_.counts();
    counts.erase(communicators::Collective::broadcast);  // the broadcasts only sent the decisions
    row_.iterations = static_cast<std::int64_t>(seconds.size());
    double all = 0;
    for (const double each : seconds) all += each;
    row_.parallel = parallel_report(ranks_, model_.local.shared, counts, all, row_.setting.threads);
    per_pass(row_.parallel, row_.iterations);
    // A pass ends when the last rank has finished it.
    auto* const bytes = reinterpret_cast<std::byte*>(seconds.data());
    world.all_reduce(bytes, bytes, row_.iterations, DType::float64, communicators::Reduction::max);
    row_.ms = run::latency_of(seconds);
    if (ranks_.speaks()) outputs_ = copies(outputs);
  }

  /// Divides the counts by the number of passes, and adds the predictions of the cost model.
  void per_pass(report::ParallelReport& report, std::int64_t passes) const {
    const Ranks::Groups groups = ranks_.groups();
    const parallel::Cluster& cluster = report_.cluster;
    std::map<std::string_view, double> predicted;
    for (const parallel::CollectiveCost& cost : parallel::collective_costs(model_.local.graph, cluster, groups.ranks))
      predicted[communicators::name_of(cost.collective)] += cost.seconds;
    if (groups.count > 1)
      for (const parallel::CollectiveCall& gather : parallel::gathers(model_.whole, model_.rows))
        predicted[communicators::name_of(gather.collective)] +=
            parallel::seconds_across(cluster, gather, groups.ranks, groups.count);
    const auto all = static_cast<double>(passes);
    for (report::CollectiveReport& each : report.collectives) {
      each.count /= passes;
      each.bytes /= passes;
      if (each.seconds) *each.seconds /= all;
      if (const auto found = predicted.find(each.op); found != predicted.end()) each.predicted = found->second;
    }
    for (report::RankReport& rank : report.per_rank) {
      rank.seconds /= all;
      if (rank.collective_seconds) *rank.collective_seconds /= all;
    }
  }

  /// Rank 0 measures the whole model. The other ranks get a message for every pass, so that their wait does not time
  /// out.
  void measure_one_rank() {
    Communicator& world = ranks_.world();
    if (!ranks_.speaks()) {
      static_cast<void>(measure_on_ranks(
          world, [] {}, plan_.options));
      return;
    }
    if (!fits_one_rank()) {
      broadcast_decision(world, false);
      return;
    }
    run::Session session(backend_, model_.whole, open::load_weights(*loaded_, plan_.execution, *plan_.console),
                         plan_.execution.compile_options());
    const auto pass = [&] { session.run(model_.inputs); };
    row_.alone_ms = run::latency_of(measure_on_ranks(world, pass, plan_.options));
    row_.difference = 0;
    const std::vector<NamedTensor> expected = session.outputs();
    for (std::size_t i = 0; i < expected.size(); ++i)
      row_.difference = std::max(*row_.difference, run::relative_error(expected[i].tensor, outputs_[i].tensor));
  }

  [[nodiscard]] bool fits_one_rank() const {
    try {
      static_cast<void>(open::require_memory(*loaded_, open::lower_options(plan_.execution, plan_.given), model_.whole,
                                             backend_, plan_.execution));
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::no_memory) throw;
      return false;
    }
  }

  const BenchPlan& plan_;
  const backends::Backend& backend_;
  Ranks& ranks_;
  report::ParallelBenchReport& report_;
  const open::LoadedModel* loaded_ = nullptr;
  ParallelModel model_;
  report::ParallelBenchRow row_;
  std::vector<NamedTensor> outputs_;
};

}  // namespace

int measure_shared(const BenchPlan& plan, const std::function<const open::LoadedModel&()>& load,
                   const backends::Backend& backend, Ranks& ranks, report::ParallelBenchReport& report) {
  return SharedBench(plan, backend, ranks, report).run(load);
}

}  // namespace attn::cli
