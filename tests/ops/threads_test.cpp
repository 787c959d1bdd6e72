// Results do not depend on the number of threads.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <variant>

#include "attn/backends/cpu.h"
#include "cases.h"
#include "isa.h"
#include "runner.h"

namespace attn::test {
namespace {

/// The same bytes, or NaN in both.
bool is_same(const Tensor& a, const Tensor& b) {
  if (std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0) return true;
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (!(a.at(i) == b.at(i) || (std::isnan(a.at(i)) && std::isnan(b.at(i))))) return false;
  return true;
}

/// On AVX2 oneDNN computes float32 products, and divides their sums by its number of threads.
bool is_divided_by_onednn(const Case& row) {
  using backends::cpu::Isa;
  const Isa isa = backends::cpu::isa();
  return (isa == Isa::avx2 || isa == Isa::avx2_vnni) &&
         (std::holds_alternative<graph::Linear>(row.op) || std::holds_alternative<graph::MatMul>(row.op) ||
          std::holds_alternative<graph::Einsum>(row.op) || std::holds_alternative<graph::Conv>(row.op) ||
          std::holds_alternative<graph::Rnn>(row.op));
}

TEST_CASE("ops: every operation except cached attention has the same bits on one, two and three threads") {
  const auto backend = backends::make_cpu_backend({.work_per_thread = 1.0});
  for (const Case& row : all_cases()) {
    // Threads share the rows of a long cache, and their sums are added.
    if (std::holds_alternative<graph::CachedAttention>(row.op) || is_divided_by_onednn(row)) continue;
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = run_on(*backend, row, operands, 1);
    for (const int threads : {2, 3}) {
      const std::vector<Tensor> got = run_on(*backend, row, operands, threads);
      REQUIRE(got.size() == expected.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        CHECK_MESSAGE(is_same(got[o], expected[o]), fmt::format("{}, output {}, on {} threads", row.name, o, threads));
      }
    }
  }
}

}  // namespace
}  // namespace attn::test
