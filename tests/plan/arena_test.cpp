#include "arena.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/size.h"
#include "attn/base/tensor.h"

using namespace attn;
using namespace attn::plan;

namespace {

void check_apart(const std::vector<Lifetime>& lifetimes, const Placement& placement) {
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    REQUIRE(placement.offsets[i] % static_cast<std::int64_t>(kAlignment) == 0);
    REQUIRE(placement.offsets[i] >= 0);
    REQUIRE(placement.offsets[i] + lifetimes[i].bytes <= placement.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool same_time = lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
      const bool same_place = placement.offsets[i] < placement.offsets[j] + lifetimes[j].bytes &&
                              placement.offsets[j] < placement.offsets[i] + lifetimes[i].bytes;
      REQUIRE_FALSE((same_time && same_place && lifetimes[i].bytes > 0 && lifetimes[j].bytes > 0));
    }
  }
}

}  // namespace

TEST_CASE("arena: the example of TFLite Micro has its offsets") {
  // TestGreedyMedium of tensorflow/lite/micro/memory_planner/greedy_memory_planner_test.cc, in units of the alignment.
  const std::int64_t unit = kAlignment;
  const std::vector<Lifetime> lifetimes{
      {10 * unit, 0, 1}, {20 * unit, 1, 2}, {30 * unit, 2, 3}, {40 * unit, 3, 4}, {50 * unit, 0, 1}};
  const Placement placement = place(lifetimes);
  CHECK(placement.offsets == std::vector<std::int64_t>{50 * unit, 70 * unit, 40 * unit, 0, 0});
  CHECK(placement.bytes == 90 * unit);
}

TEST_CASE("arena: buffers with disjoint lifetimes share memory") {
  const Placement placement = place(std::vector<Lifetime>{{10, 0, 1}, {10, 2, 3}});
  CHECK(placement.offsets == std::vector<std::int64_t>{0, 0});
  CHECK(placement.bytes == 64);
}

TEST_CASE("arena: empty buffers take no memory") {
  CHECK(place({}).bytes == 0);
  CHECK(place(std::vector<Lifetime>{{0, 0, 9}, {0, 0, 9}}).bytes == 0);
}

TEST_CASE("arena: random buffers with overlapping lifetimes do not overlap") {
  RandomStream random(1, "arena");
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random.bits() % static_cast<std::uint64_t>(limit));
  };
  for (int round = 0; round < 100; ++round) {
    std::vector<Lifetime> lifetimes;
    std::int64_t total = 0;
    const std::int64_t count = 1 + below(60);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = below(40);
      lifetimes.push_back({below(5) == 0 ? 0 : below(5000), first, first + below(10)});
      total += (lifetimes.back().bytes + 63) / 64 * 64;
    }
    const Placement placement = place(lifetimes);
    check_apart(lifetimes, placement);
    CHECK(placement.bytes <= total);
  }
}

TEST_CASE("arena: a hundred thousand buffers take at most twice the peak of live bytes") {
  RandomStream random(1, "arena");
  std::vector<Lifetime> lifetimes;
  std::vector<std::int64_t> living(100'016, 0);  // bytes of each step
  for (std::int64_t step = 0; step < 100'000; ++step) {
    const auto bytes = static_cast<std::int64_t>(random.bits() % 5000);
    const auto last = step + static_cast<std::int64_t>(random.bits() % 16);
    lifetimes.push_back({bytes, step, last});
    for (std::int64_t i = step; i <= last; ++i) living[static_cast<std::size_t>(i)] += (bytes + 63) / 64 * 64;
  }
  const Placement placement = place(lifetimes);
  CHECK(placement.bytes <= 2 * *std::max_element(living.begin(), living.end()));
  for (std::size_t from = 0; from + 1000 <= lifetimes.size(); from += 25'000) {
    const auto begin = static_cast<std::ptrdiff_t>(from);
    check_apart({lifetimes.begin() + begin, lifetimes.begin() + begin + 1000},
                {{placement.offsets.begin() + begin, placement.offsets.begin() + begin + 1000}, placement.bytes});
  }
  const Placement chain = place(std::vector<Lifetime>(20'000, Lifetime{64, 0, 1}));
  CHECK(chain.bytes == 64 * 20'000);
  CHECK_THROWS_AS(static_cast<void>(place(std::vector<Lifetime>(20'000, Lifetime{kMaxSize / 2 + 1, 0, 1}))), Error);
}

TEST_CASE("arena: sizes above the maximum are rejected") {
  CHECK_THROWS_AS(static_cast<void>(place(std::vector<Lifetime>{{kMaxSize, 0, 1}})), Error);
  CHECK_THROWS_AS(static_cast<void>(place(std::vector<Lifetime>{{kMaxSize / 2 + 1, 0, 1}, {kMaxSize / 2 + 1, 0, 1}})),
                  Error);
}
