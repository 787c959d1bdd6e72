// The plugin's entry points: a Backend for one GPU.
#include <memory>
#include <string>

#include "attn/backends/plugin.h"
#include "attn/plan/passes.h"
#include "executable.h"
#include "nccl_ranks.h"
#include "store.h"

namespace attn::cuda {
namespace {

class CudaBackend final : public backends::Backend {
 public:
  explicit CudaBackend(int index)
      : device_(std::make_shared<const Device>(index)), device_name_("cuda:" + std::to_string(index)) {}

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] std::string_view device() const override { return device_name_; }

  [[nodiscard]] graph::Graph optimize(graph::Graph graph) const override {
    graph = plan::simplify_einsum(std::move(graph));
    graph = plan::simplify_conv(std::move(graph));
    graph = plan::fold_identities(std::move(graph));
    graph = plan::narrow_norms(std::move(graph));
    // Epilogues that cuBLASLt cannot apply run in one kernel over the product's output.
    graph = plan::fuse_activation(std::move(graph), [](const graph::Unary&) { return true; });
    graph = plan::fuse_residual(std::move(graph));
    graph = plan::pack_projections(std::move(graph));
    return plan::remove_dead(std::move(graph));
  }

  [[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, const backends::CompileOptions&) const override {
    std::int64_t bytes = plan::sum_of_bytes({plan.weight_bytes, plan.input_bytes});
    for (const graph::Output& output : plan.graph.outputs)
      bytes = plan::sum_of_bytes({bytes, plan.slots[static_cast<std::size_t>(output.value)].bytes});
    for (const graph::Scores& scores : plan.graph.scores)
      bytes = plan::sum_of_bytes({bytes, plan.slots[static_cast<std::size_t>(scores.value)].bytes});
    return bytes;
  }

  [[nodiscard]] std::shared_ptr<backends::SharedStore> make_store(const backends::CompileOptions&) const override {
    return std::make_shared<CudaStore>(device_);
  }

  [[nodiscard]] std::unique_ptr<backends::Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                              const backends::CompileOptions& options) const override {
    return std::make_unique<CudaExecutable>(device_, std::move(plan), std::move(weights), options);
  }

 private:
  std::shared_ptr<const Device> device_;
  std::string device_name_;
};

}  // namespace

}  // namespace attn::cuda

// Names and types are those of attn/backends/plugin.h.
extern "C" __attribute__((visibility("default"))) const char* attn_plugin_build() { return ATTN_PLUGIN_BUILD; }
extern "C" __attribute__((visibility("default"))) attn::backends::Backend* attn_open_backend(int index) {
  return new attn::cuda::CudaBackend(index);
}
extern "C" __attribute__((visibility("default"))) void attn_expect_nccl() { attn::cuda::Nccl::expect_library(); }
extern "C" __attribute__((visibility("default"))) attn::communicators::Communicator* attn_open_nccl(
    attn::communicators::Communicator* host) {
  return new attn::cuda::Nccl(std::unique_ptr<attn::communicators::Communicator>(host));
}
