// oneDNN against the reference where the answer is exact, where it is extreme, and where shapes are odd.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "compare.h"
#include "generated_cases.h"
#include "runner.h"
#include "tolerance.h"

namespace attn::test {
namespace {

/// The number of random cases: by default a sample that takes seconds; 2,000 in `make test-robust`.
int random_count() {
  const char* const given = std::getenv("ATTN_RANDOM_CASES");
  return given == nullptr ? 150 : std::atoi(given);
}

enum class Allowed : std::uint8_t { nothing, tolerance };

/// A known difference, documented in docs/reliability.md: ±∞ with a mask becomes NaN elsewhere than in the reference.
bool is_known_of_cuda(const Runner& runner, const Case& row) {
  return runner.name.find("cuda") != std::string::npos &&
         row.name.find("attention masked infinite") != std::string::npos;
}

void hold(const std::vector<Case>& cases, Allowed allowed) {
  const auto runners = all_runners();
  for (const Case& row : cases) {
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = reference(row.op, operands);
    std::vector<std::vector<double>> limits;
    if (allowed == Allowed::tolerance) {
      limits = tolerances(row, operands, expected);
    } else {
      for (const Tensor& output : expected) limits.emplace_back(static_cast<std::size_t>(output.size()), 0.0);
    }
    for (const Runner& runner : runners) {
      if (runner.name == "reference" || is_known_of_cuda(runner, row)) continue;
      const std::vector<Tensor> got = run_on(*runner.backend, row, operands, runner.threads);
      REQUIRE(got.size() == expected.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        const auto problem = difference(expected[o], got[o], limits[o]);
        CHECK_MESSAGE(!problem, fmt::format("{} on {}, output {}: {}", row.name, runner.name, o, problem.value_or("")));
      }
    }
  }
}

TEST_CASE("numbers: sums and products of small integers are exact") {
  const std::vector<Case> cases = exact_cases();
  REQUIRE(cases.size() >= 300);
  hold(cases, Allowed::nothing);
}

TEST_CASE("numbers: huge, denormal, infinite and NaN values spread as in the reference") {
  const std::vector<Case> cases = extreme_cases();
  REQUIRE(cases.size() >= 200);
  hold(cases, Allowed::tolerance);
}

TEST_CASE("numbers: random operations, sizes, masks and dtypes agree with the reference") {
  hold(random_cases(0, random_count()), Allowed::tolerance);
}

}  // namespace
}  // namespace attn::test
