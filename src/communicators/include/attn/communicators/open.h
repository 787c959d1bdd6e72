// The door of communicators that are opened at run time, so that what they link costs nothing until it is asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attn/communicators/communicator.h"
#include "attn/communicators/launch.h"

namespace attn::communicators {

/// A plugin gives `attn_plugin_build()`, the version, the compiler and a hash of the headers in which shared types are
/// laid out, and `attn_open_communicator()`, which joins the other ranks; the caller owns what it gives. Throws Error.
inline constexpr const char* kPluginBuildSymbol = "attn_plugin_build";
using PluginBuild = const char*();
inline constexpr const char* kOpenSymbol = "attn_open_communicator";
using OpenCommunicator = Communicator*();
/// `attn_split_communicator()`: those of the ranks that give the same number, in their order.
inline constexpr const char* kSplitSymbol = "attn_split_communicator";
using SplitCommunicator = Communicator*(int group);

/// The plugin for what launched this process, "libattn_mpi.so" for Open MPI, "libattn_mpi_mpich.so" for MPICH and its
/// like: of one that does not say, the first that is there. Empty where none is.
[[nodiscard]] std::string mpi_plugin_path(const Launch& launch);

/// All ranks of the launch, by MPI. To be called once in a process. Throws Error (no_device), with the reason and the
/// way out, where the plugin is missing, of another build, or cannot be loaded, and where the library sees other ranks
/// than the launcher named.
[[nodiscard]] std::unique_ptr<Communicator> open_mpi(const Launch& launch);

/// Those of the ranks of open_mpi() that give the same group, in their order. All ranks must call it, and end it before
/// that of all. Throws Error (no_device).
[[nodiscard]] std::unique_ptr<Communicator> split_mpi(const Launch& launch, int group);

}  // namespace attn::communicators
