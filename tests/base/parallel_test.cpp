#include "attn/base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace attn;

TEST_CASE("parallel: every part runs once, on any number of threads") {
  for (const int threads : {0, 1, 2, 7, 100}) {
    for (const std::int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      for_each_part(count, threads, [&](std::int64_t part) { ++done[static_cast<std::size_t>(part)]; });
      for (const std::atomic<int>& times : done) CHECK(times == 1);
    }
  }
}

TEST_CASE("parallel: an exception of a part is rethrown, and later parts do not run") {
  for (const int threads : {1, 3}) {
    std::atomic<int> done = 0;
    const auto work = [&](std::int64_t part) {
      if (part == 5) throw std::runtime_error("part 5");
      ++done;
    };
    CHECK_THROWS_WITH(for_each_part(1000, threads, work), "part 5");
    if (threads == 1) CHECK(done == 5);
  }
}
