// Settings that all benchmarks share: how to measure, and a callback for each finished row.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/report/values.h"
#include "attn/run/bench.h"
#include "bench/measurement.h"

namespace attn::cli {

enum class Verify : std::uint8_t { automatic, always, never };

struct BenchPlan {
  open::Execution execution;
  open::GivenInputs given;  ///< inputs of a model; missing inputs are random
  run::BenchOptions options;
  std::optional<double> mean_length;
  Verify verify = Verify::automatic;
  bool profile = false;
  const Console* console = nullptr;
  std::function<const run::Peaks&(const backends::Backend&, DType)> peaks;  ///< measured at the first call
  std::function<void(report::BenchRow)> emit;
  std::function<void(report::OperationsReport)> emit_operations;

  /// Returns the peaks for a measurement in `dtype`. Int8 products have their own peaks on a CPU; on a GPU they run on
  /// plain kernels.
  [[nodiscard]] PeaksFor peaks_of(const backends::Backend& backend, DType dtype) const {
    return [this, &backend, dtype](bool of_bytes) -> const run::Peaks& {
      return peaks(backend, of_bytes && backend.device() == "cpu" ? DType::int8 : dtype);
    };
  }
  [[nodiscard]] bool stopped() const { return options.stop && options.stop(); }
};

}  // namespace attn::cli
