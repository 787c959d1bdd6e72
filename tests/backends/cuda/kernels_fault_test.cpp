#include <doctest/doctest.h>

#include <vector>

#include "kernels_bench.h"

namespace attn::test {
namespace {

using cuda::Fault;
using graph::BinaryFn;

Tensor tensor(DType dtype, Shape shape, const std::vector<double>& numbers) {
  Tensor result(dtype, std::move(shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) result.set(static_cast<std::int64_t>(i), numbers[i]);
  return result;
}

Outcome run_plain(const graph::Op& op, const std::vector<Tensor>& inputs) {
  return run_kernel(op, inputs, {[](const cuda::Step& step) { return cuda::make_plain(step); }});
}

TEST_CASE("cuda faults: an index out of range is reported with its table, and the rest is gathered") {
  const Tensor table = tensor(DType::float32, {3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  for (const double wrong : {3.0, -4.0, 1e9, -1e9}) {
    const Tensor indices = tensor(DType::int32, {3}, {2, wrong, -1});
    for (const bool fast : {false, true}) {
      const Outcome outcome = run_kernel(graph::Gather{0}, {table, indices}, {[fast](const cuda::Step& step) {
                                           return fast ? cuda::make_fast(step) : cuda::make_plain(step);
                                         }});
      CHECK(outcome.problem.empty());
      CHECK(outcome.fault.kind == Fault::index_out_of_range);
      CHECK(outcome.fault.node == 7);
      CHECK(outcome.fault.number == static_cast<std::int64_t>(wrong));
      CHECK(outcome.fault.other == 3);
      CHECK(outcome.outputs[0].at(0) == 9);
      CHECK(outcome.outputs[0].at(4) == 0);
      CHECK(outcome.outputs[0].at(8) == 9);
    }
  }
}

TEST_CASE("cuda faults: an integer division by zero is reported with its dividend") {
  for (const BinaryFn fn : {BinaryFn::floor_divide, BinaryFn::mod}) {
    for (const DType dtype : {DType::int64, DType::uint8}) {
      const Outcome outcome =
          run_plain(graph::Binary{fn}, {tensor(dtype, {3}, {9, 5, 8}), tensor(dtype, {3}, {2, 0, 3})});
      CHECK(outcome.fault.kind == Fault::integer_division_by_zero);
      CHECK(outcome.fault.number == 5);
      CHECK(outcome.outputs[0].at(0) == (fn == BinaryFn::mod ? 1 : 4));
      CHECK(outcome.outputs[0].at(2) == 2);
    }
  }
  const Outcome floats = run_plain(graph::Binary{BinaryFn::floor_divide},
                                   {tensor(DType::float32, {1}, {1}), tensor(DType::float32, {1}, {0})});
  CHECK(floats.fault.kind == Fault::none);
}

TEST_CASE("cuda faults: an integer to a negative power is reported with its exponent") {
  const Outcome outcome = run_plain(graph::Binary{BinaryFn::power},
                                    {tensor(DType::int32, {2}, {3, 2}), tensor(DType::int32, {2}, {4, -2})});
  CHECK(outcome.fault.kind == Fault::integer_to_negative_power);
  CHECK(outcome.fault.number == -2);
  CHECK(outcome.outputs[0].at(0) == 81);
}

TEST_CASE("cuda faults: one of several faults is reported completely") {
  const Tensor table = tensor(DType::float32, {2, 1}, {1, 2});
  const Tensor indices = tensor(DType::int64, {4}, {5, 6, 7, 8});
  const Outcome outcome = run_plain(graph::Gather{0}, {table, indices});
  CHECK(outcome.fault.kind == Fault::index_out_of_range);
  CHECK(outcome.fault.number >= 5);
  CHECK(outcome.fault.number <= 8);
  CHECK(outcome.fault.other == 2);
}

}  // namespace
}  // namespace attn::test
