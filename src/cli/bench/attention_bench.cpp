#include "bench/attention_bench.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "arguments/range_list.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/library/setting.h"
#include "attn/open/execution.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"
#include "attn/run/workload.h"
#include "bench/measurement.h"

namespace attn::cli {
namespace {

DType floating_dtype(const std::string& name) {
  const auto dtype = dtype_of(name);
  if (!dtype || !is_floating(*dtype)) {
    throw bad_usage("--dtype {}: --attention supports float32, float16, bfloat16 and float64", printable(name));
  }
  return *dtype;
}

run::Session session_of(graph::Graph graph, const open::Execution& execution, const backends::Backend& backend) {
  backends::CompileOptions options = execution.compile_options();
  options.tune = true;
  return {backend, std::move(graph), {}, options};
}

std::vector<run::AttentionSize> sizes_of(const AttentionSweep& sweep) {
  if (!sweep.sizes.empty()) return sweep.sizes;
  const std::int64_t key_heads = sweep.key_heads.value_or(sweep.heads);
  if (sweep.heads % key_heads != 0) {
    throw bad_usage("--key-heads {}: {} query heads are not a multiple of it", key_heads, sweep.heads);
  }
  std::vector<run::AttentionSize> sizes;
  for (const std::int64_t head_dim : sweep.head_dims)
    for (const std::int64_t batch : sweep.batches)
      for (const std::int64_t length : sweep.lengths)
        sizes.push_back({batch, length, sweep.heads, key_heads, head_dim, sweep.causal, {}});
  return sizes;
}

std::string name_of_size(const run::AttentionSize& size) {
  const std::string key_heads = size.key_heads == size.heads ? "" : fmt::format("/{}", size.key_heads);
  return fmt::format("attention h{}{} d{}{}", size.heads, key_heads, size.head_dim, size.causal ? " causal" : "");
}

}  // namespace

std::size_t AttentionSweep::count() const {
  return sizes.empty() ? head_dims.size() * batches.size() * lengths.size() : sizes.size();
}

void add_attention_sweep(Options& options, bool& attention, AttentionSweep& sweep) {
  const Option kernels = options.flag("--attention", attention, "measure attention kernels instead of a model");
  options
      .parsed(
          "--head-dim", [&sweep](const std::string& text) { sweep.head_dims = parse_range_list("--head-dim", text); },
          "SIZES", "with --attention: head sizes (default 64)")
      .needs(kernels);
  options.add("--heads", sweep.heads, "N", "with --attention: number of query heads (default 16)")
      .between(1, 65536)
      .needs(kernels);
  options
      .add("--key-heads", sweep.key_heads, "N",
           "with --attention: number of key and value heads (default that of --heads)")
      .between(1, 65536)
      .needs(kernels);
  options.flag("--causal", sweep.causal, "with --attention: use a causal mask").needs(kernels);
  options
      .parsed(
          "--size", [&sweep](const std::string& text) { sweep.sizes = parse_attention_sizes(text); }, "BxHxSxD,…",
          "with --attention: sizes of batch, heads, positions and head: 4x16x4096x128, or 4x16x4096x128:causal; "
          "separated by commas")
      .needs(kernels);
  options
      .flag(
          "--no-peak", [&sweep] { sweep.peak = false; },
          "with --attention: skip the large matrix product that measures peak speed")
      .needs(kernels);
}

std::vector<run::AttentionSize> parse_attention_sizes(const std::string& text) {
  constexpr std::string_view kCausal = ":causal";
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::vector<run::AttentionSize> sizes;
  for (std::string word : split(text, ',')) {
    const auto wrong = [&text] {
      return bad_usage(
          "--size {}: expected batch, heads, positions and head size, as in 4x16x4096x128 or 1x16x512x64:causal, "
          "separated by commas",
          printable(text));
    };
    run::AttentionSize size;
    size.causal = word.ends_with(kCausal);
    if (size.causal) word.resize(word.size() - kCausal.size());
    std::vector<std::int64_t> numbers;
    for (const std::string& part : split(word, 'x')) {
      std::int64_t number = 0;
      const char* const end = part.data() + part.size();
      const auto [rest, error] = std::from_chars(part.data(), end, number);
      if (error != std::errc() || rest != end || number < 1 || number > kMost) throw wrong();
      numbers.push_back(number);
    }
    if (numbers.size() != 4) throw wrong();
    size.batch = numbers[0], size.heads = size.key_heads = numbers[1], size.length = numbers[2];
    size.head_dim = numbers[3];
    sizes.push_back(size);
  }
  return sizes;
}

void measure_attention(const BenchPlan& plan, const AttentionSweep& sweep, const backends::Backend& backend) {
  const std::vector<run::AttentionSize> sizes = sizes_of(sweep);
  for (const std::string& name : sweep.dtypes) {
    const DType dtype = floating_dtype(name);
    const double peak = sweep.peak ? plan.peaks(backend, dtype).flops_per_second : 0.0;
    for (run::AttentionSize size : sizes) {
      if (plan.stopped()) return;
      size.dtype = dtype;
      const graph::Graph graph = run::attention_workload(size);
      const std::vector<Tensor> inputs = run::workload_inputs(graph, plan.execution.seed);
      open::Execution one = plan.execution;
      one.dtype = name;
      report::BenchRow row;
      row.setting = library::setting_of("attention", graph, backend, one);
      row.setting.model = name_of_size(size);
      row.setting.seq_len = size.length;
      run::reset_peak_memory();
      run::Session session = session_of(graph, plan.execution, backend);
      open::note_choices(session, *plan.console);
      if (!time_session(session, inputs, run::attention_flops(size), plan.options, *plan.console, row)) return;
      row.error = run::attention_error(size, inputs, session.outputs().front().tensor);
      if (peak > 0) row.peak_share = row.gflops_per_second * 1e9 / peak;
      plan.emit(std::move(row));
    }
  }
}

}  // namespace attn::cli
