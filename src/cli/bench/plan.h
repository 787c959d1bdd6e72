// What the kinds of benchmarks share: how to measure, and where each row goes as soon as it is known.
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
  open::GivenInputs given;  ///< of a model; random numbers for the rest
  run::BenchOptions options;
  std::optional<double> mean_length;
  Verify verify = Verify::automatic;
  bool profile = false;
  const Console* console = nullptr;
  std::function<const run::Peaks&(const backends::Backend&, DType)> peaks;  ///< measured at the first call
  std::function<void(report::BenchRow)> emit;
  std::function<void(report::OperationsReport)> emit_operations;

  /// Of a measurement in `dtype`. Bytes have peaks of their own on a CPU; a GPU multiplies them by plain kernels.
  [[nodiscard]] PeaksOf peaks_of(const backends::Backend& backend, DType dtype) const {
    return [this, &backend, dtype](bool of_bytes) -> const run::Peaks& {
      return peaks(backend, of_bytes && backend.device() == "cpu" ? DType::int8 : dtype);
    };
  }
  [[nodiscard]] bool stopped() const { return options.stop && options.stop(); }
};

}  // namespace attn::cli
