#include "parallel.h"

#include <doctest/doctest.h>

#include <numeric>

namespace attn::backends::cpu {
namespace {

TEST_CASE("parallel: every piece runs once, on a thread of the team") {
  Pool pool(4);
  for (const int threads : {1, 2, 4}) {
    for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      std::atomic<bool> inside = true;
      parallel_for(count, Team{&pool, threads}, [&](std::int64_t i, int thread) {
        ++done[static_cast<std::size_t>(i)];
        if (thread < 0 || thread >= threads) inside = false;
      });
      CHECK(inside);
      for (const auto& times : done) CHECK(times == 1);
    }
  }
}

TEST_CASE("parallel: results of the pieces are visible when the call returns, thousands of times") {
  Pool pool(3);
  const Team team{&pool, 3};
  std::vector<std::int64_t> numbers(64);
  for (std::int64_t round = 0; round < 5000; ++round) {
    parallel_for(64, team, [&](std::int64_t i, int) { numbers[static_cast<std::size_t>(i)] = i + round; });
    const std::int64_t sum = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
    REQUIRE(sum == 64 * 63 / 2 + 64 * round);
  }
}

TEST_CASE("parallel: a pool can end right after a call, or unused") {
  for (int round = 0; round < 2000; ++round) {
    Pool pool(3);
    std::atomic<int> done = 0;
    for (int call = 0; call < round % 4; ++call) parallel_for(5, Team{&pool, 3}, [&](std::int64_t, int) { ++done; });
    REQUIRE(done == 5 * (round % 4));
  }
}

TEST_CASE("parallel: sleeping threads wake up for the next call") {
  Pool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> done = 0;
    parallel_for(100, Team{&pool, 2}, [&](std::int64_t, int) { ++done; });
    CHECK(done == 100);
  }
}

TEST_CASE("parallel: ranges cover all pieces and do not overlap") {
  Pool pool(3);
  for (const std::int64_t size : {0, 1, 5, 12, 1001}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(size));
    parallel_ranges(size, Team{&pool, 3}, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    for (const auto& times : seen) CHECK(times == 1);
  }
}

}  // namespace
}  // namespace attn::backends::cpu
