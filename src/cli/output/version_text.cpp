#include "output/version_text.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

#include "attn/backends/cpu.h"
#include "attn/backends/devices.h"
#include "attn/base/companion.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/audio.h"
#include "attn/io/hdf5.h"
#include "attn/io/image.h"

namespace attn::cli {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86-64";
constexpr std::string_view kKernels = "kernels for sse41, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
constexpr std::string_view kKernels = "portable kernels";
#else
constexpr std::string_view kArchitecture = "unknown architecture";
constexpr std::string_view kKernels = "portable kernels";
#endif

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

/// Returns "attn-hdf5 (HDF5 1.10.8)", or that the program does not answer.
template <typename Version>
std::string program(std::string_view name, Version version) {
  try {
    return fmt::format("{} ({})", name, version());
  } catch (const Error&) {
    return fmt::format("no {}", name);
  }
}

std::string plugin(const std::string& name) { return companion(name).empty() ? "no " + name : name; }

}  // namespace

std::string version_text() {
  const backends::OnednnLibrary library = backends::onednn_library();
  const std::string cuda = backends::cuda_plugin_path();
  const std::array<std::string, 6> companions = {program("attn-hdf5", [] { return "HDF5 " + io::hdf5_version(); }),
                                                 program("attn-image", io::image_version),
                                                 program("attn-audio", io::audio_version),
                                                 plugin("libattn_sentencepiece.so"),
                                                 plugin("libattn_mpi.so"),
                                                 plugin("libattn_mpi_mpich.so")};
  return fmt::format(
      "attn {}\n"
      "build       {}, {}, {}\n"
      "CPU         oneDNN {}; {}; this machine runs {}\n"
      "CUDA        {}\n"
      "companions  {}\n"
      "libraries   {}\n",
      ATTN_VERSION, ATTN_BUILD_TYPE, printable(kCompiler), kArchitecture, library.version, kKernels,
      backends::kernel_isa(), cuda.empty() ? "no libattn_cuda.so" : "libattn_cuda.so", fmt::join(companions, ", "),
      ATTN_LIBRARIES);
}

}  // namespace attn::cli
