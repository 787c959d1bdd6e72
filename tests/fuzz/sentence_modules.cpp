// The files of sentence-transformers, divided by zero bytes: the modules, the pooling, the length, the prompts, a
// dense layer.
#include "attn/open/sentence_modules.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "target.h"

namespace {

/// A folder for this process.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("attn-fuzz-modules-" + std::to_string(::getpid()))) {
    for (const char* module : {"1_Pooling", "2_Dense"}) std::filesystem::create_directories(path_ / module);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  void write(const char* name, std::string_view text) const { std::ofstream(path_ / name, std::ios::binary) << text; }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const Folder folder;
  std::string_view rest = fuzz::text_of(data, size);
  for (const char* name : {"modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
                           "config_sentence_transformers.json", "2_Dense/config.json"}) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    folder.write(name, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  fuzz::accepts([&] {
    const auto modules = open::read_sentence_modules(folder.path());
    if (modules) fuzz::check_printable(modules->unsupported, "an unprintable reason");
  });
  return 0;
}
