#include "attn/backends/devices.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "attn/base/companion.h"
#include "attn/base/text.h"

namespace attn::backends {
namespace {

// The part of the driver's interface that is used here; the numbers are part of its ABI (cuda.h).
using Result = int;
constexpr Result kNoDevice = 100;
constexpr Result kStubLibrary = 34;
constexpr int kMajorAttribute = 75, kMinorAttribute = 76;

struct Sentence {
  Result result;
  std::string_view text;
};
constexpr std::array kSentences = {
    Sentence{kStubLibrary, "libcuda.so.1 is the CUDA stub (check LD_LIBRARY_PATH)"},
    Sentence{3, "the NVIDIA driver is shutting down"},
    Sentence{46, "another process uses the GPU exclusively"},
    Sentence{101, "the NVIDIA driver has no such device"},
    Sentence{802, "the GPU is not ready: the NVLink fabric manager is not running"},
    Sentence{803, "the NVIDIA kernel module and libcuda.so.1 are of different versions: restart the machine"},
    Sentence{804, "this driver is not compatible with this GPU"},
    Sentence{999, "the NVIDIA driver failed for a reason it does not name; the kernel's log may have details"},
};

std::string sentence_for(Result result) {
  if (result == kNoDevice) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible == nullptr
               ? "the NVIDIA driver is installed, but there is no GPU"
               : fmt::format("the NVIDIA driver is installed, but no GPU is visible (CUDA_VISIBLE_DEVICES={})",
                             printable(visible));
  }
  for (const Sentence& sentence : kSentences) {
    if (sentence.result == result) return std::string(sentence.text);
  }
  return fmt::format("the NVIDIA driver failed (CUDA error {})", result);
}

template <typename Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

Gpus find_gpus() {
  Gpus found;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // kept open: closing a driver is unsafe
  if (driver == nullptr) {
    found.why_none = "no NVIDIA driver (libcuda.so.1 not found)";
    return found;
  }
  auto* const init = symbol<Result(unsigned)>(driver, "cuInit");
  auto* const version = symbol<Result(int*)>(driver, "cuDriverGetVersion");
  auto* const count = symbol<Result(int*)>(driver, "cuDeviceGetCount");
  auto* const device = symbol<Result(int*, int)>(driver, "cuDeviceGet");
  auto* const name = symbol<Result(char*, int, int)>(driver, "cuDeviceGetName");
  auto* const attribute = symbol<Result(int*, int, int)>(driver, "cuDeviceGetAttribute");
  auto* const memory = symbol<Result(std::size_t*, int)>(driver, "cuDeviceTotalMem_v2");
  auto* const bus_id = symbol<Result(char*, int, int)>(driver, "cuDeviceGetPCIBusId");  // optional
  if (!init || !version || !count || !device || !name || !attribute || !memory) {
    found.why_none = "libcuda.so.1 is not a supported NVIDIA driver: it lacks functions of CUDA 4";
    return found;
  }
  (void)version(&found.driver_version);
  int gpus = 0;
  Result result = init(0);
  if (result == 0) result = count(&gpus);
  if (result == 0 && gpus == 0) result = kNoDevice;
  if (result != 0) {
    found.why_none = sentence_for(result);
    return found;
  }
  for (int i = 0; i < gpus; ++i) {
    int handle = 0, major = 0, minor = 0;
    std::array<char, 256> text{};
    std::size_t bytes = 0;
    if (device(&handle, i) != 0 || name(text.data(), static_cast<int>(text.size()) - 1, handle) != 0 ||
        attribute(&major, kMajorAttribute, handle) != 0 || attribute(&minor, kMinorAttribute, handle) != 0 ||
        memory(&bytes, handle) != 0) {
      continue;
    }
    std::array<char, 64> bus{};
    if (bus_id != nullptr && bus_id(bus.data(), static_cast<int>(bus.size()) - 1, handle) != 0) bus.fill('\0');
    found.gpus.push_back({i, printable(text.data()), major * 10 + minor, static_cast<std::int64_t>(bytes), bus.data()});
  }
  if (found.gpus.empty()) found.why_none = "the NVIDIA driver does not describe its GPUs";
  return found;
}

GpuState gpu_state(int index) {
  GpuState state;
  const Gpus found = find_gpus();
  if (index < 0 || index >= static_cast<int>(found.gpus.size())) return state;
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return state;
  // Numbers of the ABI (nvml.h): 0 is success, clock type 1 is the processors'.
  auto* const init = symbol<Result()>(library, "nvmlInit_v2");
  auto* const handle_of = symbol<Result(const char*, void**)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  auto* const clock = symbol<Result(void*, int, unsigned*)>(library, "nvmlDeviceGetClockInfo");
  auto* const power = symbol<Result(void*, unsigned*)>(library, "nvmlDeviceGetPowerUsage");
  void* handle = nullptr;
  const char* bus = found.gpus[static_cast<std::size_t>(index)].pci_bus_id.c_str();
  if (!init || !handle_of || !clock || !power || init() != 0 || handle_of(bus, &handle) != 0) return state;
  unsigned megahertz = 0, milliwatts = 0;
  if (clock(handle, 1, &megahertz) == 0) state.clock_mhz = static_cast<int>(megahertz);
  if (power(handle, &milliwatts) == 0) state.watts = 1e-3 * milliwatts;
  return state;
}

std::string cuda_plugin_path() { return companion("libattn_cuda.so"); }

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace attn::backends
