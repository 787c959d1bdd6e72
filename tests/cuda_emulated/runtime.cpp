#include "runtime.h"

#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

using attn::simt::Machine;
using Work = std::vector<std::function<void()>>;

// The runtime's handles are pointers to these.
struct CUstream_st {
  int device = 0;
  bool capturing = false;
  Work recorded;
};
struct CUgraph_st {
  Work work;
};
struct CUgraphExec_st {
  Work work;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool comes = true;
};

namespace {

Machine the_machine;
std::map<void*, std::size_t> sizes;
cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

cudaError_t fail(cudaError_t error) { return last_error = error; }

/// A call that waits for all work of the GPU.
void wait_for_all() { the_machine.blocked_calls += the_machine.hangs ? 1 : 0; }

void* aligned(std::size_t bytes) {
  return std::aligned_alloc(256, (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256);
}

}  // namespace

namespace attn::simt {

Machine& machine() { return the_machine; }

cudaError_t submit(cudaStream_t stream, std::function<void()> work, bool is_kernel) {
  if (stream != nullptr && stream->device != current_device) return fail(cudaErrorInvalidResourceHandle);
  const bool is_recorded = stream != nullptr && stream->capturing;
  the_machine.recorded += is_recorded && is_kernel ? 1 : 0;
  if (is_kernel && the_machine.idle) return cudaSuccess;
  if (!is_recorded && ++the_machine.submitted == the_machine.hang_at) the_machine.hangs = true;
  if (is_recorded) {
    stream->recorded.push_back(std::move(work));
  } else {
    work();
  }
  return cudaSuccess;
}

}  // namespace attn::simt

// NOLINTBEGIN: the names and types are CUDA's.
extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = the_machine.devices;
  return the_machine.devices > 0 ? cudaSuccess : fail(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  if (device >= the_machine.devices) return fail(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated");
  properties->major = the_machine.major;
  properties->minor = the_machine.minor;
  properties->multiProcessorCount = 4;
  properties->l2CacheSize = 1 << 20;
  properties->sharedMemPerBlockOptin = static_cast<std::size_t>(the_machine.shared_bytes);
  properties->totalGlobalMem = static_cast<std::size_t>(the_machine.total_bytes);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = static_cast<std::size_t>(the_machine.total_bytes);
  *free = static_cast<std::size_t>(the_machine.total_bytes - the_machine.used_bytes);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  ++the_machine.allocations;
  if (the_machine.fail_allocation == the_machine.allocations) return fail(cudaErrorMemoryAllocation);
  if (the_machine.used_bytes + static_cast<std::int64_t>(bytes) > the_machine.total_bytes) {
    return fail(cudaErrorMemoryAllocation);
  }
  *address = aligned(bytes);
  // Device memory is not cleared. Pages beyond this size stay untouched.
  constexpr std::size_t kFilled = std::size_t{1} << 30;
  if (bytes <= kFilled) std::memset(*address, 0xFF, bytes);
  sizes[*address] = bytes;
  the_machine.used_bytes += static_cast<std::int64_t>(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* address) {
  if (address == nullptr) return cudaSuccess;
  wait_for_all();
  const auto found = sizes.find(address);
  if (found == sizes.end()) return fail(cudaErrorInvalidValue);
  the_machine.used_bytes -= static_cast<std::int64_t>(found->second);
  sizes.erase(found);
  std::free(address);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  *address = aligned(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) {
  wait_for_all();
  std::free(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (stream != nullptr && stream->capturing) ++the_machine.recorded_copies;
  return attn::simt::submit(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return attn::simt::submit(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return attn::simt::submit(stream, [=] { function(data); });
}
void attn_emulated_hang() { the_machine.hangs = true; }  // called by the stand-in for NCCL
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (stream != nullptr && stream->capturing) return fail(cudaErrorStreamCaptureUnsupported);
  if (the_machine.hangs) return cudaErrorNotReady;
  return fail(std::exchange(the_machine.next_error, cudaSuccess));
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (to == nullptr) return fail(cudaErrorInvalidValue);  // also for 0 bytes
  return attn::simt::submit(stream, [=] { std::memset(to, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  (*stream)->device = current_device;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != nullptr && stream->capturing) return fail(cudaErrorStreamCaptureUnsupported);
  wait_for_all();
  return fail(std::exchange(the_machine.next_error, cudaSuccess));
}
cudaError_t cudaDeviceSynchronize() {
  wait_for_all();
  return fail(std::exchange(the_machine.next_error, cudaSuccess));
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream->capturing = true;
  stream->recorded.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  stream->capturing = false;
  *graph = new CUgraph_st{std::move(stream->recorded)};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  ++the_machine.graph_launches;
  return attn::simt::submit(stream, [exec] {
    for (const auto& work : exec->work) work();
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->comes = !the_machine.hangs;
  return attn::simt::submit(stream, [event] { event->time = std::chrono::steady_clock::now(); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return event->comes ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  wait_for_all();
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "an emulated error";
}

}  // extern "C"
// NOLINTEND
