#include "attn/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/finite.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/gradients/gradients.h"
#include "attn/gradients/passes.h"
#include "attn/parallel/buckets.h"
#include "attn/parallel/parallelize.h"
#include "attn/parallel/parts.h"
#include "attn/plan/passes.h"
#include "attn/plan/plan.h"
#include "attn/run/inputs.h"
#include "attn/weights/noise.h"
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

/// The name of the input that multiplies the loss.
constexpr const char* kScale = "loss_scale";

Dim rows_of(const Batch& batch) { return batch.empty() ? 0 : batch.begin()->second.shape()[0]; }

/// Returns the key of the program for a batch: batches of equal key run the same program.
std::string key_of(const Batch& batch, bool training) {
  std::string key = training ? "training" : "";
  for (const auto& [name, tensor] : batch)
    key += fmt::format("\n{} {} {}", name, name_of(tensor.dtype()), tensor.shape().str());
  return key;
}

}  // namespace

/// A step, or an evaluation, for batches of one shape.
struct Trainer::Program {
  keras::LossGraph model;            ///< the model as it was lowered; its graph has been moved from
  graph::Graph graph;                ///< the graph that runs
  std::vector<std::size_t> weights;  ///< the indices of the inputs that are weights; these inputs follow the others
  std::vector<EntrySums> gradients;  ///< by trainable weight: the sums of its gradient
  std::vector<std::pair<ValueId, std::string>> layers;  ///< for diagnosis: the output of each layer, in execution order
  graph::Graph shown;                                   ///< a graph with only those inputs that are not weights
  plan::Plan plan;                                      ///< the plan, until it is compiled
  std::unique_ptr<backends::Executable> executable;
};

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

std::unique_ptr<Trainer::Program> Trainer::plan_of(const Batch& batch, Purpose purpose) {
  auto program = std::make_unique<Program>();
  program->model = lower_(batch, purpose != Purpose::evaluation);
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
    for (const ValueId id : {metric.total, metric.count})
      if (id != graph::kNone) graph.outputs.push_back({metric.name, id});
  }
  if (purpose == Purpose::diagnosis) {
    for (const graph::Layer& layer : graph.layers)
      for (const ValueId id : layer.outputs)
        if (is_floating(graph.value(id).dtype)) program->layers.emplace_back(id, layer.name);
    for (const auto& [id, name] : program->layers) graph.outputs.push_back({"", id});
  }
  graph = gradients::in_half_steps(std::move(graph));
  if (purpose == Purpose::step) {
    for (const auto& update : model.updates) graph.outputs.push_back({"", update.value});
    // The gradient of a product is a product, so these simplifications apply to it.
    graph = plan::simplify_conv(plan::simplify_einsum(std::move(graph)));
    ValueId loss = model.loss;
    ValueId scale = graph::kNone;
    if (settings_.loss_scale_factor || settings_.loss_scale) {
      graph::Builder b(graph);
      scale = b.input(kScale, b.dtype(loss), {});
      loss = b.binary(graph::BinaryFn::multiply, loss, scale);
    }
    gradients::Differentiated backward = gradients::differentiate(std::move(graph), loss, wanted);
    graph = std::move(backward.graph);
    EntryOptions of_entries;
    of_entries.sizes = std::holds_alternative<optimizers::Adamax>(settings_.rule);
    if (settings_.clipvalue) {
      graph::Builder b(graph);
      of_entries.limit = b.scalar_like(loss, *settings_.clipvalue);
      if (scale != graph::kNone) of_entries.limit = b.binary(graph::BinaryFn::multiply, of_entries.limit, scale);
    }
    for (const ValueId gradient : backward.gradients) {
      EntrySums sums{gradient};
      const bool entries = options_.tables == TableGradient::entries && !settings_.gradient_accumulation_steps;
      if (gradient != graph::kNone && entries) sums = entry_sums(graph, gradient, of_entries).value_or(sums);
      for (const ValueId id : {sums.sum, sums.squares, sums.sizes})
        if (id != graph::kNone) graph.outputs.push_back({"", id});
      program->gradients.push_back(sums);
    }
    if (options_.recompute) graph = gradients::recompute(std::move(graph), backward.forward);
  }
  if (splits_batch(batch)) parallelize_step(*program, graph, rows_of(batch));
  program->plan = plan::make_plan(backend_.optimize(gradients::release_weights(std::move(graph))));
  program->graph = program->plan.graph;
  program->shown.values = program->graph.values;
  program->shown.inputs.assign(program->graph.inputs.begin(),
                               program->graph.inputs.end() - static_cast<std::ptrdiff_t>(program->weights.size()));
  return program;
}

