#include "attn/backends/cpu.h"

#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include "attn/backends/storage.h"
#include "attn/plan/passes.h"
#include "executable.h"
#include "memory.h"
#include "parallel.h"

namespace attn::backends {
namespace {

/// Makes glibc load libgcc_s, which unwinds exceptions. oneDNN generates kernels inside pthread_once; if an exception
/// passes it while memory is exhausted, glibc could not load libgcc_s and would end the program.
void prepare_unwinding() {
#ifdef __GLIBC__
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);
#endif
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) : options_(options) { prepare_unwinding(); }

  [[nodiscard]] std::string_view name() const override { return "onednn"; }
  [[nodiscard]] std::string_view device() const override { return "cpu"; }

  [[nodiscard]] graph::Graph optimize(graph::Graph graph) const override {
    graph = plan::simplify_einsum(std::move(graph));
    graph = plan::simplify_conv(std::move(graph));
    graph = plan::fold_identities(std::move(graph));
    graph = plan::narrow_norms(std::move(graph));
    // Every activation is fused into its product: inside oneDNN's kernel, or as a loop over the results that were just
    // written.
    graph = plan::fuse_activation(std::move(graph), [](const graph::Unary&) { return true; });
    graph = plan::pack_projections(std::move(graph));
    graph = plan::fuse_residual(std::move(graph));
    return plan::remove_dead(std::move(graph));
  }

  [[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, const CompileOptions& options) const override {
    return cpu::memory_needed(plan, {options.threads > 0 ? options.threads : cpu::default_threads(),
                                     cpu::multiplication_of(options_, options.precision)});
  }

  [[nodiscard]] std::shared_ptr<SharedStore> make_store(const CompileOptions& options) const override {
    return std::make_shared<cpu::CpuStore>(options, options_);
  }

  [[nodiscard]] std::vector<bool> reads(const plan::Plan& plan, const CompileOptions& options) const override {
    std::vector<bool> result(plan.graph.weights.size(), !options.store);
    if (!options.store) return result;
    const auto store = cpu::store_of(options, options_);
    const std::vector<bool> wanted = cpu::wanted_values(plan, store->engine);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const graph::Value& value = plan.graph.values[i];
      if (value.kind == graph::ValueKind::weight && wanted[i]) result[graph::at(value.weight)] = true;
    }
    return result;
  }

  [[nodiscard]] std::unique_ptr<Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                    const CompileOptions& compile_options) const override {
    return std::make_unique<cpu::CpuExecutable>(std::move(plan), std::move(weights), compile_options, options_);
  }

 private:
  CpuOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return make_cpu_backend({}); }

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) { return std::make_unique<CpuBackend>(options); }

}  // namespace attn::backends
