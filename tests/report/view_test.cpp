#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "attn/report/bench/bench_json.h"
#include "attn/report/bench/bench_view.h"
#include "attn/report/run_view.h"

using namespace attn;
using namespace attn::report;
using nlohmann::json;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Setting setting() { return {"encoder", "cpu", "onednn", "float32", "highest", 1, 50, 2}; }

RunReport run_report() {
  RunReport report;
  report.setting = setting();
  report.seed = 3;
  report.inputs = {{"x", "float32", Shape{1, 50, 512}, "random"}};
  report.outputs = {{"output_0", "float32", Shape{1, 50, 512}, 0.125, 1, -3, 3, 0, {0.5, -0.25}, ""}};
  report.load_seconds = 0.0012;
  report.prepare_seconds = 0.0034;
  report.run_seconds = 0.0056;
  return report;
}

CompareReport difference() {
  return {"expected.npz",
          1e-4,
          1e-6,
          false,
          {{"output_0", false, "", 25600, 2, 0.5, {0, 3, 7}, 1.0, 1.5},
           {"output_1", true, "", 10, 0, 1e-7, {0}, 0, 0},
           {"output_2", false, "expected shape (1, 5), got (1, 6)", 0, 0, 0, {}, 0, 0}}};
}

BenchRow bench_row(std::int64_t batch, double median) {
  BenchRow row;
  row.setting = setting();
  row.setting.batch = batch;
  row.iterations = 100;
  row.ms = {median - 0.1, median - 0.05, median,       median + 0.01, median + 0.1,
            median + 0.1, median + 0.2,  median + 0.2, median + 0.3};
  row.tokens_per_second = 50.0 * static_cast<double>(batch) / median * 1000;
  row.gflop = 0.25;
  row.gflops_per_second = 0.25 / median * 1000;
  row.peak_bytes = 4 << 20;
  return row;
}

BenchReport bench_report(std::vector<BenchRow> rows) {
  BenchReport report;
  report.machine = "a machine";
  report.rows = std::move(rows);
  return report;
}

}  // namespace

TEST_CASE("run: the text shows the setting, each output and the times") {
  CHECK(render(Format::table, run_report()) ==
        "encoder: cpu (onednn), float32, batch 1, length 50, 2 threads, seed 3\n"
        "  input x (1, 50, 512) float32: random\n"
        "\n"
        "Output    Shape         Dtype     Mean  Std  Min  Max  First values\n"
        "────────  ────────────  ───────  ─────  ───  ───  ───  ────────────\n"
        "output_0  (1, 50, 512)  float32  0.125    1   -3    3  0.5 -0.25\n"
        "\n"
        "load 1.20 ms, prepare 3.40 ms, run 5.60 ms\n");
}

TEST_CASE("run: a difference is one sentence with the worst index and both values") {
  CHECK(compare_text(difference()) ==
        "Differs from expected.npz (rtol 0.0001, atol 1e-06)\n"
        "  output_0: 2 of 25,600 values differ, max abs error 0.5; worst at [0, 3, 7]: expected 1, got 1.5\n"
        "  output_1: agrees, max abs error 1e-07\n"
        "  output_2: expected shape (1, 5), got (1, 6)\n");
}

TEST_CASE("run: JSON has numbers as numbers, and counts non-finite ones") {
  RunReport report = run_report();
  report.outputs[0].mean = kNaN;
  report.outputs[0].non_finite = 4;
  report.compare = difference();
  const json value = json::parse(render(Format::json, report));
  CHECK(value["schema"] == "attn.run/1");
  CHECK(value["device"] == "cpu");
  CHECK(value["batch"] == 1);
  CHECK(value["seq_len"] == 50);
  CHECK(value["seed"] == 3);
  CHECK(value["inputs"][0]["source"] == "random");
  CHECK(value["outputs"][0]["mean"] == nullptr);
  CHECK(value["outputs"][0]["non_finite"] == 4);
  CHECK(value["outputs"][0]["shape"] == json({1, 50, 512}));
  CHECK(value["outputs"][0]["first_values"] == json({0.5, -0.25}));
  CHECK(value["ms"]["run"] == doctest::Approx(5.6));
  CHECK(value["compare"]["pass"] == false);
  CHECK(value["compare"]["outputs"][0]["worst_index"] == json({0, 3, 7}));
  CHECK(value["compare"]["outputs"][1]["problem"] == nullptr);
  CHECK(render(Format::table, report).find("output_0: 4 of its values are NaN or infinite\n") != std::string::npos);
}

