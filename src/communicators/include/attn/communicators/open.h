// Opens communicator plugins at run time, so that their libraries cost nothing until needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attn/communicators/communicator.h"
#include "attn/communicators/launch.h"

namespace attn::communicators {

/// The functions that a plugin exports. `attn_plugin_build()` returns the version, the compiler and a hash of the
/// headers that define shared types. `attn_open_communicator()` joins the other ranks; the caller owns the result. It
/// throws Error.
inline constexpr const char* kPluginBuildSymbol = "attn_plugin_build";
using PluginBuild = const char*();
inline constexpr const char* kOpenSymbol = "attn_open_communicator";
using OpenCommunicator = Communicator*();
/// `attn_split_communicator()` joins the ranks that pass the same number, in their order.
inline constexpr const char* kSplitSymbol = "attn_split_communicator";
using SplitCommunicator = Communicator*(int group);

/// Returns the path of the plugin for this process's launcher: "libattn_mpi.so" for Open MPI, "libattn_mpi_mpich.so"
/// for MPICH and compatible libraries, and the first installed one for other launchers. Empty if there is none.
[[nodiscard]] std::string mpi_plugin_path(const Launch& launch);

/// Joins all ranks of the launch over MPI. Call it once per process. Throws Error (no_device), with the reason and a
/// way out, if the plugin is missing, from another build or fails to load. Also throws if the library's ranks differ
/// from the launcher's.
[[nodiscard]] std::unique_ptr<Communicator> open_mpi(const Launch& launch);

/// Joins the ranks of open_mpi() that pass the same group, in their order. All ranks must call it, and destroy the
/// result before the communicator of open_mpi(). Throws Error (no_device).
[[nodiscard]] std::unique_ptr<Communicator> split_mpi(const Launch& launch, int group);

}  // namespace attn::communicators
