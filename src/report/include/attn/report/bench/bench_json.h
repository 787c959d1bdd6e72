// A benchmark as JSON.
#pragma once

#include <string>

#include "attn/report/values.h"

namespace attn::report {

/// Returns the benchmark as JSON, "attn.bench/1".
[[nodiscard]] std::string bench_json(const BenchReport& report);

/// Returns the benchmark as JSON Lines: an object without the measurements, one for each measurement, and one with the
/// flag whether the benchmark was completed.
[[nodiscard]] std::string bench_json_lines(const BenchReport& report);
[[nodiscard]] std::string bench_json_head(const BenchReport& report);
[[nodiscard]] std::string bench_json_line(const BenchRow& row);
[[nodiscard]] std::string bench_json_line(const OperationsReport& operations);
[[nodiscard]] std::string bench_json_tail(const BenchReport& report);

}  // namespace attn::report
