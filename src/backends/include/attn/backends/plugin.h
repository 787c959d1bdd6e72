// Opens backend plugins at run time, so that their libraries cost nothing until needed.
#pragma once

#include <memory>
#include <string>

#include "attn/backends/backend.h"
#include "attn/communicators/communicator.h"

namespace attn::backends {

/// A plugin shares C++ types with the program, so both must come from one build. The plugin's function
/// `attn_plugin_build` returns the version, the compiler and a hash of the public headers that lay out those types.
inline constexpr const char* kPluginBuildSymbol = "attn_plugin_build";
using PluginBuild = const char*();
/// `attn_open_backend(device index)`; the caller owns the result. Throws Error.
inline constexpr const char* kOpenBackendSymbol = "attn_open_backend";
using OpenBackend = Backend*(int index);

/// `attn_expect_nccl()` throws Error if NCCL cannot be opened. `attn_open_nccl(host)` wraps a communicator, of which it
/// takes ownership; the caller owns the result.
inline constexpr const char* kExpectNcclSymbol = "attn_expect_nccl";
using ExpectNccl = void();
inline constexpr const char* kOpenNcclSymbol = "attn_open_nccl";
using OpenNccl = communicators::Communicator*(communicators::Communicator* host);

/// Returns the CUDA backend on GPU `index`. Throws Error (no_device), with the reason and a way out, if the driver, a
/// GPU or the plugin (libattn_cuda.so beside the program, or in ../lib/attn) is missing or incompatible.
[[nodiscard]] std::unique_ptr<Backend> open_cuda_backend(int index);

/// For ranks with the CUDA backend, each on a GPU of its own. Throws Error (no_device) if this rank cannot open NCCL,
/// before any rank waits for another.
void expect_nccl();
/// Returns a communicator over the ranks of `host`, which it wraps: data on the GPUs goes through NCCL from then on.
/// All ranks call it. Throws Error (no_device).
[[nodiscard]] std::unique_ptr<communicators::Communicator> open_nccl(std::unique_ptr<communicators::Communicator> host);

}  // namespace attn::backends
