#include "executable.h"

#include <algorithm>
#include <chrono>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "choose.h"
#include "handover.h"
#include "kernel_order.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

using graph::at;
using graph::NodeId;
using graph::ValueId;

/// Returns whether everything that the kernel would pack from this input is already packed.
bool is_packed(const StepInfo& step, const Choice& choice, const Engine& engine, std::size_t input) {
  if (choice.method != Choice::Method::kernel) return false;
  bool any = false;
  for (const Packing& packing : choice.needs.packs) {
    if (packing.input != input) continue;
    const auto found = engine.packed.find(key_of(step, input, packing.is_transposed));
    // If oneDNN fails to make the kernel, the weight itself is needed.
    if (packing.layout.kind == Layout::Kind::onednn || found == engine.packed.end()) return false;
    if (!found->second.contains(packing.layout)) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::shared_ptr<CpuStore> store_of(const CompileOptions& compile_options, const CpuOptions& options) {
  if (!compile_options.store) return std::make_shared<CpuStore>(compile_options, options);
  auto store = std::dynamic_pointer_cast<CpuStore>(compile_options.store);
  if (!store) throw internal_error("a store of another kind of backend was given");
  return store;
}

std::vector<bool> wanted_values(const plan::Plan& plan, const Engine& engine) {
  std::vector<bool> wanted(plan.graph.values.size(), false);
  const RemainingReaders readers(plan);
  const auto want = [&](ValueId id) { wanted[at(readers.root(id))] = true; };
  for (const graph::Output& output : plan.graph.outputs) want(output.value);
  for (const graph::Scores& scores : plan.graph.scores) want(scores.value);
  for (const NodeId id : plan.steps) {
    const StepInfo step = describe(plan, id, engine.machine());
    const Choice choice = choose(step);
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (step.is_fixed(i) && !is_packed(step, choice, engine, i)) want(step.node.inputs[i]);
  }
  for (auto it = plan.prepare.rbegin(); it != plan.prepare.rend(); ++it) {
    const graph::Node& node = plan.graph.nodes[at(*it)];
    const auto is_wanted = [&](ValueId id) { return wanted[at(readers.root(id))]; };
    if (std::ranges::any_of(node.outputs, is_wanted)) std::ranges::for_each(node.inputs, want);
  }
  return wanted;
}

CpuStore::CpuStore(const CompileOptions& compile_options, const CpuOptions& options)
    : engine(compile_options.threads > 0 ? compile_options.threads : default_threads(), options.work_per_thread,
             multiplication_of(options, compile_options.precision)) {
  engine.ranks = compile_options.ranks;
}

Multiplication multiplication_of(const CpuOptions& options, MatmulPrecision precision) {
  if (options.emulate_tiles) return {Tiles::emulated, precision};
  return {isa() == Isa::amx ? Tiles::amx : dots_are_faster() ? Tiles::dots : Tiles::none, precision};
}

CpuExecutable::CpuExecutable(plan::Plan plan, std::vector<Tensor> weights, const CompileOptions& compile_options,
                             const CpuOptions& options)
    : options_(options),
      plan_(std::move(plan)),
      store_(store_of(compile_options, options)),
      storage_(plan_, std::move(weights), *store_),
      engine_(store_->engine),
      places_(plan_.graph.values.size(), nullptr),
      sums_(plan_, engine_.ranks) {
  const OneThread scope;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (plan_.slots[i].place == plan::Place::input) moving_.push_back(static_cast<ValueId>(i));
  }
  find_places();
  make_kernels();
  // Drops the packed weights that no further executable can look for.
  std::erase_if(engine_.packed, [&](const auto& packed) {
    return !compile_options.store || packed.first.recipe.starts_with(kOwnWeight);
  });
}

/// Makes the kernels in order. A step's inputs are prepared just before its kernel is made, and freed once the last
/// step that reads them has packed them. The weights and their packed copies are thus never all in memory together.
void CpuExecutable::make_kernels() {
  RemainingReaders readers(plan_);
  const auto leave = [&](ValueId id) {
    const plan::Place place = plan_.slots[at(id)].place;
    const bool is_ours = place == plan::Place::weight || place == plan::Place::prepared;
    if (readers.leaves(id) && is_ours) storage_.drop(readers.root(id));
  };

  const std::vector<bool> wanted = wanted_values(plan_, engine_);
  const auto is_wanted = [&](ValueId id) { return wanted[at(readers.root(id))]; };

  const std::vector<HandoverSpec> handed = handovers(plan_, machine());
  const std::vector<std::vector<NodeId>> preparation = preparation_by_step(plan_);
  for (std::size_t i = 0; i < preparation.size(); ++i) {
    for (const NodeId id : preparation[i]) {
      const graph::Node& node = plan_.graph.nodes[at(id)];
      if (std::ranges::any_of(node.outputs, is_wanted)) {
        for (const ValueId output : node.outputs) storage_.add_prepared(output);
        find_places();
        const Step step = step_of(id);
        make_kernel(choose(step), step).kernel->run();
      }
      for (const ValueId input : node.inputs) leave(input);
    }
    if (i == plan_.steps.size()) break;
    throw_if_stopped();
    const NodeId id = plan_.steps[i];
    Step step = step_of(id);
    if (handed[i].bytes > 0) {
      SharedMemory& memory = engine_.handovers[i % 2];
      memory.reserve(handed[i].bytes);
      step.handover.leaves = &memory;
      step.handover.range = handed[i].range;
    }
    if (i > 0 && handed[i - 1].bytes > 0) step.handover.takes = &engine_.handovers[(i - 1) % 2];
    MadeKernel made = make_kernel(choose(step), step);
    choices_.push_back({id, std::string(made.kernel->name()), std::move(made.why)});
    kernels_.push_back(std::move(made.kernel));
    for (std::size_t k = 0; k < made.copied.size(); ++k) {
      if (made.copied[k]) leave(step.node.inputs[k]);
    }
  }
}

/// Sets the addresses of all values except inputs; null for a prepared value that does not exist.
void CpuExecutable::find_places() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const plan::Place place = plan_.slots[i].place;
    if (place != plan::Place::nowhere && place != plan::Place::input)
      places_[i] = storage_.data(static_cast<ValueId>(i));
  }
}

