#include <algorithm>
#include <memory>
#include <utility>

#include "attn/attn.h"
#include "attn/base/error.h"
#include "attn/open/arrays.h"
#include "attn/train/archive.h"
#include "attn/train/read_data.h"
#include "model_parts.h"
#include "trainer_parts.h"

namespace attn {
namespace {

std::string json_of(const std::map<std::int64_t, double>& class_weight) {
  std::string out;
  for (const auto& [label, weight] : class_weight)
    out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", label, weight);
  return "{" + out + "}";
}

train::Setup setup_of(const open::ModelText& text, const TrainOptions& options, bool has_validation) {
  if (options.epochs < 1) throw bad_usage("epochs {}: expected 1 or more", options.epochs).about("epochs");
  if (options.batch_size < 1)
    throw bad_usage("batch_size {}: expected 1 or more", options.batch_size).about("batch_size");
  if (options.threads < 0)
    throw bad_usage("threads {}: expected their number, or 0 for all cores", options.threads).about("threads");
  if (!(options.validation_split >= 0.0 && options.validation_split < 1.0))
    throw bad_usage("validation_split {}: expected a share from 0 to below 1", options.validation_split)
        .about("validation_split");
  if (options.validation_split > 0.0 && has_validation)
    throw bad_usage("validation_split and validation exclude each other").about("validation_split");
  train::Setup out;
  out.text = text;
  out.execution.weights = options.weights;
  out.execution.seed = options.seed;
  out.execution.threads = options.threads;
  out.execution.memory_limit = options.memory_limit;
  out.execution.input_shape = text.options.input_shape;
  out.execution.keras_version = text.options.keras_version;
  out.execution.as_keras_hub = text.options.as_keras_hub;
  out.changes.loss = options.loss;
  out.changes.optimizer = options.optimizer;
  out.changes.metrics = options.metrics;
  if (options.learning_rate) out.changes.learning_rate = fmt::format("{}", *options.learning_rate);
  out.epochs = options.epochs;
  out.batch_size = options.batch_size;
  out.no_shuffle = !options.shuffle;
  if (!options.class_weight.empty()) out.class_weight = json_of(options.class_weight);
  if (options.validation_split > 0.0) out.validation_split = options.validation_split;
  return out;
}

}  // namespace

Trainer::Parts::Parts(open::ModelText text, std::optional<std::string> file, const std::map<std::string, Tensor>& data,
                      const TrainOptions& options, const std::map<std::string, Tensor>& validation)
    : source(std::move(text)), path(std::move(file)) {
  train::prepare(job, setup_of(source, options, !validation.empty()), data, validation, open::Silent());
}

Trainer::Trainer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

History Trainer::fit(const FitEvents& told) {
  train::Job& job = parts_->job;
  History out;
  train::FitEvents events;
  if (told.step) events.step = [&](const train::StepEvent&) { told.step(); };
  events.epoch = [&](const train::EpochEvent& event) {
    std::map<std::string, double> latest;
    for (const auto& [name, value] : train::values_of(train::logs_of(event.values, event.validation))) {
      out.values[name].push_back(value);
      latest[name] = value;
    }
    if (told.epoch) told.epoch(event.epoch, latest);
  };
  const bool validates = job.validation_rows->rows() > 0;
  const train::FitEnd end = train::fit(*job.trainer, *job.rows, validates ? &*job.validation_rows : nullptr,
                                       job.options, job.state.position, events);
  if (end == train::FitEnd::epochs) job.trainer->finalize();
  out.epochs = job.state.position.epoch;
  out.steps = job.state.position.step;
  out.end = train::name_of(end);
  return out;
}

std::map<std::string, double> Trainer::evaluate(const std::map<std::string, Tensor>& data) {
  train::Job& job = parts_->job;
  const open::GivenInputs given = train::named_data(job.loaded->model, data);
  train::expect_labels(job.shown, given);
  train::expect_indices(job.shown.graph, given);
  const train::Data rows(given.arrays);
  if (rows.rows() == 0) throw bad_input("there is no row to evaluate");
  std::map<std::string, double> out;
  const train::RunningValues values = train::evaluate(*job.trainer, rows, job.options.batch_size);
  for (const auto& [name, value] : train::values_of(train::logs_of(values, {}))) out.emplace(name, value);
  return out;
}

std::vector<std::string> Trainer::value_names() const {
  const keras::LossGraph& shown = parts_->job.shown;
  std::vector<std::string> out{"loss"};
  const bool has_several =
      std::ranges::count_if(shown.terms, [](const auto& term) { return term.name != "regularization"; }) > 1;
  for (const keras::LossGraph::Term& term : shown.terms)
    if (has_several && term.name != "regularization") out.push_back(term.name);
  for (const keras::LossGraph::Metric& metric : shown.metrics) out.push_back(metric.name);
  return out;
}

std::vector<NamedTensor> Trainer::weights() const {
  const train::Trainer& trainer = *parts_->job.trainer;
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < trainer.specs().size(); ++i) {
    const Tensor& weight = trainer.weights()[i];
    Tensor copy(weight.dtype(), weight.shape());
    std::copy_n(weight.data(), weight.bytes(), copy.data());
    out.push_back({trainer.specs()[i].path, std::move(copy)});
  }
  return out;
}

void Trainer::save(const std::string& path) {
  train::Job& job = parts_->job;
  job.state.draws = job.trainer->draws();
  train::write_archive(path, *job.loaded, job.compiled, *job.trainer, job.trainer->optimizer_state(), job.state);
}

Model Trainer::model() const {
  const train::Job& job = parts_->job;
  keras::ConfigOptions whole;
  whole.inner_policies = true;
  whole.assets = true;
  std::vector<Tensor> copies;
  for (const NamedTensor& weight : weights()) copies.push_back(weight.tensor);
  std::vector<NamedTensor> state;
  for (const NamedTensor& variable : train::stored_variables(job.trainer->optimizer_state()))
    state.push_back({variable.name, variable.tensor.cast(variable.tensor.dtype())});
  auto arrays = open::stored_arrays(job.trainer->specs(), copies, std::move(state));
  std::string config = train::trained_config(*job.loaded, job.compiled, whole);
  return Model(std::make_unique<Model::Parts>(open::in_memory(parts_->source, std::move(config), std::move(arrays)),
                                              parts_->path));
}

}  // namespace attn
