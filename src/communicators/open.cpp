#include "attn/communicators/open.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "attn/base/companion.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::communicators {
namespace {

Error no_mpi(const std::string& message) { return {ExitCode::no_device, message}; }

struct Plugin {
  std::string_view launcher;
  const char* file;
};
constexpr std::array kPlugins = {Plugin{"Open MPI", "libattn_mpi.so"}, Plugin{"PMI", "libattn_mpi_mpich.so"}};

/// Loads a plugin. It is never closed, because MPI cannot be unloaded. Its symbols are global, because Open MPI's own
/// plugins look for them there.
void* open_plugin(const std::string& path) {
  void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (plugin == nullptr) throw no_mpi(fmt::format("{}: {}", printable(path), printable(dlerror())));
  return plugin;
}

}  // namespace

std::string mpi_plugin_path(const Launch& launch) {
  bool names_one = false;
  for (const Plugin& plugin : kPlugins) names_one = names_one || plugin.launcher == launch.launcher;
  for (const Plugin& plugin : kPlugins) {
    if (names_one && plugin.launcher != launch.launcher) continue;
    if (std::string path = companion(plugin.file); !path.empty()) return path;
  }
  return {};
}

std::unique_ptr<Communicator> open_mpi(const Launch& launch) {
  const std::string path = mpi_plugin_path(launch);
  if (path.empty()) {
    throw no_mpi(
        fmt::format("this attn was built without MPI for {}: `make setup mpi` installs it for the next build; "
                    "sharding files by rank works without it",
                    launch.launcher.empty() ? "any launcher" : launch.launcher));
  }
  void* const plugin = open_plugin(path);
  auto* const build = reinterpret_cast<PluginBuild*>(dlsym(plugin, kPluginBuildSymbol));
  auto* const open = reinterpret_cast<OpenCommunicator*>(dlsym(plugin, kOpenSymbol));
  if (build == nullptr || open == nullptr || std::string_view(build()) != ATTN_PLUGIN_BUILD)
    throw no_mpi(fmt::format("{} is of another build than this attn: build both together", printable(path)));
  std::unique_ptr<Communicator> world(open());
  if (!launch.launcher.empty() && (world->size() != launch.size || world->rank() != launch.rank)) {
    throw no_mpi(fmt::format(
        "{} started rank {} of {}, and {} sees rank {} of {}: the launcher is of another MPI than "
        "the plugin {}",
        launch.launcher, launch.rank, launch.size, world->library(), world->rank(), world->size(), printable(path)));
  }
  return world;
}

std::unique_ptr<Communicator> split_mpi(const Launch& launch, int group) {
  auto* const split = reinterpret_cast<SplitCommunicator*>(dlsym(open_plugin(mpi_plugin_path(launch)), kSplitSymbol));
  if (split == nullptr) throw no_mpi("the plugin for MPI has no groups of ranks: build it and attn together");
  return std::unique_ptr<Communicator>(split(group));
}

}  // namespace attn::communicators
