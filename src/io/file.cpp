#include "attn/io/file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/system_error.h"
#include "attn/base/tensor.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"

namespace attn::io {
namespace {

/// Calls read(2), and repeats the call after signals. Returns the number of bytes read, 0 at the end.
std::int64_t read_some(int fd, std::byte* to, std::int64_t size, const std::string& place) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // Linux reads less than 2 GiB at once
  while (true) {
    const ssize_t got = ::read(fd, to, static_cast<std::size_t>(std::min(size, kMost)));
    if (got >= 0) return got;
    if (errno != EINTR) throw system_error(place, "cannot be read", errno);
  }
}

Error too_large(const std::string& place, std::int64_t limit) {
  return bad_input("{}: larger than the {} bytes that are accepted here", place, limit);
}

Bytes read_stream(int fd, const std::string& place, std::int64_t limit) {
  limit = std::min(limit, kMaxStream);
  std::int64_t capacity = 1 << 16;
  std::int64_t size = 0;
  std::shared_ptr<std::byte> data = allocate_bytes(capacity);
  while (const std::int64_t got = read_some(fd, data.get() + size, capacity - size, place)) {
    size += got;
    if (size > limit) throw too_large(place, limit);
    if (size == capacity) {
      std::shared_ptr<std::byte> larger = allocate_bytes(2 * capacity);
      std::memcpy(larger.get(), data.get(), static_cast<std::size_t>(size));
      data = std::move(larger);
      capacity *= 2;
    }
  }
  return {std::move(data), size};
}

std::shared_ptr<std::byte> map(int fd, std::int64_t size, const std::string& place) {
  // Private and writable: a write to a tensor over the mapping copies the page, and the file stays unchanged.
  const auto length = static_cast<std::size_t>(size);
  void* base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) throw system_error(place, "cannot be mapped", errno);
  return {static_cast<std::byte*>(base), [length](std::byte* data) { ::munmap(data, length); }};
}

struct stat status_of(int fd, const std::string& place) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw system_error(place, "cannot be read", errno);
  return status;
}

Bytes read_regular(const std::shared_ptr<const Descriptor>& file, const struct stat& before, const std::string& place) {
  const int fd = file->get();
  const std::int64_t size = before.st_size;
  std::shared_ptr<std::byte> data;
  std::int64_t got = size;
  if (size < kMapFrom) {
    data = allocate_bytes(size);
    got = 0;
    while (got < size) {
      const std::int64_t more = read_some(fd, data.get() + got, size - got, place);
      if (more == 0) break;
      got += more;
    }
  } else {
    data = map(fd, size, place);
  }
  const struct stat after = status_of(fd, place);
  const bool same = got == size && after.st_size == size && after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                    after.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
  if (!same) throw bad_input("{}: changed while it was read", place);
  return {std::move(data), size, file, size >= kMapFrom};
}

constexpr int kReadOnly = O_RDONLY | O_CLOEXEC | O_NOCTTY;
/// Flags for files in folders. O_NONBLOCK prevents waiting if a pipe has the name of a file.
constexpr int kReadFile = kReadOnly | O_NONBLOCK;

/// Calls `open` until it is not interrupted by a signal.
template <typename Open>
Descriptor opened_by(Open&& open) {
  while (true) {
    Descriptor file(static_cast<int>(open()));
    if (file || errno != EINTR) return file;
  }
}

/// Opens a file of the folder by name. Symlinks are not followed, and no name leads out of the folder.
Descriptor open_in(const Descriptor& folder, const std::string& name) {
  struct open_how how {};
  how.flags = kReadFile;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  Descriptor file = opened_by([&] { return ::syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how); });
  if (file || (errno != ENOSYS && errno != EPERM)) return file;
  // openat2 is missing on Linux before 5.6, and some containers block it.
  if (name.find('/') != std::string::npos || name == "..") throw internal_error("'{}' leaves its folder", name);
  return opened_by([&] { return ::openat(folder.get(), name.c_str(), kReadFile | O_NOFOLLOW); });
}

namespace fs = std::filesystem;

bool is_inside(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

/// Returns the folder of blobs if `folder` is a snapshot in Hugging Face's cache (models--…/snapshots/REVISION),
/// otherwise "".
fs::path blobs_of(const fs::path& folder) {
  const fs::path snapshots = folder.parent_path();
  return snapshots.filename() == "snapshots" ? snapshots.parent_path() / "blobs" : fs::path();
}

/// Resolves symbolic links. Returns "" if there is no file.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::canonical(path, error);
  return error ? fs::path() : found;
}

