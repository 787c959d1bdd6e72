#include "executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "fusion.h"
#include "kernels/delta_rule.h"
#include "kernels/fault.h"
#include "kernels/rnn.h"
#include "product.h"
#include "time_limits.h"
#include "tuning.h"

namespace attn::cuda {
namespace {

using graph::at;
using graph::NodeId;
using graph::ValueId;
using plan::Place;

constexpr std::int64_t kLine = 256;  // alignment of cudaMalloc; TMA and vector loads need less

std::int64_t padded(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::string bytes_text(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
}

/// Divides one block of memory into pieces.
class Pieces {
 public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t offset = total_;
    total_ += padded(bytes);
    return offset;
  }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::int64_t total_ = 0;
};

}  // namespace

CudaExecutable::CudaExecutable(std::shared_ptr<const Device> device, plan::Plan plan, std::vector<Tensor> weights,
                               const backends::CompileOptions& options)
    : device_(std::move(device)),
      store_(cuda_store(options, device_)),
      ranks_(options.ranks),
      nccl_(dynamic_cast<Nccl*>(options.ranks)),
      plan_(std::move(plan)),
      places_(plan_.graph.values.size(), nullptr),
      staged_(plan_.graph.values.size(), nullptr) {
  device_->use();
  price();
  pass_limit_ = seconds_allowed(plan_.graph);
  stream_ = make_stream();
  place(weights);
  weights.clear();

  // Products of the preparation are not tuned. Their intermediates share memory with results, so they cannot run again
  // afterwards.
  TuneLater never, tune_later;
  std::vector<Trial> first_trials, trials;
  std::vector<Prepared> preparation;
  for (const NodeId id : plan_.prepare) {
    Chosen best = chosen(id, {options.precision, never, first_trials});
    preparation.push_back(prepared({std::move(best.name), std::move(best.launch)}, id));
  }
  const ProductOptions products{options.precision, tune_later, trials};
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const NodeId id = plan_.steps[i];
    if (i + 1 < plan_.steps.size()) {
      const NodeId next = plan_.steps[i + 1];
      if (auto fused = fuse(step_of(id), step_of(next), readers(id) > 1)) {
        choices_.push_back({id, fused->name, "with the next"});
        choices_.push_back({next, fused->name, ""});
        steps_.push_back(prepared(std::move(*fused), next));
        ++i;
        continue;
      }
    }
    Chosen best = chosen(id, products);
    choices_.push_back({id, best.name, std::move(best.why)});
    steps_.push_back(prepared({std::move(best.name), std::move(best.launch)}, id));
  }
  scratch_bytes_ = allocate_device(scratch_.bytes);
  scratch_.data = scratch_bytes_.get();
  bytes_ += scratch_.bytes;

  try_out(first_trials, nullptr);
  for (const Prepared& step : preparation) run_unrecorded(step);
  finish();
  raw_.reset();
  if (options.tune) {
    fill_with_numbers(arena_.get(), plan_.arena_bytes, stream_.get());
    const TuningSpace space(*device_, stream_.get());
    TuningCache cache(TuningCache::default_folder(), *device_);
    std::map<std::string, bool> races;
    const Tuning tuning{stream_.get(), space, cache, races};
    for (const auto& tune : tune_later) tune(tuning);
    try_out(trials, &tuning);
    cache.save();
  } else {
    try_out(trials, nullptr);
  }
  warm_up();
  if (!std::ranges::all_of(collectives_, &CollectiveLaunch::can_be_recorded)) return;
  pass_ = record(stream_.get(), [this] {
    for (const Prepared& step : steps_) step.launch(stream_.get());
  });
}

CudaExecutable::~CudaExecutable() = default;

/// Replaces the kernels of steps that fail their trial.
void CudaExecutable::try_out(const std::vector<Trial>& trials, const Tuning* tuning) {
  for (const Trial& trial : trials) {
    const auto change = trial.run(stream_.get(), tuning);
    if (!change) continue;
    const auto step = std::ranges::find(steps_, trial.node, &Prepared::node);
    if (step == steps_.end()) continue;  // a step of the preparation is not retried
    step->name = change->name;
    const auto choice = std::ranges::find(choices_, trial.node, &backends::KernelChoice::node);
    choice->kernel = change->name;
    choice->why = change->why;
  }
}

