#include "attn/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/finite.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/run/inputs.h"
#include "attn/weights/noise.h"
#include "training_program.h"

namespace attn::train {

using graph::at;
using graph::ValueId;

namespace {

Tensor copy_of(const Tensor& x) {
  Tensor out(x.dtype(), x.shape());
  std::copy_n(x.data(), x.bytes(), out.data());
  return out;
}

void copy(const Tensor& from, const Tensor& to) {
  const Tensor same = from.cast(to.dtype());
  std::copy_n(same.data(), same.bytes(), to.data());
}

}  // namespace

Tensor drawn_numbers(const graph::Graph& graph, const keras::LossGraph::Draw& draw, std::int64_t count) {
  const graph::Value& value = graph.value(draw.value);
  Tensor out(value.dtype, value.shape);
  if (draw.normal_seed) {
    weights::draw_noise(*draw.normal_seed, count, out);
  } else {
    out.set(0, static_cast<double>(count));
  }
  return out;
}

namespace {

/// Returns the key of the program for a batch: batches of equal key run the same program.
std::string key_of(const Batch& batch, bool training) {
  std::string key = training ? "training" : "";
  for (const auto& [name, tensor] : batch)
    key += fmt::format("\n{} {} {}", name, name_of(tensor.dtype()), tensor.shape().str());
  return key;
}

}  // namespace

Trainer::Trainer(const backends::Backend& backend, Lower lower, std::vector<graph::WeightSpec> specs,
                 const std::vector<Tensor>& weights, optimizers::Settings settings, const TrainerOptions& options)
    : backend_(backend),
      lower_(std::move(lower)),
      specs_(std::move(specs)),
      settings_(std::move(settings)),
      options_(options) {
  if (weights.size() != specs_.size())
    throw internal_error("{} weights for {} variables", weights.size(), specs_.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].dtype() != specs_[i].dtype || weights[i].shape() != specs_[i].shape)
      throw internal_error("the weight '{}' is not what its variable is", printable(specs_[i].path));
    weights_.push_back(copy_of(weights[i]));
  }
}

Trainer::~Trainer() = default;

std::vector<Tensor> Trainer::trained() const {
  std::vector<Tensor> out;
  for (const std::size_t i : trainable_) out.push_back(weights_[i]);
  return out;
}

void Trainer::expect_weights(const std::vector<Tensor>& weights) const {
  if (weights.size() != weights_.size())
    throw bad_input("{} weights for a model of {}", weights.size(), weights_.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i].shape() != weights_[i].shape())
      throw bad_input("the weight '{}' is {}, not {}", printable(specs_[i].path), weights_[i].shape().str(),
                      weights[i].shape().str());
}

void Trainer::set_weights(const std::vector<Tensor>& weights) {
  expect_weights(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) copy(weights[i], weights_[i]);
}

void Trainer::finalize() {
  optimizer_->finalize(trained());
  if (shares_optimizer()) exchange_weights();
}

std::unique_ptr<TrainingProgram> Trainer::plan_of(const Batch& batch, Purpose purpose) const {
  const Dim rows = batch.empty() ? 0 : batch.begin()->second.shape()[0];
  return ProgramPlanner(backend_, settings_, options_, trainable_)
      .plan(lower_(batch, purpose != Purpose::evaluation), rows, purpose);
}

bool Trainer::anywhere(bool here) const {
  if (options_.compile.ranks == nullptr) return here;
  std::int32_t is_so = here ? 1 : 0;
  auto* const bytes = reinterpret_cast<std::byte*>(&is_so);
  options_.compile.ranks->all_reduce(bytes, bytes, 1, DType::int32, communicators::Reduction::max);
  return is_so != 0;
}

std::int64_t Trainer::memory_needed(const Batch& batch) {
  std::int64_t state = 0;
  const Program& step = planned(batch, true);
  if (step.executable) throw internal_error("the memory of a step was requested after its allocation");
  for (const NamedTensor& variable : optimizer_->state()) state += variable.tensor.bytes();
  if (shares_optimizer() && options_.compile.ranks->rank() == 0)
    state += optimizer_bytes();  // whole variables, while rank 0 writes the state
  return plan::sum_of_bytes({backend_.memory_needed(step.plan, options_.compile), state});
}

TrainingProgram& Trainer::planned(const Batch& batch, bool training) {
  begin(batch);
  std::unique_ptr<Program>& found = programs_[key_of(batch, training)];
  if (!found) found = plan_of(batch, training ? Purpose::step : Purpose::evaluation);
  return *found;
}

void Trainer::begin(const Batch& batch) {
  if (optimizer_) return;
  // The constraints of the variables are known only after lowering.
  const keras::LossGraph model = lower_(batch, true);
  std::vector<optimizers::Variable> variables;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (!specs_[i].trainable) continue;
    if (!is_floating(weights_[i].dtype()))
      throw bad_input("the weight '{}' has dtype {}, which cannot be trained", printable(specs_[i].path),
                      name_of(weights_[i].dtype()));
    trainable_.push_back(i);
    variables.push_back({specs_[i].path, specs_[i].shape, model.constraints[i], weights_[i].dtype()});
  }
  for (const keras::LossGraph::Draw& draw : model.draws)
    if (draw.always) ++draws_of_evaluation_[draw.layer];
  optimizers::Sharing sharing;
  if (shares_optimizer()) sharing = {options_.compile.ranks->rank(), options_.compile.ranks->size()};
  optimizer_ =
      std::make_unique<optimizers::Optimizer>(settings_, std::move(variables), options_.compile.threads, sharing);
  optimizer_->begin(trained());
}

