#include "probabilities.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attn/base/rng.h"
#include "categorical.h"

using namespace attn::generate;

namespace {

std::vector<float> numbers(std::size_t count, const char* name, int values) {
  attn::RandomStream stream(0, name);
  std::vector<float> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<float>(std::floor(stream.uniform() * values)));
  return out;
}

}  // namespace

TEST_CASE("probabilities: probabilities sum to one, and a low temperature sharpens them") {
  const std::vector<float> logits = {1.0F, 2.0F, 0.5F, -3.0F};
  double sum = 0.0;
  for (const float p : probabilities(logits, 1.0)) sum += p;
  CHECK(sum == doctest::Approx(1.0));
  CHECK(probabilities(logits, 0.5)[1] > probabilities(logits, 1.0)[1]);
  CHECK(std::isnan(probabilities(std::vector<float>{0.0F, NAN}, 1.0)[0]));
  CHECK(std::exp(log_probability(logits, 1)) == doctest::Approx(probabilities(logits, 1.0)[1]));
}

TEST_CASE("most_probable: the first of equal probabilities is selected, for any logits") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  attn::RandomStream random(5, "likeliest");
  std::vector<std::vector<float>> all{
      {0.0F}, {2.0F, 2.0F}, {1.0F, kNan, 3.0F}, {1.0F, kInfinity, 3.0F}, {-kInfinity, -kInfinity}};
  all.push_back({-kInfinity, 1.0F, 0.5F});
  all.push_back({1.0F, std::nextafter(1.0F, 2.0F), 1.0F});  // equal probabilities
  all.push_back({10000.0F, 10000.001F, 9999.0F});
  for (int list = 0; list < 50; ++list) {
    std::vector<float>& logits = all.emplace_back();
    for (int i = 0; i < 7 * list + 1; ++i) logits.push_back(static_cast<float>(random.normal()));
    if (list % 2 == 1) logits[static_cast<std::size_t>(list)] = *std::ranges::max_element(logits);
  }
  for (const std::vector<float>& logits : all)
    for (const double temperature : {1.0, 0.3, 50.0})
      CHECK(most_probable(logits, temperature) == argmax(probabilities(logits, temperature)));
}

TEST_CASE("top k: unsorted and sorted candidates are the same, and the first of equals are selected") {
  for (int values : {3, 1000}) {
    const std::vector<float> x = numbers(200, "top", values);
    for (const std::int64_t k : {1, 2, 5, 50, 199, 200, 300}) {
      const auto sorted = top_sorted(x, k), unsorted = top_unsorted(x, k);
      CHECK(std::set<std::int64_t>(sorted.begin(), sorted.end()) ==
            std::set<std::int64_t>(unsorted.begin(), unsorted.end()));
      CHECK(std::ranges::is_sorted(sorted, [&](std::int64_t a, std::int64_t b) {
        const float p = x[static_cast<std::size_t>(a)], q = x[static_cast<std::size_t>(b)];
        return p > q || (p == q && a < b);
      }));
    }
  }
}

TEST_CASE("categorical: tokens are drawn in proportion to their probabilities, and never with probability 0") {
  Categorical draws(7);
  const std::vector<std::vector<float>> rows(100, {0.5F, 0.0F, 0.2F, 0.3F, 0.0F});
  std::vector<int> counts(5, 0);
  for (int i = 0; i < 200; ++i)
    for (const std::int64_t drawn : draws.draw(rows)) ++counts[static_cast<std::size_t>(drawn)];
  CHECK(counts[1] == 0);
  CHECK(counts[4] == 0);
  // Four standard deviations of 20,000 draws are at most 283.
  CHECK(std::abs(counts[0] - 10000) < 283);
  CHECK(std::abs(counts[2] - 4000) < 283);
  CHECK(std::abs(counts[3] - 6000) < 283);
}
