// Cases by the hundred: of whole numbers, at the ends of the number range, and of random shapes.
#pragma once

#include <vector>

#include "cases.h"

namespace attn::test {

/// Sums and products of whole numbers so small that float32 holds every one that can come up: at most 2^24. There is
/// one right answer then, to the bit, in whatever order it is added up.
[[nodiscard]] std::vector<Case> exact_cases();

/// Huge, denormal, infinite and missing numbers, and masks that leave nothing.
[[nodiscard]] std::vector<Case> extreme_cases();

/// The cases number `first` to before `last` of an endless row: operations, sizes around those of vectors and blocks
/// (1, 7, 8, 9, … 511, 512, 513), masks and dtypes at random. Case i is always the same.
[[nodiscard]] std::vector<Case> random_cases(int first, int last);

}  // namespace attn::test
