// Ranks that run one model together: the options, how they meet, and how they end when one fails.
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
/// ranks, which share the rows.
struct ParallelWord {
  parallel::Kind kind = parallel::Kind::tensor;
  std::optional<int> ranks;  ///< of a group
  int groups = 1;
};
/// Throws Error (usage) for another word.
[[nodiscard]] std::optional<ParallelWord> parse_parallel(const std::string& word);

/// --parallel, as run, bench and plan have it.
void add_parallel(Options& options, std::optional<std::string>& word);

struct RanksOptions {
  std::optional<std::string> parallel;
  std::string communicator = "auto";
  double timeout = 60;

  void declare(Options& options);
  /// Throws Error (usage) where --communicator or --timeout is given without ranks.
  [[nodiscard]] std::optional<ParallelWord> asked() const;
};

/// Processes that were started together would each do all of the same work, and write the same file: that is an error
/// (usage), which names `way_out`.
void expect_one_process(std::string_view way_out);

/// To be called before an error of usage is told: where a launcher started several processes, it is an error of each,
/// and the first to end has the launcher end the others, which wait for that here.
void wait_for_turn() noexcept;

class Ranks {
 public:
  /// Opens the communicator. Throws Error.
  Ranks(const RanksOptions& options, const ParallelWord& word, const Console& console);

  [[nodiscard]] communicators::Communicator& world() { return *world_; }
  [[nodiscard]] const communicators::Launch& launch() const { return launch_; }
  [[nodiscard]] parallel::Kind kind() const { return kind_; }
  /// Ranks that share the model, which are neighbours: all of them, where there is one group.
  struct Groups {
    int count = 1, group = 0;  ///< of groups, and this rank's
    int rank = 0, ranks = 1;   ///< in the group
  };
  [[nodiscard]] Groups groups() const;
  /// The ranks of this group; once all work together.
  [[nodiscard]] communicators::Communicator& group() { return inner_ ? *inner_ : *world_; }
  /// Those of the same place in other groups; this one alone where there is one group.
  [[nodiscard]] communicators::Communicator& across() { return *outer_; }
  /// What this rank has counted in its group and across groups.
  [[nodiscard]] communicators::Counts counts();
  void reset_counts();
  /// The device that this rank takes where all are told `device`: of several GPUs the one of its number on its machine.
  /// Throws Error (no_device) where there are more ranks than GPUs, and they may not share one.
  [[nodiscard]] std::string device_of(const std::string& device) const;
  /// Says, while all prepare, on what this rank runs. Ranks with a GPU each meet by NCCL from then on, unless another
  /// communicator was asked for.
  void runs_on(const backends::Backend& backend);
  /// What collectives take is known of those on the host; those on GPUs are parts of passes.
  [[nodiscard]] bool are_timed() const { return !on_gpus_; }
  /// One of the ranks writes results.
  [[nodiscard]] bool speaks() const { return world_->rank() == 0; }

  /// Does `prepare` on every rank; where one throws, all end in order with its exit code, and one tells its sentence.
  /// Then compares the facts that it gave, and does `work`, in which one that throws ends all at once. Gives the exit
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
  bool on_gpus_ = false;  // NCCL carries what is there
  std::unique_ptr<communicators::Communicator> world_;
  std::unique_ptr<communicators::Communicator> inner_, outer_;  // end before it
};

/// What `give` is on every rank, by rank, of texts up to 64 bytes.
[[nodiscard]] std::vector<std::string> gather_texts(communicators::Communicator& world, const std::string& own);
/// The same of numbers.
[[nodiscard]] std::vector<double> gather_numbers(communicators::Communicator& world, double own);

}  // namespace attn::cli
