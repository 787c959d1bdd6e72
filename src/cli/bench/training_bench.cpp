#include "bench/training_bench.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/keras/json_text.h"
#include "attn/keras/optimizer.h"
#include "attn/library/setting.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"
#include "attn/run/memory.h"
#include "attn/train/compile_changes.h"
#include "attn/train/read_data.h"
#include "attn/train/trainer.h"

namespace attn::cli {
namespace {

using Json = nlohmann::ordered_json;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Json as_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

/// Returns the data of a step; missing arrays are random.
train::Batch step_data(const keras::LossGraph& lowered, std::map<std::string, Tensor> arrays, std::uint64_t seed) {
  train::draw_targets(lowered, seed, arrays);
  graph::Graph inputs = lowered.graph;
  std::erase_if(inputs.inputs, [&](graph::ValueId id) {
    return arrays.contains(inputs.value(id).name) ||
           std::ranges::any_of(lowered.draws, [id](const auto& draw) { return draw.value == id; });
  });
  const std::vector<Tensor> drawn = run::make_inputs(inputs, {}, seed);
  for (std::size_t i = 0; i < drawn.size(); ++i) arrays.emplace(inputs.value(inputs.inputs[i]).name, drawn[i]);
  return arrays;
}

std::vector<report::TrainingShare> shares_of(const train::StepTimes& times) {
  std::map<std::string, report::TrainingShare> sums;
  const auto add = [&](const std::string& name, double seconds) {
    report::TrainingShare& share = sums[name];
    share.operation = name;
    share.ms += seconds * 1e3;
    ++share.count;
  };
  for (const train::StepTimes::Node& node : times.nodes) add(node.name, node.seconds);
  add("optimizer", times.optimizer);
  std::vector<report::TrainingShare> out;
  for (const auto& [name, share] : sums) out.push_back(share);
  std::ranges::stable_sort(out, std::greater{}, &report::TrainingShare::ms);
  return out;
}

}  // namespace

std::string compile_config_of(const TrainingSetup& setup, const keras::Model& model) {
  const std::optional<std::string> own = model.compile_config();
  Json config = own ? keras::parse_json_text(*own, "compile_config") : Json{{"optimizer", "adam"}, {"loss", "mse"}};
  if (setup.optimizer) config["optimizer"] = as_json(*setup.optimizer);
  if (setup.loss) config["loss"] = as_json(*setup.loss);
  return keras::write_json_text(config);
}

void measure_training(const BenchPlan& plan, const TrainingSetup& setup, const open::LoadedModel& loaded,
                      const backends::Backend& backend, report::TrainingBenchReport& report) {
  open::GivenInputs given = train::read_data(loaded.model, setup.data);
  if (plan.execution.batch) train::keep_rows(given, *plan.execution.batch);
  keras::LowerOptions how = open::lower_options(plan.execution, {});
  if (!given.arrays.empty()) how.batch = given.arrays.begin()->second.shape()[0];
  const std::vector<std::string> inputs = loaded.model.array_names();
  for (const auto& [name, tensor] : given.arrays)
    if (std::ranges::find(inputs, name) != inputs.end()) how.input_shapes.emplace(name, tensor.shape());
  // Uses the compute dtype in place of a mixed policy, because variables keep their dtype in both cases.
  if (how.dtype && how.dtype->starts_with("mixed_")) how.dtype = how.dtype->substr(std::string("mixed_").size());
  const auto lower = [&](bool training) {
    keras::LossOptions loss;
    loss.loss = setup.loss;
    loss.arrays = train::target_types(loaded.model, given);
    loss.training = loss.drops = training;
    loss.seed = plan.execution.seed;
    return loaded.model.lower_loss(how, loss);
  };
  const keras::LossGraph lowered = lower(true);
  optimizers::Settings settings = keras::compiled_optimizer(compile_config_of(setup, loaded.model));
  if (!settings.loss_scale && how.dtype == "float16") settings.loss_scale.emplace();

  report::TrainingBenchRow row;
  row.setting = library::setting_of(loaded, lowered.graph, backend, plan.execution);
  if (how.dtype && *how.dtype != "float32") row.setting.dtype = "mixed_" + *how.dtype;
  report.loss = lowered.described;
  report.optimizer = train::optimizer_title(compile_config_of(setup, loaded.model));
  report.recomputes = setup.recomputes;

  train::TrainerOptions options;
  options.compile = plan.execution.compile_options();
  options.recompute = setup.recomputes;
  const train::Batch batch = step_data(lowered, given.arrays, plan.execution.seed);
  run::reset_peak_memory();
  const auto start = std::chrono::steady_clock::now();
  train::Trainer trainer(
      backend, [&](const train::Batch&, bool training) { return lower(training); }, loaded.model.weights(),
      open::load_weights(loaded, plan.execution, *plan.console), settings, options);
  row.told_bytes = trainer.memory_needed(batch);
  run::require_memory("training takes", static_cast<UInt128>(row.told_bytes),
                      open::memory_limit(plan.execution.memory_limit));
  trainer.prepare(batch);
  row.prepare_ms = ms_since(start);

  constexpr std::int64_t kSteps = 3;
  const std::int64_t first = std::max<std::int64_t>(1, plan.options.warmup_runs == 0 ? 1 : plan.options.warmup_runs);
  for (std::int64_t i = 0; i < std::max(first, kSteps) && !plan.stopped(); ++i)
    row.losses.push_back(trainer.step(batch).loss);
  run::BenchOptions timing = plan.options;
  timing.warmup_runs = 0;
  timing.warmup_seconds = timing.max_warmup_seconds = 0.0;
  timing.min_runs = std::min<std::int64_t>(timing.min_runs, 5);
  if (plan.options.min_runs == plan.options.max_runs) timing.min_runs = plan.options.min_runs;
  const std::vector<double> seconds = run::measure([&] { (void)trainer.step(batch); }, timing);
  if (seconds.empty()) return;
  row.iterations = static_cast<std::int64_t>(seconds.size());
  row.ms = run::latency_of(seconds);
  row.samples_per_second = static_cast<double>(row.setting.batch) / (row.ms.median * 1e-3);
  row.partial = plan.stopped();
  if (plan.profile && !plan.stopped()) {
    train::StepTimes times;
    (void)trainer.step(batch, &times);
    row.profile = shares_of(times);
  }
  row.peak_bytes = run::peak_memory();
  report.rows.push_back(std::move(row));
}

}  // namespace attn::cli
