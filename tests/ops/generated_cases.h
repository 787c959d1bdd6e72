// Generated cases: integers, extreme numbers, and random shapes.
#pragma once

#include <vector>

#include "cases.h"

namespace attn::test {

/// Sums and products of integers so small that float32 represents every intermediate result exactly: at most 2^24. The
/// result is then exact, to the bit, in any order of summation.
[[nodiscard]] std::vector<Case> exact_cases();

/// Huge, denormal, infinite and missing numbers, and masks that hide everything.
[[nodiscard]] std::vector<Case> extreme_cases();

/// Cases `first` to before `last` of an endless sequence: random operations, masks and dtypes, with sizes around those
/// of vectors and blocks (1, 7, 8, 9, … 511, 512, 513). Case i is always the same.
[[nodiscard]] std::vector<Case> random_cases(int first, int last);

}  // namespace attn::test
