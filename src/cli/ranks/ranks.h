// Ranks that run one model together: the options, how they connect, and how they end after an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "attn/backends/backend.h"
#include "attn/base/error.h"
#include "attn/communicators/communicator.h"
#include "attn/communicators/launch.h"
#include "attn/parallel/parallelize.h"
#include "options/options.h"
#include "output/console.h"
#include "ranks/fingerprints.h"

namespace attn::cli {

/// "tensor=4" as a kind and a number of ranks. "tensor=4,data=2" has two groups of four ranks, which split the rows.
/// "none" and "files" have no ParallelWord.
struct ParallelWord {
  parallel::Kind kind = parallel::Kind::tensor;
  std::optional<int> ranks;  ///< ranks in each group
  int groups = 1;
};
/// Parses the value of --parallel; nothing for "none" and "files". Throws Error (usage) for any other word.
[[nodiscard]] std::optional<ParallelWord> parse_parallel(const std::string& word);

/// Adds --parallel, for run, bench and plan.
void add_parallel(Options& options, std::optional<std::string>& word);

struct RanksOptions {
  std::optional<std::string> parallel;
  std::string communicator = "auto";
  double timeout = 60;

  void declare(Options& options);
  /// Returns the parsed --parallel. Throws Error (usage) if --communicator or --timeout is given without --parallel.
  [[nodiscard]] std::optional<ParallelWord> asked() const;
};

/// Throws Error (usage), which names `way_out`, if a launcher started several processes. Each of them would do all of
/// the work, and write the same file.
void expect_one_process(std::string_view way_out);

/// Waits before a usage error is printed. Under a launcher every process has the same error. The launcher ends the
/// other processes when the first one ends, so that only one message appears.
void wait_for_turn() noexcept;

class Ranks {
 public:
  /// Opens the communicator. Throws Error.
  Ranks(const RanksOptions& options, const ParallelWord& word, const Console& console);

  [[nodiscard]] communicators::Communicator& world() { return *world_; }
  [[nodiscard]] const communicators::Launch& launch() const { return launch_; }
  [[nodiscard]] parallel::Kind kind() const { return kind_; }
  /// A group is a run of neighboring ranks that split the model; without groups, all ranks.
  struct Groups {
    int count = 1, group = 0;  ///< the number of groups, and this rank's index
    int rank = 0, ranks = 1;   ///< this rank and the number of ranks, within the group
  };
  [[nodiscard]] Groups groups() const;
  /// Returns the ranks of this group; all ranks if there are no groups yet.
  [[nodiscard]] communicators::Communicator& group() { return inner_ ? *inner_ : *world_; }
  /// Returns the ranks with the same index in other groups; only this one if there is one group.
  [[nodiscard]] communicators::Communicator& across() { return *outer_; }
  /// Returns the numbers, bytes and seconds of this rank's collectives, within its group and across groups.
  [[nodiscard]] communicators::Counts counts();
  void reset_counts();
  /// Returns the device of this rank if `device` is requested on all ranks. If a machine has several GPUs, each rank
  /// gets the one with its local rank. Throws Error (no_device) if there are more ranks than GPUs, unless ranks may
  /// share one.
  [[nodiscard]] std::string device_of(const std::string& device) const;
  /// Sets the device of this rank, while all ranks prepare. If all ranks have a GPU of their own, they then communicate
  /// by NCCL, unless another communicator was requested.
  void runs_on(const backends::Backend& backend);
  /// Returns whether the host knows the time of each collective. On GPUs, collectives are part of a pass and have no
  /// time of their own.
  [[nodiscard]] bool are_timed() const { return !on_gpus_; }
  /// Returns whether this rank prints and writes results: only rank 0 does.
  [[nodiscard]] bool speaks() const { return world_->rank() == 0; }

  /// Calls `prepare` on every rank. If one throws, all ranks end in order with its exit code, and one prints its
  /// message. Then compares the returned fingerprints, and calls `work`. An exception in `work` ends all ranks at once.
  /// Returns the exit code.
  [[nodiscard]] int run_on_ranks(const std::function<std::vector<Fingerprint>()>& prepare,
                                 const std::function<int()>& work);

 private:
  [[nodiscard]] std::optional<Error> first_error(const std::optional<Error>& own);
  [[nodiscard]] std::optional<Error> difference(std::span<const Fingerprint> fingerprints);
  [[nodiscard]] std::optional<Error> join_gpus();
  void form_groups();
  [[nodiscard]] std::string own_name() const;

  const Console& console_;
  communicators::Launch launch_;
  parallel::Kind kind_;
  int count_of_groups_;
  std::string communicator_, gpu_;  // "auto"; "cuda:0", or "" without a GPU
  double timeout_;
  bool on_gpus_ = false;  // whether NCCL transfers data on the GPUs
  std::unique_ptr<communicators::Communicator> world_;
  std::unique_ptr<communicators::Communicator> inner_, outer_;  // destroyed before world_
};

/// Returns `own` of every rank, in rank order, cut at 63 bytes.
[[nodiscard]] std::vector<std::string> gather_texts(communicators::Communicator& world, const std::string& own);
/// Returns `own` of every rank, in rank order.
[[nodiscard]] std::vector<double> gather_numbers(communicators::Communicator& world, double own);

}  // namespace attn::cli