/// Selects the kernel of a step; a collective is recorded for counting.
Chosen CudaExecutable::chosen(NodeId id, const ProductOptions& options) {
  const Step step = step_of(id);
  if (!graph::is_collective(step.op)) return choose(step, options);
  CollectiveLaunch& made = collectives_.emplace_back(make_collective(step, plan_.graph, ranks_));
  return {made.name, made.launch, ""};
}

void CudaExecutable::launch_pass() {
  if (pass_) {
    check(cudaGraphLaunch(pass_.get(), stream_.get()), "running the pass");
  } else {
    for (const Prepared& step : steps_) step.launch(stream_.get());
  }
}

/// The host communicator has already counted its own collectives.
void CudaExecutable::count_collectives() {
  if (nccl_ == nullptr) return;
  for (const CollectiveLaunch& made : collectives_) nccl_->passed(made.collective, made.bytes);
}

/// Counts how often a node's result is read: by steps, through any alias, and as an output or scores of the graph.
int CudaExecutable::readers(NodeId id) const {
  const ValueId made = root(plan_.graph.nodes[at(id)].outputs[0]);
  int count = 0;
  const auto counts = [&](ValueId value) { count += root(value) == made ? 1 : 0; };
  // The counting ends where another value reuses the memory.
  const auto first = std::ranges::find(plan_.steps, id);
  for (auto step = first + 1; step < plan_.steps.end(); ++step) {
    const graph::Node& node = plan_.graph.nodes[at(*step)];
    for (const ValueId input : node.inputs) counts(input);
    if (root(node.outputs[0]) == made) return count;
  }
  for (const graph::Output& output : plan_.graph.outputs) counts(output.value);
  for (const graph::Scores& scores : plan_.graph.scores) counts(scores.value);
  return count;
}

ValueId CudaExecutable::root(ValueId id) const {
  const ValueId shared = plan_.slots[at(id)].alias_of;
  return shared == graph::kNone ? id : shared;
}

void CudaExecutable::price() const {
  std::int64_t constants = 0, states = 0, scratch = kWorkspaceBytes;
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    const plan::Slot& slot = plan_.slots[i];
    if (slot.alias_of != graph::kNone) continue;
    if (slot.place == Place::constant) constants += padded(slot.bytes);
    if (slot.place == Place::state && !store_->has(plan_.graph.values[i]))
      states = plan::sum_of_bytes({states, slot.bytes});
  }
  for (const graph::Node& node : plan_.graph.nodes) {
    if (const auto* rnn = std::get_if<graph::Rnn>(&node.op)) {
      const graph::Value& x = plan_.graph.value(node.inputs[0]);
      scratch = std::max(scratch, rnn_scratch_bytes(*rnn, x.shape, plan_.graph.value(node.inputs[2]).shape, x.dtype));
    }
    if (std::holds_alternative<graph::DeltaRule>(node.op)) {
      const graph::Value& state = plan_.graph.value(node.inputs[6]);
      scratch = std::max(scratch, delta_rule_scratch_bytes(state.shape, state.dtype));
    }
  }
  const std::int64_t parts[] = {plan_.weight_bytes, constants,         states, plan_.prepared_bytes,
                                plan_.arena_bytes,  plan_.input_bytes, scratch};
  std::int64_t needed = 0;
  for (const std::int64_t part : parts) {
    const auto sum = checked_add(needed, part);
    if (!sum) throw Error(ExitCode::no_memory, "cuda: the model's memory does not fit a number of bytes");
    needed = *sum;
  }
  const std::int64_t free = device_->free_bytes();
  if (needed <= free) return;
  const std::int64_t fixed = plan_.weight_bytes + constants + plan_.prepared_bytes + kWorkspaceBytes;
  const std::int64_t left = free - fixed;
  const std::int64_t moving = needed - fixed;
  const std::string way_out = left > 0 && moving > 0
                                  ? fmt::format("about {:.0f} % of this batch would fit",
                                                100.0 * static_cast<double>(left) / static_cast<double>(moving))
                                  : std::string("not even the weights fit");
  throw Error(ExitCode::no_memory,
              fmt::format("cuda:{}: the pass needs {} ({} of it weights) and {} has {} free; {}", device_->index(),
                          bytes_text(needed), bytes_text(plan_.weight_bytes + plan_.prepared_bytes), device_->name(),
                          bytes_text(free), way_out));
}

