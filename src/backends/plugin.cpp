#include "attn/backends/plugin.h"

#include <dlfcn.h>

#include <string_view>

#include "attn/backends/devices.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::backends {
namespace {

Error no_device(const std::string& message) { return {ExitCode::no_device, message}; }

/// CUDA 13 requires a driver for CUDA 13: minor versions are compatible, major ones are not.
constexpr int kToolkitMajor = 13;

void expect_gpu(int index) {
  const Gpus found = find_gpus();
  if (!found.why_none.empty()) {
    throw no_device(fmt::format("cuda:{}: {} (see `attn devices`)", index, found.why_none));
  }
  if (found.driver_version / 1000 < kToolkitMajor) {
    throw no_device(
        fmt::format("cuda:{}: the driver supports CUDA {}; attn was built with {} (it needs driver 580 or "
                    "later)",
                    index, cuda_version_text(found.driver_version), kToolkitMajor));
  }
  const auto count = static_cast<int>(found.gpus.size());
  if (index >= count) {
    throw no_device(
        fmt::format("cuda:{}: this machine has {} GPU{}, counted from 0", index, count, count == 1 ? "" : "s"));
  }
  const Gpu& gpu = found.gpus[static_cast<std::size_t>(index)];
  if (gpu.architecture < 80) {
    throw no_device(fmt::format("cuda:{}: {} is sm_{}; attn has code for sm_80 (A100) and later", index, gpu.name,
                                gpu.architecture));
  }
}

/// Opens the plugin and checks that it is from this build. Errors begin with `what`.
void* open_plugin(const std::string& what) {
  const std::string path = cuda_plugin_path();
  if (path.empty()) {
    throw no_device(
        fmt::format("{}: this attn has no CUDA backend: libattn_cuda.so is neither next to the program "
                    "nor in ../lib/attn; build where nvcc is found (make setup prints how to get it)",
                    what));
  }
  void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: CUDA cannot be unloaded
  if (plugin == nullptr) {
    throw no_device(fmt::format("{}: {}; the CUDA Toolkit's libraries must be where the loader looks (LD_LIBRARY_PATH)",
                                what, printable(dlerror())));
  }
  auto* const build = reinterpret_cast<PluginBuild*>(dlsym(plugin, kPluginBuildSymbol));
  if (build == nullptr || std::string_view(build()) != ATTN_PLUGIN_BUILD) {
    throw no_device(
        fmt::format("{}: {} is of another build than this attn: build both together", what, printable(path)));
  }
  return plugin;
}

/// Returns a function of the plugin; a plugin of this build exports all of them.
template <typename Function>
Function& function_of(void* plugin, const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(plugin, name));
  if (function == nullptr) throw internal_error("libattn_cuda.so has no {}", name);
  return *function;
}

}  // namespace

std::unique_ptr<Backend> open_cuda_backend(int index) {
  expect_gpu(index);
  void* const plugin = open_plugin(fmt::format("cuda:{}", index));
  return std::unique_ptr<Backend>(function_of<OpenBackend>(plugin, kOpenBackendSymbol)(index));
}

void expect_nccl() { function_of<ExpectNccl>(open_plugin("NCCL"), kExpectNcclSymbol)(); }

std::unique_ptr<communicators::Communicator> open_nccl(std::unique_ptr<communicators::Communicator> host) {
  auto& open = function_of<OpenNccl>(open_plugin("NCCL"), kOpenNcclSymbol);
  return std::unique_ptr<communicators::Communicator>(open(host.release()));
}

}  // namespace attn::backends
