// Numbers against the numbers that were expected.
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

/// One output against what was expected of it.
struct OutputComparison {
  std::string name;
  bool pass = false;
  /// Why the numbers could not be compared ("expected shape (1, 5), got (1, 6)"); empty where they were.
  std::string problem;
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  double max_abs_error = 0;  ///< NaN where a NaN met a number
  std::vector<std::int64_t> worst_index;
  double expected = 0, got = 0;  ///< at the worst index
  /// What it takes to pass, rounded up to three digits: of each while the other stays as it was asked for. Infinite
  /// where nothing does.
  Tolerance needed{0, 0};
  std::int64_t nan_pairs = 0;  ///< elements that are NaN on both sides, and so agree
  std::int64_t unordered = 0;  ///< of the mismatches: a NaN or an infinity on one side alone, which nothing allows
};

/// Elements agree where |got − expected| ≤ atol + rtol·|expected| (numpy.allclose), where both are NaN, or where both
/// are the same infinity. The worst element is a NaN that met a number, else an infinity, else the one furthest beyond
/// its tolerance, or nearest to it.
[[nodiscard]] OutputComparison compare(const std::string& name, const Tensor& expected, const Tensor& got,
                                       const Tolerance& tolerance);

/// Pairs by name; an array that only one side has is a comparison that fails with a problem.
[[nodiscard]] std::vector<OutputComparison> compare(const std::vector<NamedTensor>& expected,
                                                    const std::vector<NamedTensor>& got, const Tolerance& tolerance);

/// The same of strings, which agree where they are the same; `problem` says where they first are not.
[[nodiscard]] std::vector<OutputComparison> compare_texts(const std::vector<NamedTexts>& expected,
                                                          const std::vector<NamedTexts>& got);

/// How alike two arrays of one shape are, over the elements that are finite on both sides.
struct Likeness {
  /// ‖b − a‖ / ‖a‖ and a·b / (‖a‖ ‖b‖); NaN where ‖a‖, or ‖a‖ ‖b‖, is 0, except that equal arrays have a relative
  /// difference of 0.
  double relative = 0, cosine = 0;
};
[[nodiscard]] Likeness likeness(const Tensor& a, const Tensor& b);

}  // namespace attn::run
