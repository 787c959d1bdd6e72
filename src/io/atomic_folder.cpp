#include "attn/io/atomic_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "attn/base/error.h"
#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/descriptor.h"
#include "hidden_names.h"
#include "temporaries.h"

namespace attn::io {
namespace {

namespace fs = std::filesystem;

/// Returns a path without trailing slashes, so that it has a last component.
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// Syncs a folder: only then is a new name in it durable.
void sync(const std::string& folder) {
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open) ::fsync(open.get());
}

}  // namespace

void check_folder_target(const std::string& path) {
  if (path.empty()) throw bad_input("an output folder without a name: '' is not the name of a new folder");
  const std::string target = without_slashes(path);
  const std::string last = fs::path(target).filename().string();
  if (target.empty() || last.empty() || last == "." || last == "..")
    throw bad_input("{}: not the name of a new folder", printable(path));
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() != fs::file_type::directory || !fs::is_empty(target, error) || error)
    throw bad_input("{}: it already exists, and is left unchanged; choose another name", printable(path));
}

AtomicFolder::AtomicFolder(std::string path) : path_(without_slashes(std::move(path))) {
  check_folder_target(path_);
  remove_stale();
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = hidden_name(path_);
    strike_off(listed_);
    listed_ = enlist(name);
    if (::mkdir(name.c_str(), 0755) != 0) {
      const int error = errno;
      strike_off(listed_);
      if (error == EEXIST || error == EINTR) continue;
      throw system_error(printable(path_), "cannot be written", error);
    }
    Descriptor open(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (open) ::flock(open.get(), LOCK_EX);  // on a file system without locks, no writer treats it as stale
    if (open && ::fstat(open.get(), &status) == 0 && status.st_nlink == 0)
      continue;  // another writer removed it as stale just before it was locked
    temporary_ = name;
    lock_ = std::move(open);
    return;
  }
  strike_off(listed_);
  throw system_error(printable(path_), "cannot be written", EEXIST);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  strike_off(listed_);
}

/// Removes the folders that killed writers of the same target left behind.
void AtomicFolder::remove_stale() const {
  for (const std::string& name : hidden_names_of(path_)) {
    const Descriptor open(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::error_code ignored;
    if (open && ::flock(open.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(name, ignored);
  }
}

std::string AtomicFolder::file(std::string_view name) {
  const fs::path whole = fs::path(temporary_) / name;
  std::error_code error;
  fs::create_directories(whole.parent_path(), error);
  if (error) throw system_error(printable(path_), "cannot be written", error.value());
  return whole.string();
}

void AtomicFolder::write(std::string_view name, std::string_view text) {
  AtomicFile out(file(name));
  out.write(text);
  out.commit();
}

void AtomicFolder::commit() {
  sync(temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)  // replaces an empty folder too
    throw system_error(printable(path_), "cannot be written", errno);
  temporary_.clear();
  strike_off(listed_);
  sync(folder_of(path_));
}

}  // namespace attn::io
