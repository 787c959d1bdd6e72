// A plan whose steps are kernels.
#pragma once

#include "async_all_reduces.h"
#include "attn/backends/backend.h"
#include "attn/backends/cpu.h"
#include "attn/backends/storage.h"
#include "kernel.h"

namespace attn::backends::cpu {

/// Returns how to compute float32 products with this precision. Throws Error (usage) for an unknown value of ATTN_ISA.
[[nodiscard]] Multiplication multiplication_of(const CpuOptions& options, MatmulPrecision precision);

/// States, and the packed weights that several executables share.
class CpuStore final : public HostStore {
 public:
  CpuStore(const CompileOptions& compile_options, const CpuOptions& options);
  Engine engine;
};

/// Returns the store of the options, or a new one. Throws Error (internal) if another kind of backend made it.
[[nodiscard]] std::shared_ptr<CpuStore> store_of(const CompileOptions& compile_options, const CpuOptions& options);

/// Returns for each value of the plan whether its bytes are needed. Outputs and scores are needed. A weight or prepared
/// value is needed if a step reads it, or the preparation of a needed value does. Values that steps find packed in the
/// engine are not needed.
[[nodiscard]] std::vector<bool> wanted_values(const plan::Plan& plan, const Engine& engine);

class CpuExecutable final : public Executable {
 public:
  CpuExecutable(plan::Plan plan, std::vector<Tensor> weights, const CompileOptions& compile_options,
                const CpuOptions& options);

  void run(std::span<const Tensor> inputs) override;
  void run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) override;
  [[nodiscard]] Tensor value(graph::ValueId id) const override { return storage_.tensor(id); }
  [[nodiscard]] std::vector<KernelChoice> choices() const override { return choices_; }
  [[nodiscard]] std::int64_t memory_bytes() const override;

 private:
  [[nodiscard]] Machine machine() const { return engine_.machine(); }
  [[nodiscard]] Step step_of(graph::NodeId id);
  void make_kernels();
  void find_places();
  void bind(std::span<const Tensor> inputs);
  void run_step(std::size_t step);

  CpuOptions options_;
  plan::Plan plan_;
  std::shared_ptr<CpuStore> store_;
  Storage storage_;
  Engine& engine_;
  std::vector<std::byte*> places_;                // indexed by ValueId: the addresses that operands refer to
  std::vector<graph::ValueId> moving_;            // inputs and views of inputs, whose addresses change with each run
  std::vector<std::unique_ptr<Kernel>> kernels_;  // one for each step
  std::vector<KernelChoice> choices_;
  AsyncAllReduces sums_;
};

}  // namespace attn::backends::cpu
