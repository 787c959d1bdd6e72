// A benchmark as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/values.h"

namespace attn::report {

/// The machine, a table with a row per measurement, the profiles behind it. What is the same in every row is named once
/// above the table.
[[nodiscard]] std::string bench_text(const BenchReport& report);

/// The same table, for a page.
[[nodiscard]] std::string bench_markdown(const BenchReport& report);

/// One record per measurement with the members of the JSON rows; those of `ms` are ms_min, ms_p10, ….
[[nodiscard]] std::string bench_csv(const BenchReport& report);

/// "attn.bench/1".
[[nodiscard]] std::string bench_json(const BenchReport& report);

/// The same as JSON Lines: an object with all but the measurements, one for each measurement, one that says whether it
/// went on to the end.
[[nodiscard]] std::string bench_json_lines(const BenchReport& report);
[[nodiscard]] std::string bench_json_head(const BenchReport& report);
[[nodiscard]] std::string bench_json_line(const BenchRow& row);
[[nodiscard]] std::string bench_json_line(const OperationsReport& operations);
[[nodiscard]] std::string bench_json_tail(const BenchReport& report);

/// A sentence for each thing that was in the times and is not the model's.
[[nodiscard]] std::vector<std::string> noise_warnings(const BenchRow& row);

/// The settings and latencies of an earlier bench_json; nothing else of it is read. `name` is the file's, for messages.
/// Throws Error (bad_input).
[[nodiscard]] std::vector<BenchRow> parse_bench_json(const std::string& name, std::string_view text);

}  // namespace attn::report
