// The states that the executables of one model share, on the GPU.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "attn/backends/backend.h"
#include "attn/graph/graph.h"
#include "device.h"

namespace attn::cuda {

class CudaStore final : public backends::SharedStore {
 public:
  explicit CudaStore(std::shared_ptr<const Device> device);

  [[nodiscard]] Tensor state(const std::string& name) const override;
  void set_state(const std::string& name, const Tensor& value) override;

  /// Returns whether the state exists, so that open() does not allocate.
  [[nodiscard]] bool has(const graph::Value& value) const { return states_.contains(value.name); }
  /// Returns the address of the state. The first call creates it with zeros. Throws Error (internal) if it has another
  /// shape or dtype, and (no_memory).
  [[nodiscard]] std::byte* open(const graph::Value& value);

 private:
  struct State {
    graph::TensorType type;
    std::int64_t bytes = 0;
    DeviceBytes data;
  };
  [[nodiscard]] const State& found(const std::string& name) const;

  std::shared_ptr<const Device> device_;
  Stream stream_;  // for copies of states; an executable waits for its own stream at the end of each run
  std::map<std::string, State> states_;
};

/// Returns the store of the options, or a new one. Throws Error (internal) if another kind of backend made it.
[[nodiscard]] std::shared_ptr<CudaStore> cuda_store(const backends::CompileOptions& options,
                                                    std::shared_ptr<const Device> device);

}  // namespace attn::cuda
