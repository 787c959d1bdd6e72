#include "attn/base/companion.h"

#include <dlfcn.h>

#include <filesystem>

namespace attn {
namespace {

namespace fs = std::filesystem;

/// Returns the folder of the program or shared library that holds this function.
fs::path own_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&companion), &info) == 0 || info.dli_fname == nullptr)
    return program.parent_path();
  // A library's dli_fname is a path; a program's is the name it was called by.
  const fs::path holder = fs::canonical(info.dli_fname, error);
  const bool is_library = !error && holder.filename().string().find(".so") != std::string::npos;
  return (is_library || program.empty() ? holder : program).parent_path();  // there may be no /proc
}

}  // namespace

std::string companion(const std::string& name) {
  std::error_code error;
  const fs::path folder = own_folder();
  for (const char* place : {".", "..", "../lib/attn", "attn", "../attn"}) {
    fs::path path = (folder / place / name).lexically_normal();
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return {};
}

}  // namespace attn
