#include "attn/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "attn/base/error.h"
#include "attn/gradients/gradients.h"
#include "attn/gradients/passes.h"
#include "attn/plan/passes.h"
#include "attn/plan/plan.h"
#include "attn/run/inputs.h"
#include "entries.h"

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

/// The input that the loss is multiplied by.
constexpr const char* kScale = "loss_scale";

/// What tells whether two batches take the same program.
std::string key_of(const Batch& batch, bool training) {
  std::string key = training ? "training" : "";
  for (const auto& [name, tensor] : batch)
    key += fmt::format("\n{} {} {}", name, name_of(tensor.dtype()), tensor.shape().str());
  return key;
}

}  // namespace

/// A step, or an evaluation, for batches of one shape.
struct Trainer::Program {
  keras::LossGraph model;                              ///< as it was lowered; its graph has been moved on
  graph::Graph graph;                                  ///< that runs
  std::vector<std::size_t> weights;                    ///< that stand behind the other inputs
  std::vector<std::pair<ValueId, ValueId>> gradients;  ///< by trainable weight: sums and squares, or kNone
  graph::Graph shown;                                  ///< its inputs that are no weights
  plan::Plan plan;                                     ///< until it is compiled
  std::unique_ptr<backends::Executable> executable;
};

Trainer::Trainer(const backends::Backend& backend, Lower lower, std::vector<graph::WeightSpec> specs,
                 const std::vector<Tensor>& weights, optimizers::Settings settings, const TrainerOptions& options)
    : backend_(backend),
      lower_(std::move(lower)),
      specs_(std::move(specs)),
      settings_(std::move(settings)),
      options_(options) {
  for (const Tensor& weight : weights) weights_.push_back(copy_of(weight));
}

Trainer::~Trainer() = default;

std::vector<Tensor> Trainer::trained() const {
  std::vector<Tensor> out;
  for (const std::size_t i : trainable_) out.push_back(weights_[i]);
  return out;
}

void Trainer::finalize() { optimizer_->finalize(trained()); }

std::unique_ptr<Trainer::Program> Trainer::plan_of(const Batch& batch, bool training) {
  auto program = std::make_unique<Program>();
  program->model = lower_(batch, training);
  graph::Graph graph = std::exchange(program->model.graph, {});
  const keras::LossGraph& model = program->model;

  std::vector<ValueId> value_of(graph.weights.size(), graph::kNone);
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].kind == graph::ValueKind::weight)
      value_of[at(graph.values[i].weight)] = static_cast<ValueId>(i);
  for (std::size_t i = 0; i < value_of.size(); ++i)
    if (value_of[i] != graph::kNone) program->weights.push_back(i);

  std::vector<ValueId> wanted;
  for (const std::size_t i : trainable_) wanted.push_back(value_of[i]);
  graph.outputs = {{"loss", model.loss}};
  graph.scores.clear();
  for (const auto& term : model.terms) graph.outputs.push_back({term.name, term.value});
  for (const auto& metric : model.metrics) {
    graph.outputs.push_back({metric.name, metric.total});
    graph.outputs.push_back({metric.name, metric.count});
  }
  if (training) {
    for (const auto& update : model.updates) graph.outputs.push_back({"", update.value});
    // The gradients of products are products.
    graph = plan::simplify_conv(plan::simplify_einsum(std::move(graph)));
    ValueId loss = model.loss;
    if (settings_.loss_scale_factor || settings_.loss_scale) {
      graph::Builder b(graph);
      loss = b.binary(graph::BinaryFn::multiply, loss, b.input(kScale, b.dtype(loss), {}));
    }
    gradients::Differentiated backward = gradients::differentiate(std::move(graph), loss, wanted);
    graph = std::move(backward.graph);
    for (const ValueId gradient : backward.gradients) {
      std::pair<ValueId, ValueId> both{gradient, graph::kNone};
      const bool entries = options_.tables == TableGradient::entries && !settings_.gradient_accumulation_steps;
      if (gradient != graph::kNone && entries)
        if (const auto sums = entry_sums(graph, gradient, settings_.clipvalue)) both = {sums->sum, sums->squares};
      for (const ValueId id : {both.first, both.second})
        if (id != graph::kNone) graph.outputs.push_back({"", id});
      program->gradients.push_back(both);
    }
    if (options_.recompute) graph = gradients::recompute(std::move(graph), backward.forward);
  }
  program->plan = plan::make_plan(backend_.optimize(gradients::release_weights(std::move(graph))));
  program->graph = program->plan.graph;
  program->shown.values = program->graph.values;
  program->shown.inputs.assign(program->graph.inputs.begin(),
                               program->graph.inputs.end() - static_cast<std::ptrdiff_t>(program->weights.size()));
  return program;
}

