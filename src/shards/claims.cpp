#include "attn/shards/claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

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

}  // namespace

Claims::Claims(const std::string& output_folder) : folder_(output_folder + "/.claims") {
  make_folder(folder_);
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
}

std::string Claims::path_of(const std::string& stem, int generation) const {
  return folder_ + "/" + stem + "." + std::to_string(generation);
}

bool Claims::take(const WorkItem& item) {
  release();
  for (int generation = 0;;) {
    const std::string path = path_of(item.stem, generation);
    const io::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file) {
      const std::string owner = this_process() + "\n";
      // A claim that does not name its owner holds as well, until it no longer beats.
      if (::write(file.get(), owner.data(), owner.size()) < 0 && errno != EINTR && errno != ENOSPC)
        throw system_error(printable(path), "cannot be written", errno);
      const std::lock_guard lock(mutex_);
      held_ = path;
      stem_ = item.stem;
      generation_ = generation;
      return true;
    }
    if (errno != EEXIST) throw system_error(printable(path), "cannot be written", errno);
    const auto status = status_of(path);
    if (!status) continue;  // let go of meanwhile
    if (is_alive(path, status->modified)) return false;
    ++generation;
  }
}

void Claims::release() {
  const std::lock_guard lock(mutex_);
  if (held_.empty()) return;
  // From the newest on: whoever comes between takes one that is stale anyway.
  for (int generation = generation_; generation >= 0; --generation) ::unlink(path_of(stem_, generation).c_str());
  held_.clear();
}

bool Claims::is_alive(const std::string& path, std::int64_t last_beat) const {
  try {
    std::string owner(io::read_file(path).text());
    if (owner.ends_with('\n')) owner.pop_back();
    if (is_gone(owner)) return false;
  } catch (const Error&) {  // let go of meanwhile
  }
  return now_in(folder_) - last_beat < kDeadAfter;
}

void Claims::beat_until_over() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kBeat, [this] { return over_; }))
    if (!held_.empty()) ::utimensat(AT_FDCWD, held_.c_str(), nullptr, 0);
}

}  // namespace attn::shards
