// The door of a backend that is opened at run time, so that what it links costs nothing until it is asked for.
#pragma once

#include <memory>
#include <string>

#include "attn/backends/backend.h"
#include "attn/communicators/communicator.h"

namespace attn::backends {

/// A plugin shares C++ types with the program, so both must come from one build: its function `attn_plugin_build` gives
/// the version, the compiler and a hash of the public headers, where those types are laid out.
inline constexpr const char* kPluginBuildSymbol = "attn_plugin_build";
using PluginBuild = const char*();
/// `attn_open_backend(device index)`; the caller owns what it gives. Throws Error.
inline constexpr const char* kOpenBackendSymbol = "attn_open_backend";
using OpenBackend = Backend*(int index);

/// `attn_expect_nccl()` throws Error where NCCL cannot be opened; `attn_open_nccl(host)` takes a communicator and gives
/// one that keeps it; the caller owns that.
inline constexpr const char* kExpectNcclSymbol = "attn_expect_nccl";
using ExpectNccl = void();
inline constexpr const char* kOpenNcclSymbol = "attn_open_nccl";
using OpenNccl = communicators::Communicator*(communicators::Communicator* host);

/// The CUDA backend on GPU `index`. Throws Error (no_device), with the reason and the way out, where the driver, a GPU
/// or the plugin (libattn_cuda.so beside the program, or in ../lib/attn) is missing or does not fit.
[[nodiscard]] std::unique_ptr<Backend> open_cuda_backend(int index);

/// For ranks whose backend is CUDA's, each on a GPU that no other rank has. Throws Error (no_device) where this rank
/// cannot open NCCL, before any rank waits for another.
void expect_nccl();
/// All ranks of `host`, which stays inside: what the backend has on its GPU goes by NCCL from then on. All call it.
/// Throws Error (no_device).
[[nodiscard]] std::unique_ptr<communicators::Communicator> open_nccl(std::unique_ptr<communicators::Communicator> host);

}  // namespace attn::backends
