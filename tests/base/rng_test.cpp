#include "attn/base/rng.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace attn;

// numpy.random.Philox(key=np.array([seed, zlib.crc32(name)], np.uint64)).random_raw(6), NumPy 2.4
TEST_CASE("rng: bits equal NumPy's Philox") {
  struct Case {
    std::uint64_t seed;
    std::string_view name;
    std::vector<std::uint64_t> bits;
  };
  const std::vector<Case> cases{
      {0,
       "x",
       {0x8b85ff1433e41675, 0xe4a269534ac4e5fe, 0x9ea4d85f9380580f, 0x286d49c735515248, 0xa2163762961d8f19,
        0x3dd63e97837fafd1}},
      {1337,
       "mha/query/kernel",
       {0xcaa5e2832541f833, 0x07e336c814565034, 0x2082d5bd04c6137f, 0xc6d2688c5bcefe93, 0x81114c0e3a91f24a,
        0x7b46e1e114c3ceff}},
      {0xffffffffffffffff,
       "é",
       {0xfa605b96a8aacb88, 0x14a71c32774d6af6, 0x7abdbc6c3dfa819a, 0x0256d4b4b9c47f0e, 0x3e0c6818cc220537,
        0x985c4ff672a47790}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    RandomStream stream(c.seed, c.name);
    for (const std::uint64_t expected : c.bits) CHECK(stream.bits() == expected);
  }
}

TEST_CASE("rng: uniform numbers equal NumPy's Generator.random") {
  RandomStream stream(0, "x");
  for (const double expected : {0.5450133728335376, 0.8931032017087719, 0.6197028382625843, 0.1579176055286713}) {
    CHECK(stream.uniform() == expected);
  }
}

TEST_CASE("rng: normal numbers are Box-Muller pairs of the uniform ones") {
  RandomStream uniforms(7, "a/b");
  RandomStream normals(7, "a/b");
  for (int pair = 0; pair < 3; ++pair) {
    const double u = uniforms.uniform();
    const double v = uniforms.uniform();
    const double radius = std::sqrt(-2.0 * std::log1p(-u));
    // One unit in the last place of log, sqrt and cos each; the numbers are below 10.
    CHECK(std::abs(normals.normal() - radius * std::cos(2.0 * 3.141592653589793 * v)) < 1e-14);
    CHECK(std::abs(normals.normal() - radius * std::sin(2.0 * 3.141592653589793 * v)) < 1e-14);
  }
}

TEST_CASE("rng: normal numbers have mean 0 and deviation 1") {
  RandomStream stream(3, "moments");
  constexpr int kCount = 100000;
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kCount; ++i) {
    const double value = stream.normal();
    REQUIRE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  // Five standard errors: 5 / sqrt(n) for the mean, 5 * sqrt(2 / n) for the variance.
  CHECK(std::abs(sum / kCount) < 0.016);
  CHECK(std::abs(squares / kCount - 1.0) < 0.023);
}

TEST_CASE("rng: a different seed or name gives a different stream") {
  CHECK(RandomStream(1, "a").bits() != RandomStream(2, "a").bits());
  CHECK(RandomStream(1, "a").bits() != RandomStream(1, "b").bits());
}
