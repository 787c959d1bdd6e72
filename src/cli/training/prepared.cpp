#include "training/prepared.h"

#include <algorithm>
#include <map>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/library/setting.h"
#include "attn/train/archive.h"
#include "attn/train/arrays.h"
#include "training/callback_options.h"

namespace attn::cli {
namespace {

/// Returns the name of the dtype policy; `computed` is the dtype of the first computed value, for a graph without half
/// precision.
std::string policy_of(const graph::Graph& graph, const std::string& computed) {
  const bool keeps_floats =
      std::ranges::any_of(graph.weights, [](const graph::WeightSpec& spec) { return spec.dtype == DType::float32; });
  for (const graph::Value& value : graph.values)
    if (value.dtype == DType::bfloat16 || value.dtype == DType::float16)
      return (keeps_floats ? "mixed_" : "") + std::string(name_of(value.dtype));
  return computed;
}

/// Returns a line with name and fingerprint for each array.
std::string prints_of(const std::map<std::string, std::string>& fingerprints) {
  std::string out;
  for (const auto& [name, print] : fingerprints) out += fmt::format("{} {}\n", name, print);
  return out;
}

}  // namespace

report::TrainingReport PreparedTraining::describe(const open::Execution& execution) const {
  report::TrainingReport report;
  report.setting = library::setting_of(*loaded, shown.graph, *backend, execution);
  report.optimizer = printable(train::optimizer_title(compiled)) + (settings.loss_scale ? " with a scaled loss" : "");
  if (settings.loss_scale_factor)
    report.optimizer += fmt::format(" with the loss times {:g}", *settings.loss_scale_factor);
  report.loss = shown.described;
  report.seed = state.seed;
  report.rows = rows->rows();
  report.policy = policy_of(shown.graph, report.setting.dtype);
  report.data = fingerprint_of("data", prints_of(state.data)).hash;
  report.memory = memory;
  for (const graph::WeightSpec& spec : shown.graph.weights) {
    report.params += spec.shape.size();
    if (spec.trainable) report.trainable += spec.shape.size();
  }
  if (report.trainable == 0) throw bad_input("no layer is left to train");
  return report;
}

void prepare(PreparedTraining& job, const TrainingOptions& options, communicators::Communicator* ranks, bool writes) {
  using Clock = std::chrono::steady_clock;
  options.check();
  if (options.expected_losses) job.expected = train::read_expected_losses(*options.expected_losses);
  train::Setup setup = options.setup;
  setup.saves_best = options.save_best.has_value();
  if (options.time_limit)
    setup.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(time_span(*options.time_limit)));
  train::prepare(job, setup, ranks, options.common.console);
  if (options.lora_output) train::expect_low_rank(*job.trainer);
  if (writes && options.saves())
    train::require_disk(*options.target, *job.trainer, job.callbacks->keeps_best_weights(),
                        options.keep.value_or(0) + 1);
}

std::vector<Fingerprint> fingerprints_of(const PreparedTraining& job, const TrainingOptions& options) {
  const std::string arrays = prints_of(job.state.data) + prints_of(train::fingerprints(job.held_out.arrays));
  return {fingerprint_of("attn", ATTN_VERSION),
          fingerprint_of("model", graph::print(job.shown.graph) + job.compiled),
          fingerprint_of("options", options.decisive() + fmt::format(" {}", job.state.position.step)),
          fingerprint_of("data", arrays),
          fingerprint_of("weights", job.trainer->weights()),
          fingerprint_of("optimizer", job.taken_over)};
}

}  // namespace attn::cli