/// Returns for each value whether a step reads it, or it is an output or scores.
std::vector<bool> CudaExecutable::read_by_steps() const {
  std::vector<bool> read(plan_.graph.values.size(), false);
  for (const NodeId id : plan_.steps) {
    for (const ValueId input : plan_.graph.nodes[at(id)].inputs) read[at(root(input))] = true;
  }
  for (const graph::Output& output : plan_.graph.outputs) read[at(root(output.value))] = true;
  for (const graph::Scores& scores : plan_.graph.scores) read[at(root(scores.value))] = true;
  return read;
}

/// Assigns every value its device address, and uploads weights and constants.
void CudaExecutable::place(const std::vector<Tensor>& weights) {
  const auto& values = plan_.graph.values;
  Pieces raw_pieces, weight_pieces, constant_pieces, input_pieces, staging_pieces;
  const std::vector<bool> stays = read_by_steps();
  std::vector<std::int64_t> offsets(values.size(), 0), staging_offsets(values.size(), -1);
  std::vector<bool> is_result(values.size(), false);
  for (const graph::Output& output : plan_.graph.outputs) is_result[at(root(output.value))] = true;
  for (const graph::Scores& scores : plan_.graph.scores) is_result[at(root(scores.value))] = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const plan::Slot& slot = plan_.slots[i];
    if (slot.alias_of != graph::kNone) continue;
    if (slot.place == Place::weight) offsets[i] = (stays[i] ? weight_pieces : raw_pieces).add(slot.bytes);
    if (slot.place == Place::constant) offsets[i] = (stays[i] ? constant_pieces : raw_pieces).add(slot.bytes);
    if (slot.place == Place::input) offsets[i] = input_pieces.add(slot.bytes);
    if (slot.place == Place::input || is_result[i]) staging_offsets[i] = staging_pieces.add(slot.bytes);
    if (is_result[i]) results_.push_back(static_cast<ValueId>(i));
  }
  const std::int64_t fault_offset = staging_pieces.add(sizeof(Fault));

  raw_ = allocate_device(raw_pieces.total());
  weights_ = allocate_device(weight_pieces.total());
  constants_ = allocate_device(constant_pieces.total());
  inputs_ = allocate_device(input_pieces.total());
  prepared_ = allocate_device(plan_.prepared_bytes);
  arena_ = allocate_device(plan_.arena_bytes);
  fault_bytes_ = allocate_device(sizeof(Fault));
  staging_ = allocate_pinned(staging_pieces.total());  // shared with the tensors that value() returns
  bytes_ = weight_pieces.total() + constant_pieces.total() + input_pieces.total() + plan_.prepared_bytes +
           plan_.state_bytes + plan_.arena_bytes;
  fault_on_host_ = reinterpret_cast<Fault*>(staging_.get() + fault_offset);

  const auto up = [&](std::byte* to, const Tensor& from) {
    if (from.bytes() == 0) return;
    check(
        cudaMemcpyAsync(to, from.data(), static_cast<std::size_t>(from.bytes()), cudaMemcpyHostToDevice, stream_.get()),
        "copying weights to the GPU");
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const plan::Slot& slot = plan_.slots[i];
    if (slot.alias_of != graph::kNone) continue;
    if (staging_offsets[i] >= 0) staged_[i] = staging_.get() + staging_offsets[i];
    switch (slot.place) {
      case Place::nowhere:
        break;
      case Place::weight:
        places_[i] = (stays[i] ? weights_ : raw_).get() + offsets[i];
        up(places_[i], weights[at(values[i].weight)]);
        break;
      case Place::constant:
        places_[i] = (stays[i] ? constants_ : raw_).get() + offsets[i];
        up(places_[i], values[i].constant);
        break;
      case Place::input:
        places_[i] = inputs_.get() + offsets[i];
        break;
      case Place::state:
        places_[i] = store_->open(values[i]);
        break;
      case Place::prepared:
        places_[i] = prepared_.get() + slot.offset;
        break;
      case Place::arena:
        places_[i] = arena_.get() + slot.offset;
        break;
    }
  }
  check(cudaMemsetAsync(fault_bytes_.get(), 0, sizeof(Fault), stream_.get()), "clearing memory");
  if (inputs_) {  // a graph without inputs has no such memory
    check(cudaMemsetAsync(inputs_.get(), 0, static_cast<std::size_t>(input_pieces.total()), stream_.get()),
          "clearing memory");
  }
}