std::int64_t Trainer::memory_needed(const Batch& batch) {
  std::int64_t state = 0;
  const Program& step = planned(batch, true);
  if (step.executable) throw internal_error("memory is asked for once it is taken");
  for (const NamedTensor& variable : optimizer_->state()) state += variable.tensor.bytes();
  return plan::sum_of_bytes({backend_.memory_needed(step.plan, options_.compile), state});
}

Trainer::Program& Trainer::planned(const Batch& batch, bool training) {
  begin(batch);
  std::unique_ptr<Program>& found = programs_[key_of(batch, training)];
  if (!found) found = plan_of(batch, training);
  return *found;
}

void Trainer::begin(const Batch& batch) {
  if (optimizer_) return;
  // The constraints of the variables are known once the model is lowered.
  const keras::LossGraph model = lower_(batch, true);
  std::vector<optimizers::Variable> variables;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (!specs_[i].trainable) continue;
    trainable_.push_back(i);
    variables.push_back({specs_[i].path, specs_[i].shape, model.constraints[i]});
  }
  optimizer_ = std::make_unique<optimizers::Optimizer>(settings_, std::move(variables), options_.compile.threads);
  optimizer_->begin(trained());
}

Trainer::Program& Trainer::program(const Batch& batch, bool training) {
  Program& found = planned(batch, training);
  if (!found.executable) found.executable = backend_.compile(std::exchange(found.plan, {}), {}, options_.compile);
  terms_.clear();
  metrics_.clear();
  roots_.clear();
  for (const auto& term : found.model.terms) terms_.push_back(term.name);
  for (const auto& metric : found.model.metrics) {
    metrics_.push_back(metric.name);
    roots_.push_back(metric.root);
  }
  return found;
}

PassResult Trainer::run(Program& program, const Batch& batch, StepTimes* times) {
  Batch given = batch;
  std::map<std::string, std::int64_t> drawn;  // in this pass, by layer
  for (const keras::LossGraph::Draw& draw : program.model.draws) {
    Tensor count(DType::int64, Shape{});
    count.as<std::int64_t>()[0] = draws_[draw.layer] + drawn[draw.layer]++;
    given.emplace(program.graph.value(draw.count).name, count);
  }
  Tensor scale(DType::float32, Shape{});
  scale.set(0, optimizer_->loss_scale());
  given.emplace(kScale, scale);
  std::vector<Tensor> inputs = run::make_inputs(program.shown, given, 0);
  for (const std::size_t i : program.weights) inputs.push_back(weights_[i]);
  if (times == nullptr) {
    program.executable->run(inputs);
  } else {
    std::map<graph::NodeId, std::string> kernels;
    for (const backends::KernelChoice& choice : program.executable->choices()) kernels[choice.node] = choice.kernel;
    program.executable->run_profiled(inputs, [&](graph::NodeId node, double seconds) {
      times->nodes.push_back(
          {node, fmt::format("{}: {}", graph::name_of(program.graph.nodes[at(node)].op), kernels[node]), seconds});
    });
  }
  for (const auto& [layer, count] : drawn) draws_[layer] += count;  // not where it was stopped
  const auto number = [&](ValueId id) { return program.executable->value(id).at(0); };
  PassResult out;
  out.loss = number(program.model.loss);
  for (const auto& term : program.model.terms) out.terms.push_back(number(term.value));
  for (const auto& metric : program.model.metrics) out.metrics.push_back({number(metric.total), number(metric.count)});
  return out;
}

PassResult Trainer::evaluate(const Batch& batch) { return run(program(batch, false), batch, nullptr); }

StepResult Trainer::step(const Batch& batch, StepTimes* times) {
  Program& step = program(batch, true);
  StepResult out{run(step, batch, times), optimizer_->learning_rate(), optimizer_->loss_scale(), 0.0, false, false};
  std::vector<optimizers::Gradient> gradients;
  for (const auto& [sum, squares] : step.gradients) {
    gradients.emplace_back();
    if (sum != graph::kNone) gradients.back().sum = step.executable->value(sum);
    if (squares != graph::kNone) gradients.back().squares = step.executable->value(squares);
  }
  const auto start = std::chrono::steady_clock::now();
  const optimizers::StepReport report = optimizer_->apply(trained(), gradients);
  if (times != nullptr)
    times->optimizer = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.gradient_norm = report.gradient_norm;
  out.clipped = report.clipped;
  out.skipped = report.skipped;
  for (const auto& update : step.model.updates) copy(step.executable->value(update.value), weights_[at(update.weight)]);
  return out;
}

}  // namespace attn::train
