#include "attn/io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "attn/base/error.h"
#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "hidden_names.h"
#include "temporaries.h"

namespace attn::io {
namespace {

std::atomic<std::int64_t> written_by_all = 0;

/// Returns the descriptor to which a path like /dev/stdout refers. Opening such a path again would start at the file's
/// beginning, and replacing it would bypass the shell's redirection.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int fd = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    if (error == std::errc() && end == digits.data() + digits.size()) return fd;
  }
  return std::nullopt;
}

/// Returns the path of the file that a chain of symbolic links names, which does not exist yet.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;  // the limit in Linux
  for (int link = 0; link < kMostLinks; ++link) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = std::filesystem::path(path).parent_path() / next;
  }
  return path;
}

/// Removes the hidden files that killed writers of the target have left.
void remove_stale(const std::string& target) {
  for (const std::string& path : hidden_names_of(target)) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

}  // namespace

bool is_terminal(const std::string& path) {
  if (const auto fd = descriptor_of(path)) return ::isatty(*fd) == 1;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  return file && ::isatty(file.get()) == 1;
}

void check_file_target(const std::string& path) {
  const std::string place = path == "-" ? "stdout" : printable(path);
  if (const auto fd = descriptor_of(path)) {
    const int flags = ::fcntl(*fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) throw system_error(place, "cannot be written", EBADF);
    return;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    // Opening and closing a pipe would end its reader.
    if (::access(path.c_str(), W_OK) != 0) throw system_error(place, "cannot be written", errno);
    return;
  }
  const AtomicFile probe(path);
}

bool replace_by_link(const std::string& file, const std::string& name, const std::string& target) {
  remove_stale(target);
  // Without a lock, another writer of the target would take the hidden name for one left by a killed process.
  const Descriptor lock(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX);
  const std::string hidden = hidden_name(target);
  char* listed = enlist(hidden);
  const bool replaced = ::link(file.c_str(), hidden.c_str()) == 0 && ::rename(hidden.c_str(), name.c_str()) == 0;
  ::unlink(hidden.c_str());  // rename() leaves it if both names are links to the same file
  strike_off(listed);
  const Descriptor folder(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
  return replaced;
}

AtomicFile::AtomicFile(std::string path, Content content) : path_(std::move(path)), target_(path_) {
  if (path_.empty()) throw bad_input("an output file without a name");
  if (content == Content::binary && is_terminal(path_))
    throw bad_usage("{}: binary data is not written to a terminal: write it to a file, or into a pipe",
                    path_ == "-" ? "stdout" : printable(path_));
  if (const auto fd = descriptor_of(path_)) {
    open_direct(::fcntl(*fd, F_DUPFD_CLOEXEC, 0));
    return;
  }
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw bad_input("{}: a directory, not a file", printable(path_));
    if (!S_ISREG(status.st_mode)) {
      open_direct(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
      return;
    }
    // Renaming would replace a file that its owner has made read-only.
    if (::access(path_.c_str(), W_OK) != 0) fail("cannot be written", errno);
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path_.c_str(), nullptr), &std::free);
    if (!resolved) fail("cannot be written", errno);
    target_ = resolved.get();
  } else if (errno != ENOENT) {
    fail("cannot be written", errno);
  } else {
    target_ = behind_links(path_);
  }
  remove_stale(target_);
  open_temporary();
  if (status.st_mode != 0) ::fchmod(file_.get(), status.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  strike_off(listed_);
}

void AtomicFile::open_direct(int fd) {
  if (fd < 0) fail("cannot be written", errno);
  file_ = Descriptor(fd);
}

/// The open hidden file holds a lock while its writer lives, so that other writers recognize it as in use.
void AtomicFile::open_temporary() {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = hidden_name(target_);
    strike_off(listed_);
    listed_ = enlist(name);
    Descriptor file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file) {
      const int error = errno;
      strike_off(listed_);
      if (error == EEXIST || error == EINTR) continue;
      fail("cannot be written", error);
    }
    ::flock(file.get(), LOCK_EX);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
      const int error = errno;
      ::unlink(name.c_str());
      strike_off(listed_);
      fail("cannot be written", error);
    }
    if (status.st_nlink == 0) continue;  // before the lock another writer removed it as a stale one
    temporary_ = std::move(name);
    file_ = std::move(file);
    return;
  }
  fail("cannot be written", EEXIST);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{16} << 20;  // so that bytes_written() shows the progress
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), kMost));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot be written", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += written;
    written_by_all += written;
  }
}

std::optional<int> AtomicFile::hidden_file() const noexcept {
  return temporary_.empty() ? std::nullopt : std::optional(file_.get());
}

void AtomicFile::adopt() {
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (end < 0) fail("cannot be written", errno);
  written_by_all += end - size_;
  size_ = end;
}

void AtomicFile::rewrite(std::int64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
  }
}

void AtomicFile::read_back(std::int64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t read = ::pread(file_.get(), bytes.data(), bytes.size(), at);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) fail("cannot be read back", errno);
    if (read == 0) throw internal_error("{}: it ends at byte {}", printable(path_), at);
    bytes = bytes.subspan(static_cast<std::size_t>(read));
    at += read;
  }
}

std::int64_t AtomicFile::bytes_written() noexcept { return written_by_all; }

void AtomicFile::commit() {
  if (temporary_.empty()) {
    if (!file_.close()) fail("cannot be written", errno);
    return;
  }
  while (::fsync(file_.get()) != 0)
    if (errno != EINTR) fail("cannot be written", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
  temporary_.clear();
  strike_off(listed_);
  if (!file_.close()) fail("cannot be written", errno);
  // Syncs the folder, so that the new name survives a power cut too. Some file systems cannot sync a folder; this is
  // ignored.
  const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder && ::fsync(folder.get()) != 0 && errno == EIO) fail("cannot be written", errno);
}

void AtomicFile::fail(std::string_view what, int error) const {
  const std::string place = path_ == "-" ? "stdout" : printable(path_);
  throw system_error(place, what, error);
}

void remove_temporaries() noexcept { remove_listed(); }

}  // namespace attn::io
