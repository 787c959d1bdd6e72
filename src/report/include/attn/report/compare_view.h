// Two passes of a model, or two models, against each other as text.
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

/// One side of a comparison: a pass, or a file.
struct ComparedSide {
  std::string file;                ///< of the arrays, or empty
  std::optional<Setting> setting;  ///< of a pass
  std::string weights;             ///< the file of a pass's weights, where the two passes have one each
};

struct RunComparisonReport {
  std::string model;
  ComparedSide a, b;  ///< b is held against a
  std::vector<InputReport> inputs;
  std::uint64_t seed = 0;
  run::ToleranceRule tolerance;
  std::string tolerance_reason;                   ///< "the default for float32"
  std::optional<run::WeightsComparison> weights;  ///< of two weight files
  run::RunComparison result;
  /// Where one side has quantized weights and the other has not.
  struct Quantized {
    int bits = 0;
    std::int64_t float_bytes = 0, bytes = 0;  ///< of all weights
  };
  std::optional<Quantized> quantized{};
};

/// Why run::usual_tolerance is what it is: "usual for float32, which keeps 7 digits".
[[nodiscard]] std::string tolerance_reason(DType dtype);

/// What is compared and by which rule; a table of the arrays; the first that differs, or, where none does, the one that
/// is furthest off, in detail. As table, markdown, or json: "attn.compare/1", with "kind": "run"
[[nodiscard]] std::string render(Format format, const RunComparisonReport& report);

}  // namespace attn::report
