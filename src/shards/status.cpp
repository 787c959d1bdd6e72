#include "status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "attn/communicators/launch.h"
#include "attn/io/descriptor.h"

namespace attn::shards {
namespace {

std::string pid_namespace() {
  std::error_code error;
  const auto link = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return error ? "?" : link.string();
}

/// Returns the start time of the process in ticks since boot; "" if it does not exist.
std::string start_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');  // a program's name may contain spaces and brackets
  if (name_end == std::string::npos) return "";
  constexpr std::size_t kStart = 20;  // index among the fields after the name
  const std::vector<std::string> fields = split(std::string_view(text).substr(name_end + 1), ' ');
  return fields.size() > kStart ? fields[kStart] : "";
}

}  // namespace

std::optional<Status> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Status{status.st_size, status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

std::int64_t now_in(const std::string& folder) {
  const std::string path = folder + "/.clock." + communicators::host_name() + "." + std::to_string(::getpid());
  const io::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file || ::futimens(file.get(), nullptr) != 0) throw system_error(printable(folder), "cannot be written", errno);
  const auto status = status_of(path);
  ::unlink(path.c_str());
  return status ? status->modified : 0;
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw system_error(printable(path), "cannot be created", error.value());
}

std::string this_process() {
  const std::string pid = std::to_string(::getpid());
  return communicators::host_name() + " " + pid_namespace() + " " + pid + " " + start_of(pid);
}

bool has_exited(const std::string& process) {
  const std::vector<std::string> parts = split(process, ' ');
  if (parts.size() != 4 || parts[0] != communicators::host_name() || parts[1] != pid_namespace()) return false;
  return start_of(parts[2]) != parts[3];
}

}  // namespace attn::shards
