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
#include "ranks/facts.h"

namespace attn::cli {

/// "tensor=4" as a kind and a number of ranks; nothing for "none" and "files". "tensor=4,data=2": two groups of four
/// ranks, which split the rows.
struct ParallelWord {
  parallel::Kind kind = parallel::Kind::tensor;
  std::optional<int> ranks;  ///< of a group
  int groups = 1;
};
/// Throws Error (usage) for another word.
[[nodiscard]] std::optional<ParallelWord> parse_parallel(const std::string& word);

/// Adds --parallel, for run, bench and plan.
void add_parallel(Options& options, std::optional<std::string>& word);

struct RanksOptions {
  std::optional<std::string> parallel;
  std::string communicator = "auto";
  double timeout = 60;

  void declare(Options& options);
  /// Throws Error (usage) if --communicator or --timeout is given without ranks.
  [[nodiscard]] std::optional<ParallelWord> asked() const;
};

/// Throws Error (usage), which names `way_out`, if several processes were started together: each would do all of the
/// same work, and write the same file.
void expect_one_process(std::string_view way_out);

/// Called before a usage error is printed: under a launcher it is an error of every process, and the launcher ends the
/// others when the first one ends, so they wait here for that.
void wait_for_turn() noexcept;

class Ranks {
 public:
  /// Opens the communicator. Throws Error.
  Ranks(const RanksOptions& options, const ParallelWord& word, const Console& console);

  [[nodiscard]] communicators::Communicator& world() { return *world_; }
  [[nodiscard]] const communicators::Launch& launch() const { return launch_; }
  [[nodiscard]] parallel::Kind kind() const { return kind_; }
  /// Neighbouring ranks that split the model: all of them if there is one group.
  struct Groups {
    int count = 1, group = 0;  ///< the number of groups, and this rank's index
    int rank = 0, ranks = 1;   ///< within the group
  };
  [[nodiscard]] Groups groups() const;
  /// Returns the ranks of this group; all ranks if there are no groups yet.
  [[nodiscard]] communicators::Communicator& group() { return inner_ ? *inner_ : *world_; }
  /// Returns the ranks with the same index in other groups; only this one if there is one group.
  [[nodiscard]] communicators::Communicator& across() { return *outer_; }
  /// Returns the counts of this rank in its group and across groups.
  [[nodiscard]] communicators::Counts counts();
  void reset_counts();
  /// Returns the device of this rank if all get `device`: of several GPUs the one of its number on its machine. Throws
  /// Error (no_device) if there are more ranks than GPUs, unless they may share one.
  [[nodiscard]] std::string device_of(const std::string& device) const;
  /// Reports the device of this rank while all prepare. Ranks with a GPU each communicate by NCCL from then on, unless
  /// another communicator was requested.
  void runs_on(const backends::Backend& backend);
  /// The time of collectives is known on the host; on GPUs they are parts of passes.
  [[nodiscard]] bool are_timed() const { return !on_gpus_; }
  /// Only one of the ranks prints and writes results.
  [[nodiscard]] bool speaks() const { return world_->rank() == 0; }

  /// Calls `prepare` on every rank; if one throws, all end in order with its exit code, and one prints its message.
  /// Then compares the returned facts, and calls `work`; an exception there ends all ranks at once. Returns the exit
  /// code.
  [[nodiscard]] int together(const std::function<std::vector<Fact>()>& prepare, const std::function<int()>& work);

 private:
  [[nodiscard]] std::optional<Error> first_error(const std::optional<Error>& own);
  [[nodiscard]] std::optional<Error> difference(std::span<const Fact> facts);
  [[nodiscard]] std::optional<Error> join_gpus();
  void form_groups();
  [[nodiscard]] std::string own_name() const;

  const Console& console_;
  communicators::Launch launch_;
  parallel::Kind kind_;
  int count_of_groups_;
  std::string communicator_, gpu_;  // "auto"; "cuda:0", "" for none
  double timeout_;
  bool on_gpus_ = false;  // NCCL transfers data on the GPUs
  std::unique_ptr<communicators::Communicator> world_;
  std::unique_ptr<communicators::Communicator> inner_, outer_;  // destroyed before world_
};

/// Returns `own` of every rank, by rank, cut at 63 bytes.
[[nodiscard]] std::vector<std::string> gather_texts(communicators::Communicator& world, const std::string& own);
/// Returns `own` of every rank, by rank.
[[nodiscard]] std::vector<double> gather_numbers(communicators::Communicator& world, double own);

}  // namespace attn::cli
