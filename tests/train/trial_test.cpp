#include "attn/train/trial.h"

#include <doctest/doctest.h>

#include <vector>

#include "attn/train/expected_losses.h"

namespace attn::test {

TEST_CASE("trial: a batch is learned once its loss is a tenth of the first") {
  const std::vector<train::Point> falls{{1, 2.0, 0.1}, {2, 0.2, 0.1}}, stays{{1, 2.0, 0.1}, {2, 0.3, 0.1}};
  CHECK(train::has_learned(falls, train::FitEnd::epochs));
  CHECK_FALSE(train::has_learned(falls, train::FitEnd::not_finite));
  CHECK_FALSE(train::has_learned(stays, train::FitEnd::epochs));
  CHECK_FALSE(train::has_learned({}, train::FitEnd::epochs));
}

TEST_CASE("expected losses: steps and epochs on both sides are compared") {
  const std::vector<train::Point> points{{1, 2.0, 0.1}, {2, 1.0, 0.1}};
  const std::vector<double> epochs{1.5};
  const train::ActualLosses had{points, epochs, 3};
  CHECK_FALSE(train::differing_losses({{{1, 2.0}}, {{3, 1.5}}}, had, 0, 0, "log").has_value());
  const auto differs = train::differing_losses({{{2, 1.1}}, {{3, 1.6}}}, had, 0, 0, "log");
  REQUIRE(differs.has_value());
  CHECK(differs->starts_with("log: 2 of 2 losses differ; step 2 has a loss of 1"));
}

TEST_CASE("fit: each end has a name") {
  CHECK(train::name_of(train::FitEnd::deadline) == "time limit");
  CHECK(train::name_of(train::FitEnd::listener) == "early stopping");
  CHECK(train::name_of(train::FitEnd::plan) == "plan");
}

}  // namespace attn::test
