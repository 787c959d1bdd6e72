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

}  // namespace

void measure_attention(const BenchPlan& plan, const AttentionSweep& sweep, const backends::Backend& backend) {
  const std::int64_t key_heads = sweep.key_heads.value_or(sweep.heads);
  if (sweep.heads % key_heads != 0) {
    throw bad_usage("--key-heads {}: {} query heads cannot share them evenly", key_heads, sweep.heads);
  }
  for (const std::string& name : sweep.dtypes) {
    const DType dtype = floating_dtype(name);
    const double peak = plan.peaks(backend, dtype).flops_per_second;
    for (const std::int64_t head_dim : sweep.head_dims) {
      for (const std::int64_t batch : sweep.batches) {
        for (const std::int64_t length : sweep.lengths) {
          if (plan.stopped()) return;
          const run::AttentionSize size{batch, length, sweep.heads, key_heads, head_dim, sweep.causal, dtype};
          const graph::Graph graph = run::attention_workload(size);
          const std::vector<Tensor> inputs = run::workload_inputs(graph, plan.execution.seed);
          Execution one = plan.execution;
          one.dtype = name;
          report::BenchRow row;
          row.setting = setting_of("attention", graph, backend, one);
          row.setting.model = fmt::format("attention h{}{} d{}{}", sweep.heads,
                                          key_heads == sweep.heads ? "" : fmt::format("/{}", key_heads), head_dim,
                                          sweep.causal ? " causal" : "");
          row.setting.seq_len = length;
          run::reset_peak_memory();
          run::Session session = session_of(graph, plan.execution, backend);
          note_choices(session, *plan.console);
          if (!time_session(session, inputs, run::attention_flops(size), plan.options, *plan.console, row)) return;
          row.error = run::attention_error(size, inputs, session.outputs().front().tensor);
          if (peak > 0) row.peak_share = row.gflops_per_second * 1e9 / peak;
          plan.emit(std::move(row));
        }
      }
    }
  }
}

}  // namespace attn::cli
