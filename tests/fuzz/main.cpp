// A substitute for libFuzzer: passes each given file, and each file in a given folder, to a target.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "target.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(int count, char** words) {
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) {
    if (!fs::is_directory(words[i])) {
      files.emplace_back(words[i]);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(words[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<fs::path> files = files_in(count, words);
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!file) {
      std::fprintf(stderr, "fuzz: %s cannot be read\n", path.c_str());
      return 1;
    }
    // Prints the name first: it is the last output if the target aborts.
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    // On the heap and of exactly this size, so that a sanitizer detects a read past the end.
    const auto copy = std::make_unique<std::uint8_t[]>(text.size());
    std::copy(text.begin(), text.end(), copy.get());
    LLVMFuzzerTestOneInput(copy.get(), text.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