Operand CudaExecutable::operand(ValueId id) const {
  const graph::Value& value = plan_.graph.value(id);
  const Place place = plan_.slots[at(root(id))].place;
  const bool still = place == Place::weight || place == Place::constant || place == Place::prepared;
  return {places_[at(root(id))], value.dtype, value.shape, still};
}

Step CudaExecutable::step_of(NodeId id) {
  const graph::Node& node = plan_.graph.nodes[at(id)];
  Step step{node.op, id, {}, {}, *device_, scratch_, reinterpret_cast<Fault*>(fault_bytes_.get())};
  for (const ValueId input : node.inputs) step.inputs.push_back(operand(input));
  for (const ValueId output : node.outputs) step.outputs.push_back(operand(output));
  return step;
}

/// Runs a pass over zero inputs before one is recorded. CUDA then loads the code of every kernel, and a product whose
/// algorithm cannot be launched falls back to its next one. Both would disturb a recording. The steps run one by one,
/// so that an error names the step that fails or hangs. States are unchanged.
void CudaExecutable::warm_up() {
  static_assert(Fault::warming_up == -1);
  check(cudaMemsetAsync(fault_bytes_.get(), 0xFF, sizeof(Fault), stream_.get()), "clearing memory");
  for (const Prepared& step : steps_) run_unrecorded(step);
  // ignores faults that the zero inputs cause
  check(cudaMemsetAsync(fault_bytes_.get(), 0, sizeof(Fault), stream_.get()), "clearing memory");
  finish();
}

void CudaExecutable::upload(std::span<const Tensor> inputs) {
  const auto& ids = plan_.graph.inputs;
  if (inputs.size() != ids.size()) {
    throw internal_error("{} inputs were given, the graph has {}", inputs.size(), ids.size());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const graph::Value& value = plan_.graph.value(ids[i]);
    if (inputs[i].dtype() != value.dtype || inputs[i].shape() != value.shape) {
      throw internal_error("input {} is {} {}, the graph has {} {}", i, name_of(inputs[i].dtype()),
                           inputs[i].shape().str(), name_of(value.dtype), value.shape.str());
    }
    if (inputs[i].bytes() == 0) continue;
    const auto bytes = static_cast<std::size_t>(inputs[i].bytes());
    std::memcpy(staged_[at(ids[i])], inputs[i].data(), bytes);
    check(cudaMemcpyAsync(places_[at(ids[i])], staged_[at(ids[i])], bytes, cudaMemcpyHostToDevice, stream_.get()),
          "copying an input to the GPU");
  }
}

void CudaExecutable::download() {
  for (const ValueId id : results_) {
    const plan::Slot& slot = plan_.slots[at(id)];
    if (slot.bytes == 0 || slot.place == Place::input) continue;  // an input stays in its staging memory
    check(cudaMemcpyAsync(staged_[at(id)], places_[at(id)], static_cast<std::size_t>(slot.bytes),
                          cudaMemcpyDeviceToHost, stream_.get()),
          "copying a result from the GPU");
  }
}

