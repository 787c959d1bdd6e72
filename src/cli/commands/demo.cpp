#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "commands/demo_files.h"
#include "options/command.h"
#include "output/common.h"
#include "output/console.h"
#include "output/provenance.h"

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTour =
    R"(reverser.keras was trained to reverse words: both heads look at the mirrored letter.
  attn summary {0}reverser.keras
  attn heatmap {0}reverser.keras --input {0}word.npy --labels {0}letters.txt
  attn heatmap {0}reverser.keras --input {0}word.npy --labels {0}letters.txt -o heads.html

counter.keras was trained to count in words, letter by letter.
  attn generate {0}counter.keras --prompt 'seven eight ' --sampler greedy
  attn score {0}counter.keras --text 'seven eight nine'
  attn probe lens {0}counter.keras --prompts {0}numbers.txt
  attn report {0}counter.keras --input {0}numbers.txt -o counter.html
)";

/// Returns whether the file has exactly these bytes.
bool holds(const std::string& path, std::span<const std::byte> bytes) {
  const io::Bytes there = io::read_file(path);
  return std::ranges::equal(there.span(), bytes);
}

struct DemoCommand {
  std::string folder = "attn-demo";

  void declare(Options& options) {
    options.add("folder", folder, "FOLDER", "folder for the files, created if missing (default attn-demo)");
    add_color(options);
  }

  [[nodiscard]] int run() const {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw bad_input("{}: {}; give another FOLDER", printable(folder), error.message());
    std::vector<const DemoFile*> missing;
    std::vector<std::string> names;
    for (const DemoFile& file : demo_files()) {
      if (!is_there(file)) missing.push_back(&file);
      names.emplace_back(file.name);
    }
    for (const DemoFile* file : missing) write(*file);
    const std::string place = folder == "." ? "" : printable(shell_word(folder)) + "/";
    write_result(fmt::format("{}: {}\n\n", printable(folder), join(names, ", ")) + fmt::format(kTour, place),
                 std::nullopt);
    return 0;
  }

 private:
  [[nodiscard]] std::string path_of(const DemoFile& file) const { return (fs::path(folder) / file.name).string(); }

  /// Returns whether the file is there. Throws Error if another file has its name.
  [[nodiscard]] bool is_there(const DemoFile& file) const {
    const std::string path = path_of(file);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return false;
    if (!holds(path, std::as_bytes(file.bytes)))
      throw bad_input("{}: another file has this name; give another FOLDER", printable(path));
    return true;
  }

  void write(const DemoFile& file) const {
    io::AtomicFile target(path_of(file), io::AtomicFile::Content::binary);
    target.write(std::as_bytes(file.bytes));
    target.commit();
  }
};

}  // namespace

Command demo_command() {
  return command_of<DemoCommand>("demo", "write two small trained models, and show what to try with them");
}

}  // namespace attn::cli
