#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "attn/backends/reference.h"
#include "cases.h"
#include "compare.h"
#include "runner.h"
#include "tolerance.h"

namespace attn::test {
namespace {

TEST_CASE("ops: every case agrees with the reference on every backend") {
  const auto runners = all_runners();
  std::set<std::string> of_cpu;  // operations without GPU kernels
  for (const Case& row : training_cases()) of_cpu.insert(row.name);
  for (const Case& row : quantized_cases()) of_cpu.insert(row.name);
  for (const Case& row : collective_cases()) of_cpu.insert(row.name);
  for (const Case& row : all_cases()) {
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = reference(row.op, operands);
    const auto allowed = tolerances(row, operands, expected);
    for (const Runner& runner : runners) {
      if (!runner.trains && of_cpu.contains(row.name)) continue;
      const std::vector<Tensor> got = run_on(*runner.backend, row, operands, runner.threads);
      REQUIRE(got.size() == expected.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        const auto problem = difference(expected[o], got[o], allowed[o]);
        CHECK_MESSAGE(!problem, fmt::format("{} on {}, output {}: {}", row.name, runner.name, o, problem.value_or("")));
      }
    }
  }
}

TEST_CASE("ops: every kind of operation has a case with a unique name") {
  std::set<std::size_t> kinds;
  std::set<std::string> names;
  for (const Case& row : all_cases()) {
    kinds.insert(row.op.index());
    CHECK_MESSAGE(names.insert(row.name).second, row.name);
  }
  CHECK(kinds.size() == std::variant_size_v<graph::Op::Variant>);
}

TEST_CASE("ops: the reference writes only its outputs") {
  constexpr std::int64_t kGuard = 64;
  constexpr int kSentinel = 0x5A;
  for (const Case& row : all_cases()) {
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = reference(row.op, operands);
    std::vector<std::shared_ptr<std::byte>> blocks;
    std::vector<Tensor> outputs;
    for (const Tensor& output : expected) {
      blocks.push_back(allocate_bytes(output.bytes() + 2 * kGuard));
      std::memset(blocks.back().get(), kSentinel, static_cast<std::size_t>(output.bytes() + 2 * kGuard));
      outputs.emplace_back(output.dtype(), output.shape(),
                           std::shared_ptr<std::byte>(blocks.back(), blocks.back().get() + kGuard));
    }
    backends::evaluate({row.op, {}, {}, graph::kNone}, {}, operands, outputs);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      bool untouched = true;
      for (std::int64_t i = 0; i < kGuard; ++i) {
        untouched = untouched && blocks[o].get()[i] == std::byte{kSentinel} &&
                    blocks[o].get()[kGuard + outputs[o].bytes() + i] == std::byte{kSentinel};
      }
      CHECK_MESSAGE(untouched, row.name);
      const std::vector<double> none(static_cast<std::size_t>(outputs[o].size()), 0.0);
      const auto problem = difference(expected[o], outputs[o], none);
      CHECK_MESSAGE(!problem, row.name);
    }
  }
}

}  // namespace
}  // namespace attn::test