/// Waits for the stream, and throws the fault that a kernel reported.
void CudaExecutable::finish() {
  check(cudaMemcpyAsync(fault_on_host_, fault_bytes_.get(), sizeof(Fault), cudaMemcpyDeviceToHost, stream_.get()),
        "copying a result from the GPU");
  if (nccl_ != nullptr) nccl_->wait(stream_.get());
  await(stream_.get(), pass_limit_, "running the pass, whose steps a profile would run one by one and name");
  const Fault fault = *fault_on_host_;
  if (fault.kind == Fault::none) return;
  check(cudaMemsetAsync(fault_bytes_.get(), 0, sizeof(Fault), stream_.get()), "clearing memory");
  throw error_of(fault, plan_.graph);
}

CudaExecutable::Prepared CudaExecutable::prepared(Choice choice, NodeId node) const {
  const double seconds = seconds_allowed(plan_.graph, plan_.graph.nodes[at(node)]);
  return {std::move(choice.name), std::move(choice.launch), node, seconds};
}

std::string CudaExecutable::running(const Prepared& step) const {
  const graph::Node& node = plan_.graph.nodes[at(step.node)];
  const std::string place =
      node.layer == graph::kNone ? "" : fmt::format("layer '{}', ", printable(plan_.graph.layers[at(node.layer)].name));
  return fmt::format("running {}{} ({})", place, graph::name_of(node.op), step.name);
}

/// Runs one step and waits for it.
void CudaExecutable::run_unrecorded(const Prepared& step) {
  step.launch(stream_.get());
  if (nccl_ != nullptr) return nccl_->wait(stream_.get());
  await(stream_.get(), step.seconds, running(step));
}

void CudaExecutable::run(std::span<const Tensor> inputs) {
  device_->use();
  upload(inputs);
  launch_pass();
  download();
  finish();
  count_collectives();
}

void CudaExecutable::run_profiled(std::span<const Tensor> inputs, const backends::StepTimer& timer) {
  device_->use();
  upload(inputs);
  std::vector<Event> events;
  for (std::size_t i = 0; i <= steps_.size(); ++i) events.push_back(make_event());
  check(cudaEventRecord(events[0].get(), stream_.get()), "timing a step");
  const auto await_step = [&](std::size_t i) {
    if (nccl_ == nullptr) await(events[i + 1].get(), steps_[i].seconds, running(steps_[i]));
  };
  // CUDA queues about a thousand launches. If one of them hangs, a further launch would wait without a time limit.
  constexpr std::size_t kAhead = 256;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i >= kAhead) await_step(i - kAhead);
    steps_[i].launch(stream_.get());
    check(cudaEventRecord(events[i + 1].get(), stream_.get()), "timing a step");
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) await_step(i);
  download();
  finish();
  count_collectives();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    timer(steps_[i].node, seconds_between(events[i].get(), events[i + 1].get(), pass_limit_, "timing a step"));
  }
}

double CudaExecutable::pass_seconds(bool cold_cache) {
  device_->use();
  if (cold_cache) {
    const std::int64_t bytes = std::max(2 * device_->l2_bytes(), std::int64_t{1} << 20);
    if (!flush_) flush_ = allocate_device(bytes);
    check(cudaMemsetAsync(flush_.get(), 0, static_cast<std::size_t>(bytes), stream_.get()), "clearing the cache");
  }
  // The stream must be busy when the first event is recorded. On an idle stream the event would complete before the
  // host has launched the pass.
  if (!cold_cache) launch_pass();
  const Event from = make_event(), to = make_event();
  check(cudaEventRecord(from.get(), stream_.get()), "timing a pass");
  launch_pass();
  check(cudaEventRecord(to.get(), stream_.get()), "timing a pass");
  return seconds_between(from.get(), to.get(), 2 * pass_limit_, "timing a pass");
}

Tensor CudaExecutable::value(ValueId id) const {
  const graph::Value& value = plan_.graph.value(id);
  std::byte* const data = staged_[at(root(id))];
  if (data == nullptr) throw internal_error("value {} is not copied back from the GPU", id);
  return {value.dtype, value.shape, std::shared_ptr<std::byte>(staging_, data)};
}

}  // namespace attn::cuda
