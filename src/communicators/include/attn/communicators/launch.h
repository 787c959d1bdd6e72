// This process's rank and the number of processes, from the launcher's environment variables, without a library.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::communicators {

/// The position of a process among those started together.
struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0;    ///< rank within this machine; equals `rank` if the launcher does not set it
  std::string launcher;  ///< "Open MPI", "PMI", "Slurm", "torchrun"; "" for a process started without one
};

/// Reads the variables of mpirun (Open MPI), of hydra and other PMI launchers (MPICH, Intel MPI), of srun, and of
/// torchrun. Throws Error (usage) if a variable is not a number, or the rank is not below the size.
[[nodiscard]] Launch launched();

/// One shard of a work list: number `index` of `count`.
struct Shard {
  int index = 0, count = 1;
};

/// Parses "2/8". "auto" is the index of a Slurm array task or of an indexed Kubernetes job; if such a task has several
/// processes, their ranks in `launch` divide its shard. Throws Error (usage) for any other word, and if the index or
/// the count is unknown.
[[nodiscard]] Shard shard_of(std::string_view word, const Launch& launch);

/// Returns this machine's name, for messages and claims.
[[nodiscard]] std::string host_name();

}  // namespace attn::communicators
