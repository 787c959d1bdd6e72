// Compares results with expected values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"

namespace attn::run {

struct Tolerance {
  double rtol = 1e-4;
  double atol = 1e-5;
};

/// The comparison of one output with its expected value.
struct OutputComparison {
  std::string name;
  bool pass = false;
  /// The reason if the arrays could not be compared ("expected shape (1, 5), got (1, 6)"), otherwise empty.
  std::string problem;
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  double max_abs_error = 0;  ///< NaN if a NaN was compared with a number
  std::vector<std::int64_t> worst_index;
  double expected = 0, got = 0;  ///< the values at the element with the worst error
  /// The tolerance that would pass, rounded up to three digits: each of the two while the other stays as requested.
  /// Infinite if none would.
  Tolerance needed{0, 0};
  std::int64_t nan_pairs = 0;  ///< elements that are NaN on both sides, which counts as equal
  std::int64_t unordered = 0;  ///< mismatches with a NaN or an infinity on one side only; no tolerance allows these
};

/// Compares one output. Two elements agree if |got − expected| ≤ atol + rtol·|expected| (numpy.allclose), if both are
/// NaN, or if both are the same infinity. The worst element is a NaN compared with a number; without one, an infinity;
/// otherwise the element with the largest excess over its tolerance.
[[nodiscard]] OutputComparison compare(const std::string& name, const Tensor& expected, const Tensor& got,
                                       const Tolerance& tolerance);

/// Compares arrays by name. An array on one side only gives a comparison that fails with a problem.
[[nodiscard]] std::vector<OutputComparison> compare(const std::vector<NamedTensor>& expected,
                                                    const std::vector<NamedTensor>& got, const Tolerance& tolerance);

/// Compares arrays of strings by name. Arrays agree if they are equal; `problem` gives the first difference.
[[nodiscard]] std::vector<OutputComparison> compare_texts(const std::vector<NamedTexts>& expected,
                                                          const std::vector<NamedTexts>& got);

/// Similarity of two arrays of one shape, over the elements that are finite on both sides.
struct Similarity {
  /// ‖b − a‖ / ‖a‖ and a·b / (‖a‖ ‖b‖). NaN if the divisor is 0; the relative difference of equal arrays is 0.
  double relative = 0, cosine = 0;
};
[[nodiscard]] Similarity similarity(const Tensor& a, const Tensor& b);

}  // namespace attn::run
