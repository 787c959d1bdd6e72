// What the kinds of benchmarks share: how to measure, and where each row goes as soon as it is known.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attn/report/values.h"
#include "attn/run/bench.h"
#include "forward.h"

namespace attn::cli {

enum class Verify : std::uint8_t { automatic, always, never };

struct BenchPlan {
  Execution execution;
  GivenInputs given;  ///< of a model; random numbers for the rest
  run::BenchOptions options;
  std::optional<double> mean_length;
  Verify verify = Verify::automatic;
  bool profile = false;
  const Console* console = nullptr;
  std::function<const run::Peaks&(const backends::Backend&, DType)> peaks;  ///< measured at the first call
  std::function<void(report::BenchRow)> emit;
  std::function<void(report::OperationsReport)> emit_operations;

  [[nodiscard]] bool stopped() const { return options.stop && options.stop(); }
};

}  // namespace attn::cli
