#include "training_checkpoints.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

/// A second name for the file in place of `target`, which costs no room; false where the file system has none, or
/// `target` is a link to be followed.
bool has_second_name(const std::string& file, const std::string& target) {
  std::error_code failed, ignored;
  if (fs::is_symlink(target, ignored)) return false;
  const std::string temporary = fmt::format("{}.link.{}", target, ::getpid());
  fs::create_hard_link(file, temporary, failed);
  if (!failed) fs::rename(temporary, target, failed);
  fs::remove(temporary, ignored);  // which stays where both are one file already
  return !failed;
}

}  // namespace

std::string beside(const std::string& file, std::int64_t step) {
  const fs::path path(file);
  return (path.parent_path() / fmt::format("{}.step{}{}", path.stem().string(), step, path.extension().string()))
      .string();
}

void write_at_end(const std::string& file, const WriteTraining& write) {
  try {
    write(file);
  } catch (const Error& error) {
    const std::string other = fs::temp_directory_path() / fmt::format("attn-train-{}.keras", ::getpid());
    try {
      write(other);
    } catch (const Error&) {
      throw error;
    }
    throw bad_input("{}; what was trained is in {}", error.what(), printable(other));
  }
}

void write_and_keep(const std::string& target, std::int64_t step, std::int64_t keep, std::vector<std::int64_t>& steps,
                    const WriteTraining& write) {
  const auto is_there = [&](std::int64_t each) {
    std::error_code ignored;
    return fs::exists(beside(target, each), ignored);
  };
  std::erase_if(steps, [&](std::int64_t each) { return each == step || !is_there(each); });
  steps.push_back(step);
  const std::string place = beside(target, step);
  try {
    write(place);
    if (!has_second_name(place, target)) write(target);
  } catch (const Error&) {
    if (!is_there(step)) steps.pop_back();
    throw;
  }
  while (static_cast<std::int64_t>(steps.size()) > keep) {
    std::error_code ignored;
    fs::remove(beside(target, steps.front()), ignored);
    steps.erase(steps.begin());
  }
}

}  // namespace attn::cli
