#include <chrono>

#include "attn/backends/reference.h"
#include "attn/backends/storage.h"
#include "attn/base/stop.h"

namespace attn::backends {
namespace {

using graph::NodeId;

/// Bytes of the program's own pages, in addition to a plan's memory.
constexpr std::int64_t kProgram = 3 << 19;

/// Runs a plan, one node after the other.
class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(plan::Plan plan, std::vector<Tensor> weights, const ReferenceOptions& options,
                      std::shared_ptr<HostStore> store, communicators::Communicator* ranks)
      : plan_(std::move(plan)),
        ranks_(ranks),
        options_(options),
        store_(std::move(store)),
        storage_(plan_, std::move(weights), *store_) {
    for (const NodeId id : plan_.prepare) {
      for (const graph::ValueId output : plan_.graph.nodes[static_cast<std::size_t>(id)].outputs)
        storage_.add_prepared(output);
      run_node(id);
    }
  }

  void run(std::span<const Tensor> inputs) override { run_profiled(inputs, nullptr); }

  void run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) override {
    storage_.bind(inputs);
    if (options_.poison_arena) storage_.poison_arena();
    for (const NodeId id : plan_.steps) {
      throw_if_stopped();
      const auto start = std::chrono::steady_clock::now();
      run_node(id);
      if (timer) timer(id, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }

  [[nodiscard]] Tensor value(graph::ValueId id) const override { return storage_.tensor(id); }

  [[nodiscard]] std::vector<KernelChoice> choices() const override {
    std::vector<KernelChoice> result;
    for (const NodeId id : plan_.steps) result.push_back({id, "reference", ""});
    return result;
  }

  [[nodiscard]] std::int64_t memory_bytes() const override { return storage_.bytes(); }

 private:
  void run_node(NodeId id) {
    const graph::Node& node = plan_.graph.nodes[static_cast<std::size_t>(id)];
    evaluate(node, plan_.graph, storage_.tensors(node.inputs), storage_.tensors(node.outputs), ranks_);
  }

  plan::Plan plan_;
  communicators::Communicator* ranks_;
  ReferenceOptions options_;
  std::shared_ptr<HostStore> store_;
  Storage storage_;
};

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(const ReferenceOptions& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] std::string_view device() const override { return "cpu"; }
  [[nodiscard]] graph::Graph optimize(graph::Graph graph) const override { return graph; }

  [[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, const CompileOptions&) const override {
    std::int64_t bytes = plan::sum_of_bytes({plan.weight_bytes, plan.input_bytes, plan.state_bytes, plan.arena_bytes});
    for (const graph::NodeId id : plan.prepare) {
      for (const graph::ValueId output : plan.graph.nodes[static_cast<std::size_t>(id)].outputs)
        bytes = plan::sum_of_bytes({bytes, plan.slots[static_cast<std::size_t>(output)].bytes});
    }
    return plan::sum_of_bytes({bytes, kProgram});
  }

  [[nodiscard]] std::shared_ptr<SharedStore> make_store(const CompileOptions&) const override {
    return std::make_shared<HostStore>();
  }

  [[nodiscard]] std::unique_ptr<Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                    const CompileOptions& options) const override {
    return std::make_unique<ReferenceExecutable>(std::move(plan), std::move(weights), options_, host_store(options),
                                                 options.ranks);
  }

 private:
  ReferenceOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const ReferenceOptions& options) {
  return std::make_unique<ReferenceBackend>(options);
}

}  // namespace attn::backends