TEST_CASE("bench: a JSON row has exactly the documented members, and others only on request") {
  BenchReport report = bench_report({bench_row(1, 2.0)});
  const json row = json::parse(bench_json(report))["rows"][0];
  std::vector<std::string> keys;
  const auto ordered = nlohmann::ordered_json::parse(bench_json(report));
  for (const auto& [key, member] : ordered["rows"][0].items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"model", "device", "backend", "dtype", "matmul_precision", "batch", "seq_len",
                                         "threads", "iterations", "ms", "tokens_per_second", "gflop",
                                         "gflops_per_second", "peak_bytes", "noise"});
  CHECK(row["ms"].size() == 9);
  CHECK(row["ms"]["median"] == 2.0);
  CHECK(row["peak_bytes"] == 4194304);

  report.rows[0].setting.seq_len.reset();
  report.rows[0].profile = {{"mha", "Attention", "onednn sdpa", 1.5, 0.1}};
  report.rows[0].baseline = Baseline{1.0, true, true};
  report.rows[0].samples_ms = {2.0, 2.5};
  report.rows[0].verification = run::Verification{"reference", 1e-7, 1e-5, true};
  const json more = json::parse(bench_json(report))["rows"][0];
  CHECK(more["seq_len"] == nullptr);
  CHECK(more["profile"][0]["layer"] == "mha");
  CHECK(more["baseline"]["slower"] == true);
  CHECK(more["baseline"]["ratio"] == 2.0);
  CHECK(more["samples_ms"] == json{2.0, 2.5});
  CHECK(more["verified"]["against"] == "reference");
}

TEST_CASE("bench: the table omits columns that are constant or empty") {
  const BenchReport report = bench_report({bench_row(1, 2.0), bench_row(8, 4.0)});
  CHECK(render(Format::table, report) ==
        "a machine\n"
        "model encoder, device cpu, backend onednn, dtype float32, matmul precision highest, length 50, threads 2\n"
        "\n"
        "batch  runs  median ms   p10   p90   p99  tokens/s  GFLOP/s   memory\n"
        "─────  ────  ─────────  ────  ────  ────  ────────  ───────  ───────\n"
        "    1   100       2.00  1.95  2.10  2.20    25,000      125  4.00 MB\n"
        "    8   100       4.00  3.95  4.10  4.20   100,000     62.5  4.00 MB\n");
}

TEST_CASE("bench: a profile follows the table, and a missing time has no rate") {
  BenchReport report = bench_report({bench_row(1, 2.0)});
  report.rows[0].profile = {{"mha", "Attention", "sdpa", 1.5, 0.15, 3, 0.75, true}, {"add", "Add", "loop"}};
  CHECK(render(Format::table, report)
            .ends_with("\nencoder: cpu (onednn), float32, batch 1, length 50, 2 threads\n"
                       "layer  operation  implementation    ms  share  GFLOP/s  GB/s      of bound\n"
                       "─────  ─────────  ──────────────  ────  ─────  ───────  ────  ────────────\n"
                       "mha    Attention  sdpa            1.50   100%      100  2.00  50.0% memory\n"
                       "add    Add        loop               0     0%        -     -             -\n"));
  CHECK(render(Format::markdown, report).find("| mha   | Attention |") != std::string::npos);
}

TEST_CASE("bench: CSV has one record per measurement") {
  const BenchReport report = bench_report({bench_row(1, 2.0)});
  CHECK(render(Format::csv, report)
            .starts_with("model,device,backend,dtype,matmul_precision,batch,seq_len,threads,iterations,ms_min,ms_p10,"
                         "ms_median,ms_mean,"
                         "ms_p90,ms_p95,ms_p99,ms_p99_9,ms_max,tokens_per_second,gflop,gflops_per_second,peak_bytes\r\n"
                         "encoder,cpu,onednn,float32,highest,1,50,2,100,1.9,1.95,2,2.01,2.1,2.1,2.2,2.2,2.3,25000,0.25,"
                         "125,4194304\r\n"));
}

TEST_CASE("bench: JSON Lines have a header, a line per measurement, and a line that says whether the run is partial") {
  BenchReport report = bench_report({bench_row(1, 2.0), bench_row(8, 4.0)});
  report.partial = true;
  const std::string text = bench_json_lines(report);
  std::vector<json> lines;
  for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1)
    lines.push_back(json::parse(text.substr(from, text.find('\n', from) - from)));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["schema"] == "attn.bench/1");
  CHECK(lines[2]["batch"] == 8);
  CHECK(lines[3]["partial"] == true);
  CHECK(json::parse(bench_json(report))["rows"][1] == lines[2]);
}

TEST_CASE("bench: an idle machine has no warning, and each disturbance has its own") {
  BenchRow row = bench_row(1, 2.0);
  CHECK(noise_warnings(row).empty());
  row.noise.spread = 0.2;
  row.noise.outliers = 3;
  row.noise.slowest = 12;
  row.noise.drift = 0.5;
  row.noise.other_cores = 1.5;
  const std::vector<std::string> warnings = noise_warnings(row);
  REQUIRE(warnings.size() == 4);
  CHECK(warnings[0].find("±20.0%") != std::string::npos);
  CHECK(warnings[1].find("3 of 100 passes") != std::string::npos);
  CHECK(warnings[2].find("50.0% longer") != std::string::npos);
  CHECK(warnings[3].find("1.5 cores") != std::string::npos);
}

TEST_CASE("bench: a report without measurements says so") {
  CHECK(render(Format::table, BenchReport{}) == "nothing was measured\n");
}
