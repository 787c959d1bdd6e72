#include "attn/graph/window.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/base/size.h"

using namespace attn;
using namespace attn::graph;

TEST_CASE("windows: same puts the odd padding cell at the end") {
  const Windows even = windows_of(6, 4, 1, 1, Padding::same);  // 3 cells are missing
  CHECK(even.count == 6);
  CHECK(even.before == 1);
  const Windows strided = windows_of(5, 2, 2, 1, Padding::same);  // 1 cell is missing
  CHECK(strided.count == 3);
  CHECK(strided.before == 0);
  CHECK(windows_of(5, 1, 3, 1, Padding::same).before == 0);  // the last window ends before the input does
}

TEST_CASE("windows: causal padding is at the front and covers the whole window") {
  const Windows windows = windows_of(10, 3, 1, 4, Padding::causal);
  CHECK(windows.count == 10);
  CHECK(windows.before == 8);
}

TEST_CASE("windows: an empty axis has no windows with same padding, and is rejected with valid padding") {
  CHECK(windows_of(0, 3, 1, 1, Padding::same).count == 0);
  CHECK_THROWS_AS(static_cast<void>(windows_of(0, 1, 1, 1, Padding::valid)), Error);
  CHECK_THROWS_AS(static_cast<void>(windows_of(9, kMaxSize, 1, kMaxSize, Padding::same)), Error);
}
