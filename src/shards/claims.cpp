#include "attn/shards/claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "attn/io/descriptor.h"
#include "attn/io/file.h"
#include "status.h"

namespace attn::shards {
namespace {

constexpr std::chrono::seconds kBeat{10};
constexpr std::int64_t kDeadAfter = 60'000'000'000;  // nanoseconds

constexpr std::string_view kOwner = ".owner.";

/// Returns the owner that a claim names; "" if the claim was released meanwhile.
std::string owner_of(const std::string& path) {
  try {
    std::string owner(io::read_file(path).text());
    if (owner.ends_with('\n')) owner.pop_back();
    return owner;
  } catch (const Error&) {
    return "";
  }
}

/// Removes the owner files of processes that are gone.
void remove_old_owners(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with(kOwner) && has_exited(owner_of(path))) ::unlink(path.c_str());
  }
}

}  // namespace

Claims::Claims(const std::string& output_folder) : folder_(output_folder + "/.claims") {
  make_folder(folder_);
  remove_old_owners(folder_);
  owner_ = fmt::format("{}/{}XXXXXX", folder_, kOwner);
  const io::Descriptor file(::mkostemp(owner_.data(), O_CLOEXEC));
  const std::string text = this_process() + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw system_error(printable(folder_), "cannot be written", errno);
  heart_ = std::thread([this] { beat_until_over(); });
}

Claims::~Claims() {
  release();
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  heart_.join();
  ::unlink(owner_.c_str());
}

std::string Claims::path_of(const std::string& stem, int generation) const {
  return folder_ + "/" + stem + "." + std::to_string(generation);
}

bool Claims::take(const WorkItem& item) {
  release();
  for (int generation = 0;;) {
    const std::string path = path_of(item.stem, generation);
    // The claim is a hard link to the file that names the owner, so it always contains the name.
    if (::link(owner_.c_str(), path.c_str()) == 0) {
      const std::lock_guard lock(mutex_);
      ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      held_ = path;
      stem_ = item.stem;
      generation_ = generation;
      return true;
    }
    if (errno != EEXIST) throw system_error(printable(path), "cannot be written", errno);
    const auto status = status_of(path);
    if (!status) continue;  // the claim was released meanwhile
    if (is_alive(path, status->modified)) return false;
    ++generation;
  }
}

void Claims::release() {
  const std::lock_guard lock(mutex_);
  if (held_.empty()) return;
  // The newest generation is removed first: a process that races this one can then only take a claim that is already
  // stale.
  for (int generation = generation_; generation >= 0; --generation) ::unlink(path_of(stem_, generation).c_str());
  held_.clear();
}

bool Claims::is_alive(const std::string& path, std::int64_t last_beat) const {
  if (has_exited(owner_of(path))) return false;
  return now_in(folder_) - last_beat < kDeadAfter;
}

void Claims::beat_until_over() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kBeat, [this] { return over_; }))
    if (!held_.empty()) ::utimensat(AT_FDCWD, held_.c_str(), nullptr, 0);
}

}  // namespace attn::shards
