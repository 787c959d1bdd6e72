#include "attn/parallel/links.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "attn/base/tensor.h"

namespace attn::parallel {
namespace {

using communicators::Communicator;
using communicators::Reduction;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

/// Returns rank 0's number on every rank.
double as_rank_0(Communicator& world, double number) {
  world.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

double seconds_of_sum(Communicator& world, std::int64_t bytes) {
  constexpr int kWindows = 7;
  constexpr double kWindow = 5e-3, kMost = 200;
  const Tensor numbers(DType::float32, {bytes / bytes_of(DType::float32)});
  const auto once = [&] {
    const double from = now();
    world.all_reduce(numbers.data(), numbers.data(), numbers.size(), DType::float32, Reduction::sum);
    return now() - from;
  };
  world.barrier();
  static_cast<void>(once());  // the first call establishes connections
  const double first = as_rank_0(world, once());
  const int times = static_cast<int>(std::clamp(kWindow / std::max(first, 1e-9), 1.0, kMost));
  double quietest = 0;
  for (int window = 0; window < kWindows; ++window) {
    std::vector<double> seconds;
    for (int i = 0; i < times; ++i) seconds.push_back(once());
    const double here = median(seconds);
    quietest = window == 0 ? here : std::min(quietest, here);
  }
  return as_rank_0(world, quietest);
}

}  // namespace

std::vector<MeasuredSum> measure_sums(Communicator& world) {
  constexpr std::int64_t kKilo = 1024;
  std::vector<MeasuredSum> sums;
  for (const std::int64_t bytes : {std::int64_t{8}, 4 * kKilo, 256 * kKilo, 2 * kKilo * kKilo, 16 * kKilo * kKilo})
    sums.push_back({bytes, seconds_of_sum(world, bytes)});
  return sums;
}

Cluster cluster_of(const std::vector<MeasuredSum>& sums, const Spread& spread) {
  Cluster cluster;
  cluster.name = "measured";
  cluster.share = 1;
  const int ranks = spread.ranks;
  const double least = sums.front().seconds, most = std::max(sums.back().seconds, 1.001 * least);
  // For a sum of S bytes, each rank sends and receives 2·(p − 1)/p·S bytes.
  const double rate =
      2.0 * (ranks - 1) / ranks * static_cast<double>(sums.back().bytes - sums.front().bytes) / (most - least);
  const double rest = 2.0 * (ranks - 1) / ranks * static_cast<double>(sums.front().bytes) / rate;
  const bool is_inside = spread.nodes == 1;
  cluster.ranks_per_node = is_inside ? ranks : 1;
  // Inside a node a sum has one alpha in total; between nodes each of its messages has one.
  const double tree = 2.0 * std::bit_width(static_cast<unsigned>(ranks - 1));
  const double messages = is_inside ? 1 : std::max(1.0, std::min(2.0 * (ranks - 1), tree));
  cluster.inside = cluster.between = {std::max(0.0, least - rest) / messages, rate};
  return cluster;
}

}  // namespace attn::parallel
