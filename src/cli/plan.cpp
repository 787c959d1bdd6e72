#include <memory>

#include "attn/report/plan_view.h"
#include "attn/run/session.h"
#include "command.h"
#include "form.h"
#include "forward.h"

namespace attn::cli {
namespace {

struct PlanCommand {
  Common common;
  Execution execution;
  std::optional<std::string> model;
  bool kernels = false;

  [[nodiscard]] int run() const {
    static const Endings kEndings = {{".svg", "svg"}, {".json", "json"}, {".txt", "table"}};
    const std::string form = form_of(common.format, common.output, kEndings, "table");
    const auto backend = open_backend(execution.device, execution.backend, common.console);
    const LoadedModel loaded = load_model(model, execution, common.console);
    const keras::LowerOptions lower = lower_options(execution, {});
    report::PlanReport report;
    report.lowered = loaded.model.lower(lower);
    report.setting = setting_of(loaded.name, report.lowered, *backend, execution);
    report.plan = run::plan_for(*backend, report.lowered).plan;
    report.memory_bytes = backend->memory_needed(report.plan, execution.compile_options());
    if (kernels) report.kernels = kernels_of(loaded, lower, report, *backend);
    write_result(text(report, form), common.output, form == "svg" ? Look::exact : Look::fitting);
    return 0;
  }

  /// Which kernel a step gets does not depend on the numbers: all weights are 0.
  [[nodiscard]] std::map<graph::NodeId, report::StepKernel> kernels_of(const LoadedModel& loaded,
                                                                       const keras::LowerOptions& lower,
                                                                       const report::PlanReport& report,
                                                                       const backends::Backend& backend) const {
    require_memory(loaded, lower, report.lowered, backend, execution);
    std::vector<Tensor> zeros;
    for (const graph::WeightSpec& spec : report.lowered.weights) zeros.emplace_back(spec.dtype, spec.shape);
    const run::Session session =
        prepare_session(backend, report.lowered, std::move(zeros), execution.compile_options(), common.console);
    std::map<graph::NodeId, report::StepKernel> out;
    for (const backends::KernelChoice& choice : session.executable().choices())
      out.emplace(choice.node, report::StepKernel{choice.kernel, choice.why});
    return out;
  }

  [[nodiscard]] static std::string text(const report::PlanReport& report, const std::string& form) {
    if (form == "svg") return report::plan_svg(report);
    if (form == "json") return report::plan_json(report);
    return report::plan_text(report, terminal_columns().value_or(100));
  }
};

}  // namespace

Run add_plan(CLI::App& app) {
  auto command = std::make_shared<PlanCommand>();
  command->common.format.clear();  // the ending of -o tells it
  add_common(app, command->common, {"table", "json", "svg"});
  app.add_option("model", command->model, "Keras JSON, .keras, .h5, or short encoder config; - is stdin")
      ->type_name("MODEL");
  app.add_option("--input-shape", command->execution.input_shape, "shape without the batch, for a single layer: 50,512")
      ->type_name("DIMS");
  app.add_option("--batch", command->execution.batch, "for an unknown batch (1)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--seq-len", command->execution.sequence_length, "for other unknown lengths (128)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--device", command->execution.device, "cpu, cuda, cuda:N or auto")->type_name("DEVICE");
  app.add_option("--backend", command->execution.backend, "reference, onednn or cuda; by default the device's best")
      ->type_name("NAME");
  app.add_option("--dtype", command->execution.dtype,
                 "compute in float32, bfloat16 or float16 instead of the model's own policy")
      ->type_name("DTYPE");
  app.add_option("--threads", command->execution.threads, "0: all cores")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  add_keras_version(app, command->execution.keras_version);
  app.add_flag("--kernels", command->kernels, "prepare the model too, and show which kernel runs each step");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
