// A plan on one GPU: all values placed, and a pass recorded as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "choose.h"
#include "collective.h"
#include "device.h"
#include "kernel.h"
#include "nccl_ranks.h"
#include "recording.h"
#include "store.h"

namespace attn::cuda {

class CudaExecutable final : public backends::Executable, public backends::DeviceClock {
 public:
  /// Throws Error (no_memory), with the batch that would fit, if the plan does not fit into the device's free memory;
  /// checks it before any allocation.
  CudaExecutable(std::shared_ptr<const Device> device, plan::Plan plan, std::vector<Tensor> weights,
                 const backends::CompileOptions& options);
  ~CudaExecutable() override;

  void run(std::span<const Tensor> inputs) override;
  void run_profiled(std::span<const Tensor> inputs, const backends::StepTimer& timer) override;
  [[nodiscard]] Tensor value(graph::ValueId id) const override;
  [[nodiscard]] std::vector<backends::KernelChoice> choices() const override { return choices_; }
  [[nodiscard]] std::int64_t memory_bytes() const override { return bytes_; }

  [[nodiscard]] backends::DeviceClock* device_clock() override { return this; }
  double pass_seconds(bool cold_cache) override;

 private:
  struct Prepared {
    std::string name;
    Launch launch;
    graph::NodeId node;
    double seconds;  ///< time limit after which the step counts as hanging
  };

  [[nodiscard]] Chosen chosen(graph::NodeId id, const ProductOptions& options);
  void launch_pass();
  void count_collectives();
  void price() const;
  void place(const std::vector<Tensor>& weights);
  [[nodiscard]] std::vector<bool> read_by_steps() const;
  [[nodiscard]] Operand operand(graph::ValueId id) const;
  [[nodiscard]] Step step_of(graph::NodeId id);
  [[nodiscard]] int readers(graph::NodeId id) const;
  [[nodiscard]] graph::ValueId root(graph::ValueId id) const;
  void upload(std::span<const Tensor> inputs);
  void download();
  void try_out(const std::vector<Trial>& trials, const Tuning* tuning);
  void warm_up();
  void finish();
  [[nodiscard]] Prepared prepared(Choice choice, graph::NodeId node) const;
  [[nodiscard]] std::string running(const Prepared& step) const;
  void run_unrecorded(const Prepared& step);

  std::shared_ptr<const Device> device_;
  std::shared_ptr<CudaStore> store_;
  communicators::Communicator* ranks_;
  Nccl* nccl_;  // null for collectives through the host, or a single rank
  plan::Plan plan_;
  Stream stream_;
  // Device memory. Memory that only the preparation reads is freed after the preparation.
  DeviceBytes raw_, weights_, constants_, prepared_, arena_, inputs_, scratch_bytes_, fault_bytes_;
  std::vector<std::byte*> places_;  // device address of each value
  Scratch scratch_;
  std::vector<Prepared> steps_;
  std::vector<backends::KernelChoice> choices_;
  std::vector<CollectiveLaunch> collectives_;  // launches in the order of the steps
  GraphExec pass_;                             // null for collectives through the host, which cannot be captured
  // Host memory for uploads and downloads, with the offset of each value.
  std::shared_ptr<std::byte> staging_;
  std::vector<std::byte*> staged_;
  std::vector<graph::ValueId> results_;
  Fault* fault_on_host_ = nullptr;
  DeviceBytes flush_;  // overwritten before each cold-cache pass
  std::int64_t bytes_ = 0;
  double pass_limit_ = 0;  // time limit of a pass, in seconds
};

}  // namespace attn::cuda
