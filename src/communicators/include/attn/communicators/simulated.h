// Ranks that are threads of one process, with links as fast as one likes: for tests, and for what a cluster would take.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attn/communicators/communicator.h"

namespace attn::communicators {

/// Seconds that a collective of so many bytes in all takes.
using Pricing = std::function<double(Collective, std::int64_t bytes)>;

/// What the ranks of one world share.
class World;
[[nodiscard]] std::shared_ptr<World> make_world(int size);

/// Rank `rank` of a world whose other ranks are threads of this process. Numbers are added in double, in the order of
/// ranks, and rounded once. One that waits for a rank that has ended, or longer than its deadline, throws.
[[nodiscard]] std::unique_ptr<Communicator> make_simulated(std::shared_ptr<World> world, int rank);

/// Runs `body` as every rank of a world, each in a thread of its own, and rethrows the error of the lowest rank that
/// failed by itself.
void run_ranks(int size, const std::function<void(Communicator&)>& body);

/// Rank `rank` of `size` of which no other is there: what they would give is what this one gives, and a collective
/// moves a clock of its own on by what it is priced. For the time of a graph on more ranks than there are threads.
class Alone : public Communicator {
 public:
  using Communicator::Communicator;
  /// Of the collectives so far, one behind the other, and of what the rank has computed beside those that it began.
  [[nodiscard]] virtual double virtual_seconds() const = 0;
  /// The rank computes for so long.
  virtual void compute(double seconds) = 0;
};
[[nodiscard]] std::unique_ptr<Alone> make_alone(int rank, int size, Pricing pricing);

}  // namespace attn::communicators
