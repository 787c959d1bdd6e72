#include "companion/companion_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "attn/base/companion.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

/// Returns the program: the one that the environment names, or the one beside attn.
std::string find_program(const Companion& companion) {
  if (const char* given = std::getenv(companion.variable); given != nullptr && *given != '\0') return given;
  std::string program = attn::companion(companion.program);
  if (program.empty())
    throw bad_input("{} files need the program {}, which is not where attn is; set {} to where it is", companion.format,
                    companion.program, companion.variable);
  return program;
}

Error no_connection(const Companion& companion) {
  return bad_input("{}: no connection to {}: {}", companion.format, companion.program, std::strerror(errno));
}

std::pair<Descriptor, Descriptor> socket_pair(const Companion& companion) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw no_connection(companion);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Duplicates a descriptor to a number that cannot collide with the child's 0 to 3.
Descriptor out_of_the_way(const Companion& companion, int fd) {
  constexpr int kFirstFree = 10;
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  if (!copy) throw no_connection(companion);
  return copy;
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] posix_spawn_file_actions_t* get() noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Starts the child. Its descriptor 0 is the socket, 1 and 2 are closed, and 3 is the file.
pid_t start(const Companion& companion, const std::string& mode, int socket, Bytes::Backing file, std::int64_t size) {
  const Descriptor child_socket = out_of_the_way(companion, socket);
  const Descriptor child_file = out_of_the_way(companion, file.fd);
  FileActions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), child_socket.get(), 0);
  ::posix_spawn_file_actions_addopen(actions.get(), 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(actions.get(), 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), child_file.get(), 3);
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), 4);

  const std::string program = find_program(companion);
  std::array<std::string, 4> words = {companion.program, mode, std::to_string(file.offset), std::to_string(size)};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (error != 0) throw bad_input("{} files need {}: {}", companion.format, printable(program), std::strerror(error));
  return pid;
}

}  // namespace

std::string version_line(const Companion& companion) {
  const std::string program = find_program(companion);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw no_connection(companion);
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  FileActions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), to.get(), 1);
  std::array<std::string, 2> words = {companion.program, "--version"};
  std::array<char*, 3> arguments = {words[0].data(), words[1].data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (error != 0) throw bad_input("{}: {}", printable(program), std::strerror(error));
  to = Descriptor();
  std::array<char, 256> line{};
  const ssize_t length = ::read(from.get(), line.data(), line.size());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (length <= 0 || status != 0) throw bad_input("{} does not answer", printable(program));
  return {line.data(), static_cast<std::size_t>(length)};
}

Descriptor memory_file(const Companion& companion) {
  Descriptor file(::memfd_create(companion.program, MFD_CLOEXEC));
  if (!file) throw bad_input("{}: no file in memory: {}", companion.format, std::strerror(errno));
  return file;
}

OpenBytes::OpenBytes(const Companion& companion, const Bytes& bytes) {
  if (const auto backing = bytes.backing()) {
    backing_ = *backing;
    return;
  }
  copy_ = memory_file(companion);
  backing_ = {copy_.get(), 0};
  std::span<const std::byte> left = bytes.span();
  while (!left.empty()) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    const ssize_t written = ::write(copy_.get(), left.data(), std::min(left.size(), kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw Error(ExitCode::no_memory,
                  fmt::format("{}: no file in memory: {}", companion.format, std::strerror(errno)));
    left = left.subspan(static_cast<std::size_t>(written));
  }
}

CompanionProcess::CompanionProcess(const Companion& companion, const std::string& mode, Bytes::Backing file,
                                   std::int64_t size, std::chrono::seconds limit, std::string place)
    : companion_(companion), place_(std::move(place)), limit_(limit), channel_({}, {}) {
  auto [ours, theirs] = socket_pair(companion);
  pid_ = start(companion, mode, theirs.get(), file, size);
  channel_ = Channel(std::move(ours), Channel::Clock::now() + limit);
}

CompanionProcess::~CompanionProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  reap();
}

int CompanionProcess::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

void CompanionProcess::fail(const ChannelBroken& broken) {
  const auto unreadable = [&](const std::string& why) {
    return bad_input("{}: not a readable {} file ({})", place_, companion_.format, why);
  };
  if (broken.why == ChannelBroken::Reason::timed_out)
    throw unreadable(fmt::format("it took longer than {} s", limit_.count()));
  if (broken.why == ChannelBroken::Reason::invalid_data) throw unreadable("the answer about it makes no sense");
  const int status = reap();
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGKILL || signal == SIGXCPU || signal == SIGPROF)
    throw unreadable("it takes more time or memory than a file of its size should");
  if (signal != 0) throw unreadable(fmt::format("{} was stopped by signal {}", companion_.library, signal));
  constexpr int kNotFound = 127;  // exit status of posix_spawn's child if exec fails
  if (WEXITSTATUS(status) == kNotFound)
    throw bad_input("{} files need the program {}, which cannot be started", companion_.format, companion_.program);
  throw unreadable(fmt::format("{} ended with status {}", companion_.library, WEXITSTATUS(status)));
}

}  // namespace attn::io
