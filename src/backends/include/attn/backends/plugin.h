// Opens backend plugins at run time, so that their libraries cost nothing until needed.
#pragma once

#include <memory>
#include <string>

#include "attn/backends/backend.h"
#include "attn/communicators/communicator.h"

namespace attn::backends {

/// A plugin shares C++ types with the program, so both must come from one build. The plugin's function
/// `attn_plugin_build` returns the version, the compiler and a hash of the public headers that define those types.
inline constexpr const char* kPluginBuildSymbol = "attn_plugin_build";
using PluginBuild = const char*();
/// `attn_open_backend(device index)` opens a backend; the caller owns it. Throws Error.
inline constexpr const char* kOpenBackendSymbol = "attn_open_backend";
using OpenBackend = Backend*(int index);

/// `attn_expect_nccl()` throws Error if NCCL cannot be opened. `attn_open_nccl(host)` wraps the communicator `host` and
/// takes ownership of it; the caller owns the result.
inline constexpr const char* kExpectNcclSymbol = "attn_expect_nccl";
using ExpectNccl = void();
inline constexpr const char* kOpenNcclSymbol = "attn_open_nccl";
using OpenNccl = communicators::Communicator*(communicators::Communicator* host);

/// Returns the CUDA backend on GPU `index`. It needs the driver, a GPU, and the plugin libattn_cuda.so beside the
/// program or in ../lib/attn. If one of these is missing or incompatible, throws Error (no_device) with the reason and
/// a way out.
[[nodiscard]] std::unique_ptr<Backend> open_cuda_backend(int index);

/// Throws Error (no_device) if this rank cannot open NCCL. Ranks with the CUDA backend, each on a GPU of its own, call
/// it before any of them waits for another.
void expect_nccl();
/// Returns a communicator over the ranks of `host`, which it wraps. Data on GPUs then goes through NCCL. All ranks call
/// it. Throws Error (no_device).
[[nodiscard]] std::unique_ptr<communicators::Communicator> open_nccl(std::unique_ptr<communicators::Communicator> host);

}  // namespace attn::backends
