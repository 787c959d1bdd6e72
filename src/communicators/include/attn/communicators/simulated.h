// Ranks that are threads of one process, with links of any speed: for tests, and to simulate a cluster.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attn/communicators/communicator.h"

namespace attn::communicators {

/// Returns the seconds of a collective over `bytes` in total.
using Pricing = std::function<double(Collective, std::int64_t bytes)>;

/// The state shared by the ranks of one world.
class World;
[[nodiscard]] std::shared_ptr<World> make_world(int size);

/// Returns rank `rank` of a world whose other ranks are threads of this process. Numbers are added in double, in rank
/// order, and rounded once. A rank throws if it waits for an ended rank, or beyond its deadline.
[[nodiscard]] std::unique_ptr<Communicator> make_simulated(std::shared_ptr<World> world, int rank);

/// Runs `body` as every rank of a world, each in its own thread. Rethrows the first error in time.
void run_ranks(int size, const std::function<void(Communicator&)>& body);

/// Rank `rank` of `size` without the other ranks, whose contributions are taken to equal this rank's. A collective
/// advances a virtual clock by its price. It predicts the time of a graph on more ranks than this machine has threads.
class SimulatedRank : public Communicator {
 public:
  using Communicator::Communicator;
  /// Returns the virtual clock. Collectives run one after the other. A collective that was begun runs in parallel with
  /// the computation until it is finished.
  [[nodiscard]] virtual double virtual_seconds() const = 0;
  /// Advances the clock by a computation of this duration.
  virtual void compute(double seconds) = 0;
};
[[nodiscard]] std::unique_ptr<SimulatedRank> make_simulated_rank(int rank, int size, Pricing pricing);

}  // namespace attn::communicators
