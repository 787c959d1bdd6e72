#include "attn/train/checkpoints.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"

namespace attn::train {
namespace {

namespace fs = std::filesystem;

/// Follows the path to its file.
std::string followed(const std::string& path) {
  std::error_code failed;
  const fs::path out = fs::canonical(path, failed);
  return failed ? path : out.string();
}

}  // namespace

std::string checkpoint_path(const std::string& file, std::int64_t step) {
  const fs::path path(file);
  return (path.parent_path() / fmt::format("{}.step{}{}", path.stem().string(), step, path.extension().string()))
      .string();
}

void write_at_end(const std::string& file, const WriteArchive& write) {
  try {
    write(file);
  } catch (const Error& error) {
    const std::string other = fs::temp_directory_path() / fmt::format("attn-train-{}.keras", ::getpid());
    try {
      write(other);
    } catch (const Error&) {
      throw error;
    }
    throw bad_input("{}; the trained model is in {}", error.what(), printable(other));
  }
}

void write_and_keep(const std::string& target, std::int64_t step, std::int64_t keep, std::vector<std::int64_t>& steps,
                    const WriteArchive& write) {
  const auto is_there = [&](std::int64_t each) {
    std::error_code ignored;
    return fs::exists(checkpoint_path(target, each), ignored);
  };
  std::erase_if(steps, [&](std::int64_t each) { return each == step || !is_there(each); });
  steps.push_back(step);
  const std::string place = checkpoint_path(target, step);
  try {
    // Hidden files are named after the target, whatever the step: the next writer of the target removes those that a
    // killed one has left.
    write(target);
    if (!io::replace_by_link(followed(target), place, target)) write(place);
  } catch (const Error&) {
    if (!is_there(step)) steps.pop_back();
    throw;
  }
  while (static_cast<std::int64_t>(steps.size()) > keep) {
    std::error_code ignored;
    fs::remove(checkpoint_path(target, steps.front()), ignored);
    steps.erase(steps.begin());
  }
}

}  // namespace attn::train
