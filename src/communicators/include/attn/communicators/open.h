// Opens communicator plugins at run time, so that their libraries cost nothing until needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attn/communicators/communicator.h"
#include "attn/communicators/launch.h"

namespace attn::communicators {

/// A plugin exports `attn_plugin_build()`, which returns the version, the compiler and a hash of the headers that lay
/// out shared types, and `attn_open_communicator()`, which joins the other ranks; the caller owns it. Throws Error.
inline constexpr const char* kPluginBuildSymbol = "attn_plugin_build";
using PluginBuild = const char*();
inline constexpr const char* kOpenSymbol = "attn_open_communicator";
using OpenCommunicator = Communicator*();
/// `attn_split_communicator()`: joins the ranks that pass the same number, in their order.
inline constexpr const char* kSplitSymbol = "attn_split_communicator";
using SplitCommunicator = Communicator*(int group);

/// Returns the plugin for this process's launcher: "libattn_mpi.so" for Open MPI, "libattn_mpi_mpich.so" for MPICH and
/// its relatives, and the first installed one for other launchers. Empty if there is none.
[[nodiscard]] std::string mpi_plugin_path(const Launch& launch);

/// Returns all ranks of the launch, over MPI. To be called once per process. Throws Error (no_device), with the reason
/// and a way out, if the plugin is missing, from another build or fails to load, or if the library sees other ranks
/// than the launcher.
[[nodiscard]] std::unique_ptr<Communicator> open_mpi(const Launch& launch);

/// Returns the ranks of open_mpi() that pass the same group, in their order. All ranks must call it, and destroy it
/// before the communicator of all. Throws Error (no_device).
[[nodiscard]] std::unique_ptr<Communicator> split_mpi(const Launch& launch, int group);

}  // namespace attn::communicators
