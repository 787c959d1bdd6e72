#include "device.h"

#include <fmt/format.h>

#include <array>

#include "attn/base/error.h"
#include "status.h"

namespace attn::cuda {
namespace {

/// Advice for the user on a CUDA error.
struct Hint {
  cudaError_t error;
  std::string_view text;
};
constexpr std::array kHints = {
    Hint{cudaErrorNoKernelImageForDevice, "this build has no code for this GPU: build with -DATTN_CUDA_ARCHITECTURES"},
    Hint{cudaErrorUnsupportedPtxVersion, "the driver is too old to compile this build's PTX: update the driver"},
    Hint{cudaErrorSystemNotReady, "the NVLink fabric manager is not running"},
    Hint{cudaErrorSystemDriverMismatch, "the kernel module and libcuda.so.1 are of different versions: restart"},
    Hint{cudaErrorDevicesUnavailable, "another process holds the GPU exclusively"},
    Hint{cudaErrorIllegalAddress, "a kernel read or wrote outside of its memory; this is a bug in attn"},
    Hint{cudaErrorLaunchFailure, "a kernel failed; this is a bug in attn"},
};

std::string_view hint_for(cudaError_t error) {
  for (const Hint& hint : kHints) {
    if (hint.error == error) return hint.text;
  }
  return {};
}

}  // namespace

void check(cudaError_t error, std::string_view doing) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // clears the error, which the next call of the runtime would report again
  const std::string_view hint = hint_for(error);
  const bool memory = error == cudaErrorMemoryAllocation;
  throw Error(memory ? ExitCode::no_memory : ExitCode::no_device,
              fmt::format("cuda: {}: {} ({}){}{}", doing, cudaGetErrorString(error), cudaGetErrorName(error),
                          hint.empty() ? "" : "; ", hint));
}

void check(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  throw Error(memory ? ExitCode::no_memory : ExitCode::no_device,
              fmt::format("cuda: {}: {}", doing, cublasLtGetStatusName(status)));
}

void FreeDevice::operator()(void* address) const noexcept {
  if (!is_gpu_lost()) (void)cudaFree(address);
}
void FreePinned::operator()(void* address) const noexcept {
  if (!is_gpu_lost()) (void)cudaFreeHost(address);
}
void DestroyStream::operator()(cudaStream_t stream) const noexcept {
  if (!is_gpu_lost()) (void)cudaStreamDestroy(stream);
}
void DestroyEvent::operator()(cudaEvent_t event) const noexcept {
  if (!is_gpu_lost()) (void)cudaEventDestroy(event);
}

DeviceBytes allocate_device(std::int64_t bytes) {
  if (bytes == 0) return {};
  void* address = nullptr;
  check(cudaMalloc(&address, static_cast<std::size_t>(bytes)), fmt::format("allocating {} bytes", bytes));
  return DeviceBytes(static_cast<std::byte*>(address));
}

PinnedBytes allocate_pinned(std::int64_t bytes) {
  if (bytes == 0) return {};
  void* address = nullptr;
  check(cudaMallocHost(&address, static_cast<std::size_t>(bytes)),
        fmt::format("pinning {} bytes of host memory", bytes));
  return PinnedBytes(static_cast<std::byte*>(address));
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "creating an event");
  return Event(event);
}

double seconds_between(cudaEvent_t from, cudaEvent_t to, double limit, std::string_view doing) {
  check(status_of(to, limit, doing), doing);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from, to), "reading a timer");
  return 1e-3 * static_cast<double>(milliseconds);
}

Device::Device(int index) : index_(index) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for GPUs");
  if (index >= count) {
    throw Error(ExitCode::no_device, fmt::format("cuda:{}: there {} {} GPU{}, counted from 0", index,
                                                 count == 1 ? "is" : "are", count, count == 1 ? "" : "s"));
  }
  check(cudaSetDevice(index), "opening the GPU");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "reading the GPU's properties");
  name_ = properties.name;
  architecture_ = properties.major * 10 + properties.minor;
  if (architecture_ < 80) {
    throw Error(ExitCode::no_device,
                fmt::format("cuda:{}: {} is sm_{}; attn has code for compute capability 8.0 and later", index, name_,
                            architecture_));
  }
  processors_ = properties.multiProcessorCount;
  l2_bytes_ = properties.l2CacheSize;
  shared_bytes_ = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  total_bytes_ = static_cast<std::int64_t>(properties.totalGlobalMem);
  check(cublasLtCreate(&blas_), "starting cuBLASLt");
}

void Device::use() const { check(cudaSetDevice(index_), "selecting the GPU"); }

Device::~Device() {
  if (!is_gpu_lost()) (void)cublasLtDestroy(blas_);
}

std::int64_t Device::free_bytes() const {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the free memory");
  return static_cast<std::int64_t>(free);
}

}  // namespace attn::cuda