Step CpuExecutable::step_of(NodeId id) {
  Step step{describe(plan_, id, machine()), {}, engine_};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const ValueId input = step.node.inputs[i];
    step.inputs[i].place = &places_[at(input)];
    step.fixed.push_back(step.is_fixed(i) ? storage_.tensor(input) : Tensor());
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) step.outputs[i].place = &places_[at(step.node.outputs[i])];
  return step;
}

void CpuExecutable::bind(std::span<const Tensor> inputs) {
  storage_.bind(inputs);
  for (const ValueId id : moving_) places_[at(id)] = storage_.data(id);
  if (options_.poison_arena) storage_.poison_arena();
}

void CpuExecutable::run(std::span<const Tensor> inputs) {
  bind(inputs);
  const OneThread scope;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    throw_if_stopped();
    run_step(i);
  }
  sums_.before(kernels_.size());
}

void CpuExecutable::run_step(std::size_t step) {
  sums_.before(step);
  if (sums_.has(step)) {
    sums_.begin(step, storage_);
  } else {
    kernels_[step]->run();
  }
  sums_.between();
}

void CpuExecutable::run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) {
  bind(inputs);
  const OneThread scope;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    throw_if_stopped();
    const auto start = std::chrono::steady_clock::now();
    run_step(i);
    timer(plan_.steps[i], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  sums_.before(kernels_.size());
}

std::int64_t CpuExecutable::memory_bytes() const {
  std::int64_t sum = storage_.bytes() + engine_.operands.size() + engine_.scratch.size();
  for (const SharedMemory& handover : engine_.handovers) sum += handover.size();
  for (const auto& kernel : kernels_) sum += kernel->bytes();
  return sum;
}

}  // namespace attn::backends::cpu
