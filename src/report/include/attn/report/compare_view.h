// The comparison of two passes, or of two models, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"
#include "attn/run/compare_runs.h"
#include "attn/run/compare_weights.h"

namespace attn::report {

/// One side of a comparison: a pass or a file.
struct ComparedSide {
  std::string file;                ///< path of the file with arrays, or empty
  std::optional<Setting> setting;  ///< setting of the pass; empty for a file
  std::string weights;             ///< the weight file of a pass, if the two passes have different ones
};

struct RunComparisonReport {
  std::string model;
  ComparedSide a, b;  ///< b is compared with a
  std::vector<InputReport> inputs;
  std::uint64_t seed = 0;
  run::ToleranceRule tolerance;
  std::string tolerance_reason;                   ///< the origin of the tolerance: "the default for float32"
  std::optional<run::WeightsComparison> weights;  ///< set if both sides are weight files
  run::RunComparison result;
  /// Set if quantized weights are compared with float weights.
  struct Quantized {
    int bits = 0;
    std::int64_t float_bytes = 0, bytes = 0;  ///< bytes of all weights, in floats and quantized
  };
  std::optional<Quantized> quantized{};
};

/// Returns the reason for run::usual_tolerance: "usual for float32, which keeps 7 digits".
[[nodiscard]] std::string tolerance_reason(DType dtype);

/// Shows both sides and the tolerance, a table of the arrays, and details of one array: the first that differs,
/// otherwise the one with the largest difference. Formats: table, markdown, json: "attn.compare/1", with "kind": "run"
[[nodiscard]] std::string render(Format format, const RunComparisonReport& report);

}  // namespace attn::report
