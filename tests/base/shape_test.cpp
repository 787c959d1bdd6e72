#include "attn/base/shape.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/base/size.h"

using namespace attn;

TEST_CASE("shape: a shape prints like Python's tuple") {
  CHECK(Shape{kUnknown, 50, 512}.str() == "(None, 50, 512)");
  CHECK(Shape{3}.str() == "(3,)");
  CHECK(Shape{}.str() == "()");
}

TEST_CASE("shape: a shape counts its elements, unless a dimension is unknown or the count overflows") {
  CHECK(Shape{2, 3, 4}.elements() == 24);
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{0, 7}.size() == 0);
  CHECK_FALSE(Shape{kUnknown, 2}.elements().has_value());
  CHECK_FALSE(Shape{kUnknown, 2}.known());
  const Dim large = Dim{1} << 32;
  CHECK_FALSE(Shape{large, large}.elements().has_value());
  CHECK_THROWS_WITH_AS((void)(Shape{large, large}.size()),
                       "a tensor of shape (4294967296, 4294967296) does not fit in memory", Error);
}

TEST_CASE("shape: axes count from both ends") {
  const Shape shape{5, 6, 7};
  CHECK(shape[-1] == 7);
  CHECK(shape[0] == 5);
  CHECK(shape.slice(1, 3) == Shape{6, 7});
  CHECK(normalize_axis(-3, 3) == 0);
  CHECK(normalize_axis(2, 3) == 2);
  CHECK_FALSE(normalize_axis(3, 3).has_value());
  CHECK_FALSE(normalize_axis(-4, 3).has_value());
  CHECK_FALSE(normalize_axis(0, 0).has_value());
}

TEST_CASE("shape: shapes broadcast as in NumPy, with unknown dimensions") {
  struct Case {
    Shape a, b;
    std::optional<Shape> result;
  };
  const std::vector<Case> cases{
      {{2, 3}, {3}, Shape{2, 3}},
      {{2, 1}, {1, 5}, Shape{2, 5}},
      {{}, {4}, Shape{4}},
      {{0}, {1}, Shape{0}},
      {{2}, {3}, std::nullopt},
      {{0}, {3}, std::nullopt},
      {{kUnknown, 4}, {7, 1}, Shape{7, 4}},
      {{kUnknown}, {1}, Shape{kUnknown}},
      {{kUnknown}, {kUnknown}, Shape{kUnknown}},
      {{kUnknown, 50, 8}, {8}, Shape{kUnknown, 50, 8}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.a.str());
    CAPTURE(c.b.str());
    CHECK(broadcast(c.a, c.b) == c.result);
    CHECK(broadcast(c.b, c.a) == c.result);
  }
}

TEST_CASE("size: products and sums saturate before they overflow") {
  CHECK(checked_mul(kMaxSize / 2, 2) == kMaxSize);
  CHECK_FALSE(checked_mul(kMaxSize / 2 + 1, 2).has_value());
  CHECK(checked_mul(0, kMaxSize) == 0);
  CHECK_FALSE(checked_mul(-1, 1).has_value());
  CHECK_FALSE(checked_mul(1, -1).has_value());
  CHECK(checked_add(kMaxSize - 1, 1) == kMaxSize);
  CHECK_FALSE(checked_add(kMaxSize, 1).has_value());
  CHECK_FALSE(checked_add(-1, 5).has_value());
  CHECK(checked_product({}) == 1);
}
