#include "bench/model_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/library/setting.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"
#include "attn/run/int8_products.h"
#include "attn/run/operations.h"
#include "attn/run/padding.h"
#include "attn/run/verify.h"
#include "bench/measurement.h"

namespace attn::cli {
namespace {

/// The reference backend's plain loops need a second or two for this many FLOPs.
constexpr double kVerifiableFlops = 4e9;

struct Prepared {
  graph::Graph graph;
  std::vector<Tensor> inputs;
  report::Setting setting;
};

Prepared prepare(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend) {
  const keras::LowerOptions lower = open::lower_options(plan.execution, plan.given);
  Prepared out;
  out.graph = loaded.model.lower(lower);
  open::require_memory(loaded, lower, out.graph, backend, plan.execution);
  out.inputs = run::make_inputs(out.graph, plan.given.arrays, plan.execution.seed);
  if (plan.mean_length) run::pad_randomly(out.graph, out.inputs, *plan.mean_length, plan.execution.seed);
  out.setting = library::setting_of(loaded, out.graph, backend, plan.execution);
  out.setting.mean_length = plan.mean_length;
  if (plan.execution.skip_padding) open::skip_padding(out.graph, out.inputs, *plan.console);
  return out;
}

backends::CompileOptions compile_options(const BenchPlan& plan) {
  backends::CompileOptions options = plan.execution.compile_options();
  options.tune = true;
  return options;
}

std::vector<NamedTensor> copies_of(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> out;
  for (const NamedTensor& named : tensors) {
    Tensor copy(named.tensor.dtype(), named.tensor.shape());
    std::copy_n(named.tensor.data(), named.tensor.bytes(), copy.data());
    out.push_back({named.name, std::move(copy)});
  }
  return out;
}

}  // namespace

void measure_model(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend) {
  Prepared model = prepare(plan, loaded, backend);
  const auto flops = static_cast<double>(run::total_flops(model.graph));
  // The unpacked weights stay in memory only if the reference backend reads them too.
  const bool whole = plan.verify == Verify::always || (plan.verify != Verify::never && flops <= kVerifiableFlops);
  std::vector<Tensor> weights = open::load_weights(loaded, plan.execution, *plan.console);
  const std::vector<Tensor> kept = whole ? weights : std::vector<Tensor>();
  report::BenchRow row;
  row.setting = model.setting;

  run::reset_peak_memory();
  run::Session session(backend, model.graph, std::move(weights), compile_options(plan));
  open::note_choices(session, *plan.console);
  session.run(model.inputs);
  const std::vector<NamedTensor> first = copies_of(session.outputs());
  if (!time_session(session, model.inputs, flops, plan.options, *plan.console, row)) return;
  if (session.device_clock() != nullptr) session.run(model.inputs);
  try {
    if (plan.verify != Verify::never && !plan.stopped()) {
      row.verification = whole
                             ? run::verify(model.graph, kept, model.inputs, session.outputs(), plan.execution.precision)
                             : run::verify_repeat(first, session.outputs());
    }
    if (plan.profile && !plan.stopped())
      row.profile = profile_session(session, model.inputs, plan.peaks_of(backend, dtype_of_row(row.setting)));
  } catch (const Stopped&) {  // the times are already complete
  }
  plan.emit(std::move(row));
}

void measure_operations(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend) {
  Prepared model = prepare(plan, loaded, backend);
  const backends::CompileOptions options = compile_options(plan);
  const PeaksFor peaks_of = plan.peaks_of(backend, dtype_of_row(model.setting));
  std::vector<run::Operation> operations =
      run::operations_of(backend, std::move(model.graph), model.inputs,
                         open::load_weights(loaded, plan.execution, *plan.console), options);
  report::OperationsReport report{model.setting, {}, false};
  for (run::Operation& operation : operations) {
    if (plan.stopped()) break;
    const bool of_bytes = std::ranges::any_of(operation.graph.nodes, run::is_int8_product, &graph::Node::op);
    run::Session session(backend, std::move(operation.graph), operation.weights, options);
    const auto flops = static_cast<double>(operation.flops), bytes = static_cast<double>(operation.bytes.total());
    const std::vector<double> seconds = run::measure_passes(session, operation.inputs, plan.options);
    if (seconds.empty()) break;
    const std::vector<backends::KernelChoice> choices = session.executable().choices();
    const run::Bound bound = run::bound_of(peaks_of(of_bytes), flops, operation.bytes, operation.bytes.total());
    report.operations.push_back({operation.layer, operation.name, choices.empty() ? "" : choices.front().kernel,
                                 run::latency_of(seconds).median, flops * 1e-9, bytes * 1e-6, bound.seconds * 1e3,
                                 bound.by_memory, operation.count});
  }
  report.partial = plan.stopped();
  std::ranges::stable_sort(report.operations, std::greater{}, [](const report::ProfileRow& operation) {
    return operation.ms * static_cast<double>(operation.count);
  });
  plan.emit_operations(std::move(report));
}

void warn_of_wrong_outputs(const report::BenchRow& row, const Console& console) {
  if (!row.verification || row.verification->pass) return;
  console.warn(fmt::format("{}: the outputs differ from those of the {} by {:.1e}, more than the allowed {:.1e}",
                           printable(row.setting.model), row.verification->against, row.verification->error,
                           row.verification->tolerance));
}

}  // namespace attn::cli
