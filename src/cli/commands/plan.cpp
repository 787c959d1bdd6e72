#include <memory>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/generate/open_decoder.h"
#include "attn/library/setting.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/report/parallel_view.h"
#include "attn/report/plan_view.h"
#include "attn/run/session.h"
#include "options/command.h"
#include "output/common.h"
#include "ranks/parallel_plan.h"
#include "ranks/ranks.h"

namespace attn::cli {
namespace {

struct PlanCommand {
  Common common;
  open::Execution execution;
  std::optional<std::string> model;
  std::optional<std::int64_t> max_length;
  std::optional<std::string> cache_dtype;
  bool kernels = false;
  std::optional<std::string> parallel;
  std::string cluster = "cpu-100g";

  void declare(Options& options) {
    // the extension of -o selects the form
    add_common(options, common, {Format::table, Format::json, Format::svg});
    add_model(options, model);
    add_input_shape(options, execution.input_shape);
    add_batch(options, execution.batch);
    add_sequence_length(options, execution.sequence_length);
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype(options, execution.dtype);
    add_max_length(options, max_length, "for a decoder: ");
    add_cache_dtype(options, cache_dtype);
    add_threads(options, execution.threads);
    add_keras_version(options, execution.keras_version);
    options.flag("--kernels", kernels, "prepare the model and show which kernel runs each step");
    add_parallel(options, parallel);
    options.group(OptionGroup::ranks);
    options.add("--cluster", cluster, "NAME",
                "with --parallel: cluster to predict for: h200-ndr, cpu-100g, JSON or a .json file (default cpu-100g)");
  }

  [[nodiscard]] int run() const {
    const Format form = common.form_of_output();
    refuse_page_on_terminal(form, common.output, model);
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    const keras::LowerOptions lower = open::lower_options(execution, {});
    const std::optional<ParallelWord> word = parallel ? parse_parallel(*parallel) : std::nullopt;
    if (word) {
      if (form == Format::svg || kernels)
        throw bad_usage("--parallel cannot be combined with --format svg or --kernels");
      const report::ParallelPlanReport shared = parallel_plan(loaded, lower, *word, cluster_named(cluster));
      common.write(report::render(form, shared));
      return 0;
    }
    report::PlanReport report;
    report.lowered = loaded.model.lower(lower);
    report.setting = library::setting_of(loaded.name, report.lowered, *backend, execution);
    report.plan = run::plan_for(*backend, report.lowered).plan;
    report.memory_bytes = backend->memory_needed(report.plan, execution.compile_options());
    if (loaded.model.decodes()) {
      report.cache = cache_of(loaded.model);
    } else if (max_length || cache_dtype) {
      throw bad_usage("{}: a {} has no KV cache", max_length ? "--max-length" : "--cache-dtype",
                      loaded.model.class_name());
    }
    if (kernels) report.kernels = kernels_of(loaded, lower, report, *backend);
    common.write(report::render(form, report, terminal_columns().value_or(100)),
                 form == Format::svg ? Formatting::exact : Formatting::fitting);
    return 0;
  }

  [[nodiscard]] report::DecoderCache cache_of(const keras::Model& of) const {
    report::DecoderCache cache;
    cache.sequences = execution.batch.value_or(1);
    cache.positions = max_length.value_or(generate::usual_length(of));
    generate::StepShape shape;
    shape.rows = shape.entries = cache.sequences;
    shape.capacity = cache.positions;
    if (const auto task = of.task(); task && task->packing) {
      shape.encoder_entries = cache.sequences;
      shape.encoder_length = generate::usual_encoder_length(of);
    }
    const graph::Graph step = generate::step_of(of, execution.dtype, cache_dtype)(shape);
    for (const graph::ValueId id : step.states) {
      const graph::Value& state = step.value(id);  // (sequences, heads, positions, size)
      cache.states.push_back(
          {state.name, state.dtype, state.shape[2], state.shape[1] * state.shape[3] * attn::bytes_of(state.dtype)});
    }
    return cache;
  }

  /// Returns the kernel of each step. Kernels do not depend on values, so all weights are 0.
  [[nodiscard]] std::map<graph::NodeId, report::StepKernel> kernels_of(const open::LoadedModel& loaded,
                                                                       const keras::LowerOptions& lower,
                                                                       const report::PlanReport& report,
                                                                       const backends::Backend& backend) const {
    open::require_memory(loaded, lower, report.lowered, backend, execution);
    std::vector<Tensor> zeros;
    for (const graph::WeightSpec& spec : report.lowered.weights) zeros.emplace_back(spec.dtype, spec.shape);
    const run::Session session =
        open::prepare_session(backend, report.lowered, std::move(zeros), execution.compile_options(), common.console);
    std::map<graph::NodeId, report::StepKernel> out;
    for (const backends::KernelChoice& choice : session.executable().choices())
      out.emplace(choice.node, report::StepKernel{choice.kernel, choice.why});
    return out;
  }
};

}  // namespace

Command plan_command() { return command_of<PlanCommand>("plan", "show the steps of a forward pass and their memory"); }

}  // namespace attn::cli
