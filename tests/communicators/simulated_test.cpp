#include "attn/communicators/simulated.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/communicators/launch.h"
#include "attn/communicators/open.h"

namespace attn::communicators {
namespace {

Tensor numbers(int rank, std::int64_t count, DType dtype) {
  const Tensor tensor(dtype, {count});
  for (std::int64_t i = 0; i < count; ++i) tensor.set(i, 0.25 * static_cast<double>(i) + 10.0 * rank);
  return tensor;
}

/// Collects the failures of every rank.
class Checks {
 public:
  void expect(bool holds, const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (!holds) wrong_.push_back(what);
  }
  ~Checks() {
    for (const std::string& what : wrong_) FAIL_CHECK(what);
  }
  Checks() = default;
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;

 private:
  std::mutex mutex_;
  std::vector<std::string> wrong_;
};

/// Every collective returns its defined result. Each rank calls it.
void try_collectives(Communicator& world, DType dtype, Checks& checks) {
  const int size = world.size();
  const std::int64_t element = bytes_of(dtype);
  world.reset_counts();
  const int rank = world.rank();
  const Tensor own = numbers(rank, 7, dtype), sum(dtype, {7}), most(dtype, {7});
  world.all_reduce(own.data(), sum.data(), 7, dtype, Reduction::sum);
  world.all_reduce(own.data(), most.data(), 7, dtype, Reduction::max);
  for (std::int64_t i = 0; i < 7; ++i) {
    double expected = 0;
    for (int r = 0; r < size; ++r) expected += numbers(r, 7, dtype).at(i);
    const Tensor rounded(dtype, {1});
    rounded.set(0, expected);
    checks.expect(sum.at(i) == rounded.at(0), "a sum");
    checks.expect(most.at(i) == numbers(size - 1, 7, dtype).at(i), "a maximum");
  }
  // A pending sum overlaps with another collective, and its input is overwritten.
  const Tensor given = numbers(rank, 7, dtype), later(dtype, {7});
  const std::int64_t begun = world.begin_all_reduce(given.data(), later.data(), 7, dtype, Reduction::sum);
  std::memset(given.data(), 0, static_cast<std::size_t>(given.bytes()));
  world.progress();
  world.barrier();
  world.finish(begun);
  checks.expect(std::memcmp(later.data(), sum.data(), static_cast<std::size_t>(sum.bytes())) == 0, "a begun sum");
  // In place, while other ranks may still read.
  world.all_reduce(own.data(), own.data(), 7, dtype, Reduction::sum);
  checks.expect(std::memcmp(own.data(), sum.data(), static_cast<std::size_t>(own.bytes())) == 0, "in place");

  std::vector<std::int64_t> counts, bytes;
  std::int64_t whole = 0, before = 0;
  for (int r = 0; r < size; ++r) {
    counts.push_back(r);  // the first rank has nothing
    bytes.push_back(r * element);
    whole += r;
    if (r < rank) before += r;
  }
  const Tensor part = numbers(rank, rank, dtype), all(dtype, {whole});
  world.all_gather(part.data(), all.data(), bytes);
  for (std::int64_t i = 0, r = 0; r < size; ++r)
    for (std::int64_t k = 0; k < r; ++k, ++i)
      checks.expect(all.at(i) == numbers(static_cast<int>(r), r, dtype).at(k), "a gathered number");
  const Tensor mine(dtype, {rank});
  world.reduce_scatter(all.data(), mine.data(), counts, dtype);
  for (std::int64_t k = 0; k < rank; ++k) {
    const Tensor rounded(dtype, {1});
    rounded.set(0, size * all.at(before + k));
    checks.expect(mine.at(k) == rounded.at(0), "a scattered sum");
  }

  const Tensor give = numbers(rank, 3, dtype), take(dtype, {3});
  const auto size_of = static_cast<std::size_t>(give.bytes());
  world.shift({give.data(), size_of}, {take.data(), size_of});
  checks.expect(take.at(1) == numbers((rank + size - 1) % size, 3, dtype).at(1), "a shift");
  world.broadcast({give.data(), size_of}, size - 1);
  checks.expect(give.at(2) == numbers(size - 1, 3, dtype).at(2), "a broadcast");
  world.barrier();

  const Counts& told = world.counts();
  checks.expect(told.at(Collective::all_reduce).calls == 4, "a count of calls");
  checks.expect(told.at(Collective::all_reduce).bytes == 4 * 7 * element, "a count of bytes");
  checks.expect(told.at(Collective::all_gather).bytes == whole * element, "a count of gathered bytes");
}

constexpr std::array kDTypes = {DType::float64, DType::float32, DType::bfloat16, DType::float16, DType::int32};

TEST_CASE("simulated: collectives are right for every dtype and number of ranks") {
  for (const int size : {1, 2, 3, 5}) {
    for (const DType dtype : kDTypes) {
      Checks checks;
      run_ranks(size, [&](Communicator& world) { try_collectives(world, dtype, checks); });
    }
  }
}

// mpirun -np 3 build/tests/attn_test_communicators -tc='processes:*'
TEST_CASE("processes: collectives of ranks from a launcher are right") {
  const Launch launch = launched();
  if (launch.size == 1) return;
  const auto world = open_mpi(launch);
  for (const DType dtype : kDTypes) {
    Checks checks;
    try_collectives(*world, dtype, checks);
  }
  // Half-precision sums that finish in another order than they began, with others in between.
  constexpr std::int64_t kCount = 1001;
  const Tensor first = numbers(world->rank(), kCount, DType::bfloat16), second = numbers(1, kCount, DType::float16);
  const auto begin = [&](const Tensor& x) {
    return world->begin_all_reduce(x.data(), x.data(), kCount, x.dtype(), Reduction::sum);
  };
  const std::int64_t one = begin(first), other = begin(second);
  world->barrier();
  const Tensor third = numbers(0, kCount, DType::bfloat16);
  world->all_reduce(third.data(), third.data(), kCount, DType::bfloat16, Reduction::max);
  world->finish(other);
  world->finish(one);
  const Tensor expected(DType::bfloat16, {1});
  expected.set(0, 10.0 * launch.size * (launch.size - 1) / 2);
  CHECK(first.at(0) == expected.at(0));
  CHECK(second.at(4) == 11.0 * launch.size);
  CHECK(third.at(4) == 1.0);
}

TEST_CASE("simulated: the maximum of NaN and a number is NaN on every rank") {
  for (const int with : {0, 1}) {
    run_ranks(2, [&](Communicator& world) {
      const double own = world.rank() == with ? std::numeric_limits<double>::quiet_NaN() : 1.0;
      double most = 0;
      world.all_reduce(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(&most), 1, DType::float64,
                       Reduction::max);
      if (!std::isnan(most)) throw internal_error("a number");
    });
  }
}

TEST_CASE("simulated: other ranks do not wait forever for a failed or missing one, and report the cause") {
  CHECK_THROWS_WITH_AS(run_ranks(3,
                                 [](Communicator& world) {
                                   if (world.rank() == 1) throw bad_input("no such file");
                                   world.barrier();
                                 }),
                       "no such file", Error);
  CHECK_THROWS_WITH_AS(run_ranks(2,
                                 [](Communicator& world) {
                                   world.set_deadline(0.05);
                                   world.describe_next("dense");
                                   if (world.rank() == 0) world.barrier();
                                 }),
                       "collective 1, barrier for layer 'dense': another rank did not arrive", Error);
}

TEST_CASE("simulated rank: collectives advance its clock by their price") {
  const auto world = make_simulated_rank(3, 64, [](Collective collective, std::int64_t bytes) {
    return collective == Collective::all_reduce ? 1e-9 * static_cast<double>(bytes) : 0.5;
  });
  const Tensor x(DType::float32, {250});
  world->all_reduce(x.data(), x.data(), 250, DType::float32, Reduction::sum);
  world->barrier();
  CHECK(world->virtual_seconds() == doctest::Approx(0.500001));
  CHECK(world->counts().at(Collective::all_reduce).seconds == doctest::Approx(1e-6));
}

TEST_CASE("simulated rank: a pending collective overlaps with computation, and follows earlier collectives") {
  const auto world = make_simulated_rank(0, 8, [](Collective, std::int64_t) { return 3.0; });
  const Tensor x(DType::float32, {4});
  const auto begin = [&] { return world->begin_all_reduce(x.data(), x.data(), 4, DType::float32, Reduction::sum); };
  const std::int64_t first = begin();  // until 3
  world->compute(2);
  const std::int64_t second = begin();  // until 6
  world->compute(2);
  world->finish(first);
  CHECK(world->virtual_seconds() == 4);
  world->finish(second);
  CHECK(world->virtual_seconds() == 6);
  CHECK(world->counts().at(Collective::all_reduce).seconds == 2);  // not hidden
  world->barrier();
  CHECK(world->virtual_seconds() == 9);
}

}  // namespace
}  // namespace attn::communicators