bool Trainer::anywhere(bool here) const {
  if (options_.compile.ranks == nullptr) return here;
  std::int32_t is_so = here ? 1 : 0;
  auto* const bytes = reinterpret_cast<std::byte*>(&is_so);
  options_.compile.ranks->all_reduce(bytes, bytes, 1, DType::int32, communicators::Reduction::max);
  return is_so != 0;
}

/// Ranks compute a batch together if each of them gets at least one row. Otherwise every rank computes the whole batch,
/// also if it cannot be split in two.
bool Trainer::splits_batch(const Batch& batch) const {
  const communicators::Communicator* const ranks = options_.compile.ranks;
  if (options_.parts > 0) return rows_of(batch) > 1;
  return ranks != nullptr && ranks->size() > 1 && rows_of(batch) >= ranks->size();
}

parallel::Parallel Trainer::parts_of(const graph::Graph& graph, Dim rows) const {
  const communicators::Communicator* const ranks = options_.compile.ranks;
  const auto parts = static_cast<int>(std::min<Dim>(options_.parts, rows));
  return parallel::share_parts(graph, parts, ranks == nullptr ? 0 : ranks->rank(),
                               ranks == nullptr ? 1 : ranks->size());
}

parallel::Parallel Trainer::rows_of_rank(const Program& program, const graph::Graph& graph) const {
  const communicators::Communicator& ranks = *options_.compile.ranks;
  parallel::Parallel local = parallel::parallelize(graph, parallel::Kind::data, ranks.rank(), ranks.size());
  parallel::RoundedSums rounded;
  rounded.dtype = options_.reduce_dtype;
  if (rounded.dtype != DType::float32) {
    std::set<ValueId> gradients;
    for (const EntrySums& sums : program.gradients)
      for (std::size_t i = 0; i < graph.outputs.size(); ++i)
        if (graph.outputs[i].value == sums.sum) gradients.insert(local.graph.outputs[i].value);
    rounded.sums = parallel::sums_reaching_only(local.graph, gradients);
  }
  local.graph = parallel::bucket_sums(std::move(local.graph), parallel::kBucketBytes, rounded);
  return local;
}

/// Rewrites the graph for this rank: its own rows of the batch, with an all-reduce wherever one rank would sum over all
/// rows.
void Trainer::parallelize_step(Program& program, graph::Graph& graph, Dim rows) const {
  parallel::Parallel local = options_.parts > 0 ? parts_of(graph, rows) : rows_of_rank(program, graph);
  std::map<ValueId, ValueId> now;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) now[graph.outputs[i].value] = local.graph.outputs[i].value;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) now[graph.inputs[i]] = local.graph.inputs[i];
  const auto move = [&](ValueId& id) {
    if (id != graph::kNone) id = now.at(id);
  };
  move(program.model.loss);
  for (auto& term : program.model.terms) move(term.value);
  for (auto& metric : program.model.metrics) {
    move(metric.total);
    move(metric.count);
  }
  for (auto& update : program.model.updates)
    if (now.contains(update.value)) move(update.value);
  for (auto& draw : program.model.draws) move(draw.value);
  for (EntrySums& sums : program.gradients)
    for (ValueId* const id : {&sums.sum, &sums.squares, &sums.sizes}) move(*id);
  program.weights.clear();
  for (const parallel::LocalWeight& weight : local.weights) program.weights.push_back(at(weight.weight));
  graph = std::move(local.graph);
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

Trainer::Program& Trainer::planned(const Batch& batch, bool training) {
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

Trainer::Program& Trainer::program(const Batch& batch, bool training) {
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
  given.emplace(kScale, scale);
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
