#include "arguments/shared_options.h"
#include "attn/base/stopwatch.h"
#include "attn/library/setting.h"
#include "attn/report/evaluation_view.h"
#include "attn/train/job.h"
#include "options/command.h"
#include "output/common.h"
#include "training/options.h"

namespace attn::cli {
namespace {

struct EvaluateCommand {
  Common common;
  train::Setup setup;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json});
    add_model(options, setup.model);
    declare_data(options, setup.files);
    options.add("--batch-size", setup.batch_size, "N", "batch size (default 32)").above_zero();
    options.group(OptionGroup::loss);
    train::CompileChanges& changes = setup.changes;
    declare_loss(options, changes);
    options.flag("--from-logits", changes.from_logits, "compute the loss from logits");
    declare_metrics(options, changes);
    add_memory_limit(options, setup.execution.memory_limit);
    add_input_shape(options, setup.execution.input_shape);
    add_weights(options, setup.execution.weights);
    add_backend(options, setup.execution.backend);
    add_matmul_precision(options, setup.execution.precision);
    add_sequence_length(options, setup.execution.sequence_length);
    add_threads(options, setup.execution.threads);
    add_keras_version(options, setup.execution.keras_version);
  }

  [[nodiscard]] int run() const {
    train::Job job;
    train::prepare_evaluation(job, setup, common.console);
    Stopwatch watch;
    const train::RunningValues values = train::evaluate(*job.trainer, *job.rows, setup.batch_size);
    const report::EvaluationReport report{
        library::setting_of(*job.loaded, job.shown.graph, *job.backend, setup.execution),
        job.shown.described,
        job.rows->rows(),
        setup.batch_size,
        train::logs_of(values, {}),
        watch.lap()};
    common.write(report::render(common.form(), report));
    return static_cast<int>(ExitCode::done);
  }
};

}  // namespace

Command evaluate_command() {
  return command_of<EvaluateCommand>("evaluate",
                                     "compute the loss and the metrics of a model, like Keras's evaluate()");
}

}  // namespace attn::cli
