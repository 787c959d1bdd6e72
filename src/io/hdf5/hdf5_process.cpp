#include "hdf5_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "attn/base/companion.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

constexpr const char* kName = "attn-hdf5";

/// Returns the limit in seconds of wall-clock time, because processor time advances more slowly under load.
std::int64_t seconds_for(std::int64_t size) { return 5 * (1 + size / kHdf5Slowest); }

/// Returns the program: $ATTN_HDF5, or the one beside attn.
std::string find_program() {
  if (const char* given = std::getenv("ATTN_HDF5"); given != nullptr && *given != '\0') return given;
  std::string program = companion(kName);
  if (program.empty())
    throw bad_input("HDF5 files need the program {}, which is not where attn is; set ATTN_HDF5 to where it is", kName);
  return program;
}

std::pair<Descriptor, Descriptor> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw bad_input("HDF5: no connection to {}: {}", kName, std::strerror(errno));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Duplicates a descriptor to a number that cannot collide with the child's 0 to 3.
Descriptor out_of_the_way(int fd) {
  constexpr int kFirstFree = 10;
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  if (!copy) throw bad_input("HDF5: no connection to {}: {}", kName, std::strerror(errno));
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
pid_t start(const std::string& mode, int socket, int file, std::int64_t offset, std::int64_t size) {
  const Descriptor child_socket = out_of_the_way(socket);
  const Descriptor child_file = out_of_the_way(file);
  FileActions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), child_socket.get(), 0);
  ::posix_spawn_file_actions_addopen(actions.get(), 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(actions.get(), 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), child_file.get(), 3);
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), 4);

  std::string program = find_program();
  std::array<std::string, 4> words = {kName, mode, std::to_string(offset), std::to_string(size)};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), actions.get(), nullptr, arguments.data(), environ);
  if (error != 0) throw bad_input("HDF5 files need {}: {}", printable(program), std::strerror(error));
  return pid;
}

}  // namespace

std::string hdf5_version_line() {
  const std::string program = find_program();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw bad_input("{}: {}", kName, std::strerror(errno));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  FileActions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), to.get(), 1);
  std::array<std::string, 2> words = {kName, "--version"};
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

Hdf5Process::Hdf5Process(const std::string& mode, int fd, std::int64_t offset, std::int64_t size, std::string place)
    : place_(std::move(place)), seconds_(seconds_for(size)), channel_({}, {}) {
  auto [ours, theirs] = socket_pair();
  pid_ = start(mode, theirs.get(), fd, offset, size);
  channel_ = Channel(std::move(ours), Channel::Clock::now() + std::chrono::seconds(seconds_));
}

Hdf5Process::~Hdf5Process() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  reap();
}

int Hdf5Process::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

void Hdf5Process::fail(const ChannelBroken& broken) {
  if (broken.why == ChannelBroken::Why::late) {
    throw bad_input("{}: not a readable HDF5 file (it took longer than {} s)", place_, seconds_);
  }
  if (broken.why == ChannelBroken::Why::nonsense) {
    throw bad_input("{}: not a readable HDF5 file (the answer about it makes no sense)", place_);
  }
  const int status = reap();
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGKILL || signal == SIGXCPU || signal == SIGPROF) {
    throw bad_input("{}: not a readable HDF5 file (it takes more time or memory than a file of its size should)",
                    place_);
  }
  if (WIFSIGNALED(status)) {
    throw bad_input("{}: not a readable HDF5 file (the HDF5 library was stopped by signal {})", place_,
                    WTERMSIG(status));
  }
  constexpr int kNotFound = 127;  // exit status of posix_spawn's child if exec fails
  if (WEXITSTATUS(status) == kNotFound)
    throw bad_input("HDF5 files need the program {}, which cannot be started", kName);
  throw bad_input("{}: not a readable HDF5 file (the HDF5 library ended with status {})", place_, WEXITSTATUS(status));
}

}  // namespace attn::io
