// A benchmark as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"

namespace attn::report {

/// table: the machine, a row per measurement, the profiles behind it; what is the same in every row is named once above
/// the table. markdown: the same for a page. csv: a record per measurement with the members of the JSON rows; those of
/// `ms` are ms_min, ms_p10, …. json, jsonl: as attn/report/bench_json.h has them.
[[nodiscard]] std::string render(Format format, const BenchReport& report);

/// A sentence for each thing that was in the times and is not the model's.
[[nodiscard]] std::vector<std::string> noise_warnings(const BenchRow& row);
/// The strongest of them as a cell: "±12%", "3 slow", "+7.1%", "busy"; "-" where there is none.
[[nodiscard]] std::string noise_text(const BenchRow& row);
/// All of several rows as one sentence; "" where there are none.
[[nodiscard]] std::string noise_summary(const std::vector<BenchRow>& rows);

/// The settings and latencies of an earlier bench_json; nothing else of it is read. `name` is the file's, for messages.
/// Throws Error (bad_input).
[[nodiscard]] std::vector<BenchRow> parse_bench_json(const std::string& name, std::string_view text);

}  // namespace attn::report
