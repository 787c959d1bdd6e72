#include "attn/shards/work_list.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"

namespace attn::shards {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  const io::Bytes bytes = io::read_file(path);
  const std::string_view text = bytes.text();
  std::vector<std::string> lines;
  for (std::string& line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (lines.empty()) throw bad_input("{}: lists no files", printable(path));
  return lines;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, &::globfree);
  if (code == GLOB_NOMATCH) throw bad_input("{}: no file matches", printable(pattern));
  if (code != 0) throw bad_input("{}: a folder on the way cannot be read", printable(pattern));
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

std::vector<WorkItem> work_list(std::span<const std::string> words) {
  std::vector<WorkItem> items;
  const auto add = [&](const std::string& path) {
    items.push_back({path, std::filesystem::path(path).stem().string()});
  };
  for (const std::string& word : words) {
    if (word.starts_with('@') && !exists(word)) {
      std::ranges::for_each(lines_of(word.substr(1)), add);
    } else if (exists(word)) {  // a file name may contain '*'
      add(word);
    } else {
      std::ranges::for_each(matches_of(word), add);
    }
  }
  const auto order = [](const WorkItem& item) { return std::tie(item.stem, item.input); };
  std::ranges::sort(items, {}, order);
  const auto same = [](const WorkItem& a, const WorkItem& b) { return a.input == b.input; };
  items.erase(std::unique(items.begin(), items.end(), same), items.end());
  const auto twin = std::ranges::adjacent_find(items, {}, &WorkItem::stem);
  if (twin != items.end())
    throw bad_input("{} and {} would have one output, {}: files of one work list need names of their own",
                    printable(twin->input), printable(std::next(twin)->input), printable(twin->stem));
  return items;
}

}  // namespace attn::shards
