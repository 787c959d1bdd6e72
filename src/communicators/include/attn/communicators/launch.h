// Which of how many processes this one is, as the launcher says in variables: no library is asked, and none is needed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::communicators {

/// The place of a process among those that were started together.
struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0;    ///< among those of this machine; `rank` where the launcher does not say
  std::string launcher;  ///< "Open MPI", "PMI", "Slurm", "torchrun"; "" for one that stands alone
};

/// By the variables of mpirun (Open MPI), of hydra and others with PMI (MPICH, Intel MPI), of srun, of torchrun. Throws
/// Error (usage) for a variable that is no number or a rank that is not below the size.
[[nodiscard]] Launch launched();

/// One part of work that is shared out: number `index` of `count`.
struct Shard {
  int index = 0, count = 1;
};

/// "2/8" as a shard; "auto" as the index of a Slurm array's task or of an indexed Kubernetes job, each of whose
/// processes may be several by `launch`. Throws Error (usage) for another word, and where nothing tells the index or
/// the count.
[[nodiscard]] Shard shard_of(std::string_view word, const Launch& launch);

/// The name of this machine, as messages and claims have it.
[[nodiscard]] std::string host_name();

}  // namespace attn::communicators
