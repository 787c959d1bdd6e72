// One GPU: its properties, and RAII types for memory, streams and events on it.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace attn::cuda {

/// Throws Error if `error` is not cudaSuccess, with CUDA's name and description and the current action `doing`. The
/// code is no_memory if the device's memory is exhausted, otherwise no_device.
void check(cudaError_t error, std::string_view doing);
void check(cublasStatus_t status, std::string_view doing);

struct FreeDevice {
  void operator()(void* address) const noexcept;
};
struct FreePinned {
  void operator()(void* address) const noexcept;
};

/// Uninitialized device memory. Empty for 0 bytes. Throws Error (no_memory).
using DeviceBytes = std::unique_ptr<std::byte, FreeDevice>;
[[nodiscard]] DeviceBytes allocate_device(std::int64_t bytes);
/// Pinned host memory.
using PinnedBytes = std::unique_ptr<std::byte, FreePinned>;
[[nodiscard]] PinnedBytes allocate_pinned(std::int64_t bytes);

struct DestroyStream {
  void operator()(cudaStream_t stream) const noexcept;
};
using Stream = std::unique_ptr<CUstream_st, DestroyStream>;
[[nodiscard]] Stream make_stream();

struct DestroyEvent {
  void operator()(cudaEvent_t event) const noexcept;
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;
[[nodiscard]] Event make_event();
/// Returns the seconds between two recorded events. Waits at most `limit` seconds for the second one. Throws Error as
/// await() does (time_limits.h).
[[nodiscard]] double seconds_between(cudaEvent_t from, cudaEvent_t to, double limit, std::string_view doing);

/// The GPU that a backend runs on. Construction creates CUDA's context.
class Device {
 public:
  /// Throws Error (no_device), with a way out, if the GPU does not exist or this build has no code for it.
  explicit Device(int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Selects this GPU in the calling thread, because CUDA has a current device per thread, initially the first. Throws
  /// Error.
  void use() const;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Compute capability times ten: 80, 90.
  [[nodiscard]] int architecture() const { return architecture_; }
  [[nodiscard]] int processors() const { return processors_; }
  [[nodiscard]] std::int64_t l2_bytes() const { return l2_bytes_; }
  /// Returns the largest dynamic shared memory per block.
  [[nodiscard]] std::int64_t shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] std::int64_t free_bytes() const;
  [[nodiscard]] std::int64_t total_bytes() const { return total_bytes_; }
  [[nodiscard]] cublasLtHandle_t blas() const { return blas_; }

 private:
  int index_ = 0;
  std::string name_;
  int architecture_ = 0;
  int processors_ = 0;
  std::int64_t l2_bytes_ = 0, shared_bytes_ = 0, total_bytes_ = 0;
  cublasLtHandle_t blas_ = nullptr;
};

}  // namespace attn::cuda