TrainingProgram& Trainer::program(const Batch& batch, bool training) {
  Program& found = planned(batch, training);
  compile(found);
  terms_.clear();
  metrics_.clear();
  rules_.clear();
  for (const auto& term : found.model.terms) terms_.push_back(term.name);
  for (const auto& metric : found.model.metrics) {
    metrics_.push_back(metric.name);
    rules_.push_back(metric.rule);
  }
  return found;
}

void Trainer::compile(Program& program) const {
  if (program.executable) return;
  const ComputeGuard computing;
  program.executable = backend_.compile(std::exchange(program.plan, {}), {}, options_.compile);
}

PassResult Trainer::run(Program& program, const Batch& batch, StepTimes* times) {
  Batch given = batch;
  std::map<std::string, std::int64_t> drawn;  // number of draws in this pass, by layer
  for (const keras::LossGraph::Draw& draw : program.model.draws)
    given.emplace(program.graph.value(draw.value).name,
                  drawn_numbers(program.graph, draw, draws_[draw.layer] + drawn[draw.layer]++));
  Tensor scale(DType::float32, Shape{});
  scale.set(0, optimizer_->loss_scale());
  given.emplace(kLossScaleInput, scale);
  std::vector<Tensor> inputs = run::make_inputs(program.shown, given, 0);
  for (const std::size_t i : program.weights) inputs.push_back(weights_[i]);
  if (times == nullptr) {
    const ComputeGuard computing;
    program.executable->run(inputs);
  } else {
    const ComputeGuard computing;
    std::map<graph::NodeId, std::string> kernels;
    for (const backends::KernelChoice& choice : program.executable->choices()) kernels[choice.node] = choice.kernel;
    program.executable->run_profiled(inputs, [&](graph::NodeId node, double seconds) {
      times->nodes.push_back(
          {node, fmt::format("{}: {}", graph::name_of(program.graph.nodes[at(node)].op), kernels[node]), seconds});
    });
  }
  for (const auto& [layer, count] : drawn) draws_[layer] += count;  // a stopped pass does not count
  const auto number = [&](ValueId id) { return program.executable->value(id).at(0); };
  PassResult out;
  out.loss = number(program.model.loss);
  for (const auto& term : program.model.terms) out.terms.push_back(number(term.value));
  const auto numbers = [&](ValueId id) {
    if (id == graph::kNone) return std::vector<double>();
    const Tensor tensor = program.executable->value(id);
    std::vector<double> all;
    for (std::int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.at(i));
    return all;
  };
  for (const auto& metric : program.model.metrics)
    out.metrics.push_back({numbers(metric.total), numbers(metric.count)});
  return out;
}

std::string Trainer::first_not_finite(const Batch& batch) {
  for (const auto& [name, tensor] : batch)
    if (!all_finite(tensor)) return fmt::format("the array '{}' of the data", printable(name));
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (!all_finite(weights_[i])) return fmt::format("the weight '{}'", printable(specs_[i].path));
  const std::unique_ptr<Program> diagnosis = plan_of(batch, Purpose::diagnosis);
  compile(*diagnosis);
  run(*diagnosis, batch, nullptr);
  for (const auto& [id, name] : diagnosis->layers)
    if (!all_finite(diagnosis->executable->value(id))) return fmt::format("the layer '{}'", printable(name));
  return "the loss";
}

PassResult Trainer::evaluate(const Batch& batch) {
  PassResult out = run(program(batch, false), batch, nullptr);
  for (const auto& [layer, count] : draws_of_evaluation_) draws_[layer] += count;
  return out;
}

StepResult Trainer::step(const Batch& batch, StepTimes* times) {
  Program& step = program(batch, true);
  const std::map<std::string, std::int64_t> before = draws_;
  StepResult out{run(step, batch, times), optimizer_->learning_rate(), optimizer_->loss_scale(), 0.0, false, false, ""};
  if (!std::isfinite(out.loss)) {
    draws_ = before;
    out.not_finite = first_not_finite(batch);
    draws_ = before;
    return out;
  }
  std::vector<optimizers::Gradient> gradients;
  for (std::size_t i = 0; i < step.gradients.size(); ++i) {
    const DType dtype = weights_[trainable_[i]].dtype();
    const auto computed = [&](ValueId id) {
      if (id == graph::kNone) return Tensor();
      const Tensor gradient = step.executable->value(id);
      return gradient.dtype() == dtype ? gradient : gradient.cast(dtype);
    };
    const EntrySums& sums = step.gradients[i];
    gradients.push_back({computed(sums.sum), computed(sums.squares), computed(sums.sizes)});
  }
  const auto start = std::chrono::steady_clock::now();
  std::function<void()> exchange;
  if (shares_optimizer()) exchange = [this] { exchange_weights(); };
  const optimizers::StepReport report = optimizer_->apply(trained(), gradients, exchange);
  if (times != nullptr)
    times->optimizer = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (report.not_finite) {
    draws_ = before;
    // The gradient nearest to the loss was computed first.
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i].sum.bytes() > 0 && !all_finite(gradients[i].sum))
        out.not_finite = fmt::format("the gradient of '{}'", printable(specs_[trainable_[i]].path));
    if (out.not_finite.empty()) out.not_finite = "the sum of gradients";
    return out;
  }
  out.gradient_norm = report.gradient_norm;
  out.clipped = shares_optimizer() && settings_.clipvalue ? anywhere(report.clipped) : report.clipped;
  out.skipped = report.skipped;
  for (const auto& update : step.model.updates) copy(step.executable->value(update.value), weights_[at(update.weight)]);
  return out;
}

}  // namespace attn::train