bool leads_to_blob(const std::string& folder, const std::string& name) {
  const fs::path root = real_path(folder), blobs = blobs_of(root);
  return !root.empty() && !blobs.empty() && is_inside(real_path(root / name), blobs);
}

/// Opens a file of the folder, also behind symlinks that lead to an allowed place.
Descriptor open_followed(const std::string& folder, const std::string& name) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path file = error ? fs::path() : fs::canonical(root / name, error);
  if (error) {
    errno = error.value();
    return {};
  }
  if (!is_inside(file, root) && !leads_to_blob(folder, name)) {
    errno = ELOOP;
    return {};
  }
  return opened_by([&] { return ::open(file.c_str(), kReadFile | O_NOFOLLOW); });
}

/// Throws the Error for a file that could not be opened; errno has the reason.
[[noreturn]] void refuse_unopened(const std::string& place) {
  if (errno == ENOENT) throw bad_input("{}: no such file", place);
  if (errno == ELOOP)
    throw bad_input("{}: a symbolic link, which is not followed here; put the file itself there", place);
  if (errno == ENXIO) throw bad_input("{}: a socket or a device, not a file", place);
  throw system_error(place, "cannot be opened", errno);
}

void expect_regular(const struct stat& status, const std::string& place) {
  if (S_ISDIR(status.st_mode)) throw bad_input("{}: a directory, not a file", place);
  if (!S_ISREG(status.st_mode)) throw bad_input("{}: a pipe or a device, not a file", place);
}

enum class Streams : std::uint8_t { read, refused };

/// Reads an opened file; if it could not be opened, errno has the reason.
Bytes read_open(Descriptor opened, const std::string& place, std::int64_t limit, Streams streams) {
  if (!opened) refuse_unopened(place);
  const auto file = std::make_shared<const Descriptor>(std::move(opened));
  const struct stat status = status_of(file->get(), place);
  if (streams == Streams::refused) expect_regular(status, place);
  if (S_ISDIR(status.st_mode)) throw bad_input("{}: a directory, not a file", place);
  if (S_ISREG(status.st_mode)) {
    if (status.st_size > limit) throw too_large(place, limit);
    return read_regular(file, status, place);
  }
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(file->get()) == 1) {
    return read_stream(file->get(), place, limit);
  }
  throw bad_input("{}: a device, not a file", place);
}

extern "C" void on_bus_error(int) {
  static constexpr char kMessage[] = "attn: error: a file was cut short while it was in use\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  remove_temporaries();
  ::_exit(static_cast<int>(ExitCode::bad_input));
}

}  // namespace

Bytes read_file(const std::string& path, std::int64_t limit) {
  if (path == "-") {
    // Stdin is kept in memory: an archive is read for its config first and for its weights later.
    static const Bytes all = read_stream(STDIN_FILENO, "stdin", kMaxStream);
    if (all.size() > limit) throw too_large("stdin", limit);
    return all;
  }
  if (path.empty()) throw bad_input("the name of a file is empty");
  const std::string place = printable(path);
  return read_open(opened_by([&] { return ::open(path.c_str(), kReadOnly); }), place, limit, Streams::read);
}

Bytes read_file_in(const std::string& folder, const std::string& name, std::int64_t limit) {
  const std::string place = printable((fs::path(folder) / name).string());
  return read_open(open_followed(folder, name), place, limit, Streams::refused);
}

std::string checked_file_in(const std::string& folder, const std::string& name) {
  std::string path = (fs::path(folder) / name).string();
  const Descriptor file = open_followed(folder, name);
  if (!file) refuse_unopened(printable(path));
  expect_regular(status_of(file.get(), printable(path)), printable(path));
  return path;
}

Bytes read_sibling_file(const std::string& path, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string place = printable((folder / name).string());
  const Descriptor directory =
      opened_by([&] { return ::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
  if (!directory) throw system_error(place, "cannot be opened", errno);
  Descriptor file = open_in(directory, name);
  const std::string own = folder.empty() ? "." : folder.string();
  if (!file && errno == ELOOP) {
    file = leads_to_blob(own, name) ? open_followed(own, name) : Descriptor();
    if (!file) errno = ELOOP;  // the check of the symlink's target has changed errno
  }
  return read_open(std::move(file), place, kMaxSize, Streams::refused);
}

void exit_where_a_mapped_file_shrinks() noexcept {
  struct sigaction action {};
  action.sa_handler = on_bus_error;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace attn::io
