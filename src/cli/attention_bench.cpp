#include "attention_bench.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/run/inputs.h"
#include "attn/run/workload.h"
#include "measurement.h"

namespace attn::cli {
namespace {

DType floating_dtype(const std::string& name) {
  const auto dtype = dtype_of(name);
  if (!dtype || !is_floating(*dtype)) {
    throw bad_usage("--dtype {}: attention is measured in float32, float16, bfloat16 or float64", printable(name));
  }
  return *dtype;
}

run::Session session_of(graph::Graph graph, const Execution& execution, const backends::Backend& backend) {
  backends::CompileOptions options = execution.compile_options();
  options.tune = true;
  return {backend, std::move(graph), {}, options};
}

/// FLOP per second of a product that is large for the device.
double product_speed(DType dtype, const Execution& execution, const backends::Backend& backend,
                     const run::BenchOptions& options, const Console& console) {
  const std::int64_t n = backend.device() == "cpu" ? 2048 : 8192;
  const graph::Graph graph = run::product_workload(n, dtype);
  const std::vector<Tensor> inputs = run::make_inputs(graph, {}, execution.seed);
  run::Session session = session_of(graph, execution, backend);
  report::BenchRow row;
  row.setting.device = backend.device();
  time_session(session, inputs, static_cast<double>(run::total_flops(graph)), options, console, row);
  return row.gflops_per_second * 1e9;
}

}  // namespace

std::vector<report::BenchRow> attention_rows(const AttentionSweep& sweep, const Execution& execution,
                                             const backends::Backend& backend, const run::BenchOptions& options,
                                             const Console& console) {
  const std::int64_t key_heads = sweep.key_heads.value_or(sweep.heads);
  if (sweep.heads % key_heads != 0) {
    throw bad_usage("--key-heads {}: {} query heads cannot share them evenly", key_heads, sweep.heads);
  }
  std::vector<report::BenchRow> rows;
  for (const std::string& name : sweep.dtypes) {
    const DType dtype = floating_dtype(name);
    const double peak = product_speed(dtype, execution, backend, options, console);
    for (const std::int64_t head_dim : sweep.head_dims) {
      for (const std::int64_t batch : sweep.batches) {
        for (const std::int64_t length : sweep.lengths) {
          const run::AttentionSize size{batch, length, sweep.heads, key_heads, head_dim, sweep.causal, dtype};
          const graph::Graph graph = run::attention_workload(size);
          const std::vector<Tensor> inputs = run::make_inputs(graph, {}, execution.seed);
          Execution one = execution;
          one.dtype = name;
          report::BenchRow row;
          row.setting = setting_of("attention", graph, backend, one);
          row.setting.model = fmt::format("attention h{}{} d{}{}", sweep.heads,
                                          key_heads == sweep.heads ? "" : fmt::format("/{}", key_heads), head_dim,
                                          sweep.causal ? " causal" : "");
          row.setting.seq_len = length;
          run::reset_peak_memory();
          run::Session session = session_of(graph, execution, backend);
          note_choices(session, console);
          time_session(session, inputs, run::attention_flops(size), options, console, row);
          row.error = run::attention_error(size, inputs, session.outputs().front().tensor);
          if (peak > 0) row.peak_share = row.gflops_per_second * 1e9 / peak;
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

}  // namespace attn::cli
