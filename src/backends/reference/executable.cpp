// Walks a plan: every value has one tensor, which views the input, the weight, the constant, a prepared buffer or its
// place in the arena.
#include <chrono>
#include <cstring>
#include <numeric>

#include "attn/backends/reference.h"
#include "attn/base/error.h"

namespace attn::backends {
namespace {

using graph::NodeId;
using graph::ValueId;

class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(plan::Plan plan, std::vector<Tensor> weights, const ReferenceOptions& options)
      : plan_(std::move(plan)),
        weights_(std::move(weights)),
        options_(options),
        arena_(allocate_bytes(plan_.arena_bytes)) {
    tensors_.resize(plan_.graph.values.size());
    for (ValueId id = 0; id < static_cast<ValueId>(tensors_.size()); ++id) tensors_[at(id)] = place(id);
    for (const NodeId node : plan_.prepare) step(node);
  }

  void run(std::span<const Tensor> inputs) override { run_profiled(inputs, nullptr); }

  void run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) override {
    bind(inputs);
    if (options_.poison_arena && plan_.arena_bytes > 0) {
      std::memset(arena_.get(), 0xFF,
                  static_cast<std::size_t>(plan_.arena_bytes));  // all ones is NaN in every float type
    }
    for (const NodeId node : plan_.steps) {
      const auto start = std::chrono::steady_clock::now();
      step(node);
      if (timer) timer(node, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }

  [[nodiscard]] Tensor value(ValueId id) const override { return tensor(id); }

  [[nodiscard]] std::vector<KernelChoice> choices() const override {
    std::vector<KernelChoice> result;
    for (const NodeId node : plan_.steps) result.push_back({node, "reference", ""});
    return result;
  }

  [[nodiscard]] std::int64_t memory_bytes() const override {
    const auto bytes = [](std::int64_t sum, const Tensor& weight) { return sum + weight.bytes(); };
    return std::accumulate(weights_.begin(), weights_.end(), plan_.prepared_bytes + plan_.arena_bytes, bytes);
  }

 private:
  static std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

  /// The tensor of a value that has bytes of its own from the start: inputs are bound by each run.
  Tensor place(ValueId id) {
    const graph::Value& value = plan_.graph.value(id);
    const plan::Slot& slot = plan_.slots[at(id)];
    if (slot.alias_of != graph::kNone) return {};
    switch (slot.place) {
      case plan::Place::nowhere:
      case plan::Place::input:
        return {};
      case plan::Place::weight:
        return weights_[at(value.weight)];
      case plan::Place::constant:
        return value.constant;
      case plan::Place::prepared:
        return Tensor(value.dtype, value.shape);
      case plan::Place::arena:
        return Tensor(value.dtype, value.shape, std::shared_ptr<std::byte>(arena_, arena_.get() + slot.offset));
    }
    return {};
  }

  void bind(std::span<const Tensor> inputs) {
    const auto& ids = plan_.graph.inputs;
    if (inputs.size() != ids.size()) {
      throw internal_error("a run got {} inputs, the graph has {}", inputs.size(), ids.size());
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const graph::Value& value = plan_.graph.value(ids[i]);
      if (inputs[i].dtype() != value.dtype || inputs[i].shape() != value.shape) {
        throw internal_error("input {} is {} {}, the graph has {} {}", i, name_of(inputs[i].dtype()),
                             inputs[i].shape().str(), name_of(value.dtype), value.shape.str());
      }
      tensors_[at(ids[i])] = inputs[i];
    }
  }

  void step(NodeId id) {
    const graph::Node& node = plan_.graph.nodes[at(id)];
    const auto gather = [&](const std::vector<ValueId>& ids) {
      std::vector<Tensor> result;
      for (const ValueId value : ids) result.push_back(tensor(value));
      return result;
    };
    evaluate(node, plan_.graph, gather(node.inputs), gather(node.outputs));
  }

  [[nodiscard]] Tensor tensor(ValueId id) const {
    const graph::Value& value = plan_.graph.value(id);
    const plan::Slot& slot = plan_.slots[at(id)];
    if (slot.alias_of != graph::kNone) return {value.dtype, value.shape, tensors_[at(slot.alias_of)].owner()};
    // An output that nothing reads has no place; the operation still gets somewhere to write it.
    if (slot.place == plan::Place::nowhere) return {value.dtype, value.shape};
    return tensors_[at(id)];
  }

  plan::Plan plan_;
  std::vector<Tensor> weights_;
  ReferenceOptions options_;
  std::shared_ptr<std::byte> arena_;
  std::vector<Tensor> tensors_;  // by ValueId
};

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(const ReferenceOptions& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] std::string_view device() const override { return "cpu"; }
  [[nodiscard]] graph::Graph optimize(graph::Graph graph) const override { return graph; }

  [[nodiscard]] std::unique_ptr<Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                    const CompileOptions&) const override {
    return std::make_unique<ReferenceExecutable>(std::move(plan), std::move(weights), options_);
  }

 private:
  ReferenceOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const ReferenceOptions& options) {
  return std::make_unique<ReferenceBackend>(options);
}

}  // namespace attn::backends
