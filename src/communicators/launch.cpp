#include "attn/communicators/launch.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"

namespace attn::communicators {
namespace {

std::optional<int> number_of(std::string_view text) {
  const auto value = parse_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

std::optional<int> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const auto value = number_of(text);
  if (!value)
    throw bad_usage("the environment variable {} is '{}'; expected the number that a launcher sets", name,
                    printable(text));
  return value;
}

struct Row {
  const char *launcher, *rank, *size, *local_rank;
};

// The first complete row counts. Slurm comes after PMI, because srun may set PMI variables too and sets its own in
// every step.
constexpr std::array kRows = {
    Row{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Row{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Row{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    Row{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    Row{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
};

/// Returns whether this is the script of a Slurm job. It has the variables of a task but is not a rank, because srun
/// starts the tasks.
bool is_batch_script(const Row& row) {
  return std::string_view(row.launcher) == "Slurm" && is_set("SLURM_JOB_ID") && !is_set("SLURM_STEP_ID") &&
         !is_set("SLURM_STEPID");
}

}  // namespace

Launch launched() {
  for (const Row& row : kRows) {
    if (!is_set(row.rank) || !is_set(row.size) || is_batch_script(row)) continue;
    const int rank = *variable(row.rank), size = *variable(row.size);
    if (rank >= size)
      throw bad_usage("the environment variables {} and {} give the invalid rank {} of {}", row.rank, row.size, rank,
                      size);
    return {rank, size, variable(row.local_rank).value_or(rank), row.launcher};
  }
  return {};
}

Shard shard_of(std::string_view word, const Launch& launch) {
  Shard outer;
  if (word == "auto") {
    if (const auto index = variable("SLURM_ARRAY_TASK_ID")) {
      const auto count = variable("SLURM_ARRAY_TASK_COUNT");
      if (!count) throw bad_usage("SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT is not");
      outer = {*index - variable("SLURM_ARRAY_TASK_MIN").value_or(0), *count};
      if (outer.index < 0 || outer.index >= outer.count)
        throw bad_usage("the array's task {} is not one of {} in a row: a shard can be named as i/N", *index, *count);
    } else if (const auto completion = variable("JOB_COMPLETION_INDEX")) {
      throw bad_usage(
          "the job has the index {}, but Kubernetes does not pass the number of indices: name the shard {}/N, with N "
          "from spec.completions, or use the schedule 'claim', which needs none",
          *completion, *completion);
    } else if (launch.size == 1) {
      throw bad_usage("no variable gives the shard of this process: name it as i/N, from 0/N on");
    }
  } else {
    const auto slash = word.find('/');
    const auto index = number_of(word.substr(0, slash));
    const auto count = slash == std::string_view::npos ? std::nullopt : number_of(word.substr(slash + 1));
    if (!index || !count || *index >= *count)
      throw bad_usage("the shard '{}': expected i/N with i from 0 to N-1, or auto", printable(word));
    outer = {*index, *count};
  }
  return {outer.index * launch.size + launch.rank, outer.count * launch.size};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return printable(name.data());
}

}  // namespace attn::communicators
