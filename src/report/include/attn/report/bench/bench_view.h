// A benchmark as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"

namespace attn::report {

/// table: the machine, a row for each measurement, then the profiles; settings that are equal in all rows are printed
/// once above the table. markdown: the same for a page. csv: a record for each measurement with the members of the JSON
/// rows; the members of `ms` are ms_min, ms_p10, …. json, jsonl: see attn/report/bench/bench_json.h.
[[nodiscard]] std::string render(Format format, const BenchReport& report);

/// Returns a sentence for each source of noise in the times.
[[nodiscard]] std::vector<std::string> noise_warnings(const BenchRow& row);
/// Returns the largest source of noise as a cell: "±12%", "3 slow", "+7.1%", "busy"; "-" if there is none.
[[nodiscard]] std::string noise_text(const BenchRow& row);
/// Returns the sources of noise of all rows as one sentence; "" if there are none.
[[nodiscard]] std::string noise_summary(const std::vector<BenchRow>& rows);

/// Parses the settings and latencies of an earlier bench_json; ignores everything else. `name` is the file name for
/// messages. Throws Error (bad_input).
[[nodiscard]] std::vector<BenchRow> parse_bench_json(const std::string& name, std::string_view text);

}  // namespace attn::report
