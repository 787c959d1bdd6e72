#include "hidden_names.h"

#include <dirent.h>
#include <sys/random.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "attn/base/error.h"

namespace attn::io {
namespace {

constexpr std::string_view kSuffix = ".tmp";

/// Returns the common prefix of a target's hidden names. The target's name is truncated so that the result stays a
/// legal name.
std::string prefix_of(const std::string& path) {
  constexpr std::size_t kMostOfName = 200;  // NAME_MAX is 255
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return "." + name.substr(0, kMostOfName) + ".";
}

std::string random_letters() {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";  // 32 of them: no bias
  std::uint8_t random[12] = {};
  if (::getrandom(random, sizeof random, 0) != sizeof random) throw internal_error("no random numbers");
  std::string letters;
  for (const std::uint8_t byte : random) letters += kLetters[byte % kLetters.size()];
  return letters;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string hidden_name(const std::string& target) {
  return folder_of(target) + "/" + prefix_of(target) + random_letters() + std::string(kSuffix);
}

std::vector<std::string> hidden_names_of(const std::string& target) {
  const std::string folder = folder_of(target), prefix = prefix_of(target);
  const std::size_t length = prefix.size() + random_letters().size() + kSuffix.size();
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(folder.c_str()), close);
  std::vector<std::string> out;
  if (!directory) return out;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() == length && name.starts_with(prefix) && name.ends_with(kSuffix))
      out.push_back(folder + "/" + entry->d_name);
  }
  return out;
}

}  // namespace attn::io
