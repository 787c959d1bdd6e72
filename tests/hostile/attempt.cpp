#include "attempt.h"

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../instrumented.h"
#include "../places.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/model.h"

namespace attn::test {
namespace {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view contents = "") : fd_(memfd_create("attempt", MFD_CLOEXEC)) {
    while (!contents.empty()) {
      const ssize_t written = write(fd_, contents.data(), contents.size());
      REQUIRE(written > 0);
      contents.remove_prefix(static_cast<std::size_t>(written));
    }
    lseek(fd_, 0, SEEK_SET);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string text() const {
    std::string text(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    REQUIRE(pread(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  int fd_;
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void check_sentence(const Attempt& attempt, std::string_view place, std::string_view part) {
  CAPTURE(attempt.err);
  CHECK(attempt.code == 3);
  CHECK(attempt.out.empty());
  CHECK(attempt.err.starts_with("attn: error: "));
  CHECK(std::count(attempt.err.begin(), attempt.err.end(), '\n') == 1);
  CHECK(attempt.err.size() < 4096);
  CHECK(is_clean(attempt.err));
  CHECK(contains(attempt.err, place));
  CHECK(contains(attempt.err, part));
}

}  // namespace

namespace {

Attempt run_program(const std::vector<std::string>& words, std::string_view input) {
  const MemoryFile in(input), out, err;
  const std::string program = attn_program();
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  malloc_trim(0);  // memory that this process holds at the fork counts for the child
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(in.fd(), STDIN_FILENO);
    dup2(out.fd(), STDOUT_FILENO);
    dup2(err.fd(), STDERR_FILENO);
    if (chdir(in_repository("").c_str()) != 0) _exit(126);
    execv(program.c_str(), arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  Attempt result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = out.text();
  result.err = err.text();
  result.seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  result.peak = std::int64_t{used.ru_maxrss} * 1024;
  return result;
}

/// Resident bytes of the program before it reads anything: its code and libraries, of which each file system and
/// kernel maps another part.
std::int64_t idle_memory() {
  static const std::int64_t bytes = run_program({"--version"}, "").peak;
  return bytes;
}

}  // namespace

Attempt attempt(const std::vector<std::string>& words, std::string_view input) {
  const std::int64_t idle = idle_memory();
  Attempt result = run_program(words, input);
  result.peak = std::max(std::int64_t{0}, result.peak - idle);
  return result;
}

Attempt summarise(const std::string& text) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  Attempt result;
  try {
    (void)keras::Model::read("stdin", text).summary();
  } catch (const Error& error) {
    result.code = static_cast<int>(error.code());
    result.err = std::string("attn: error: ") + error.what() + "\n";
  }
  getrusage(RUSAGE_SELF, &after);
  result.seconds = seconds_of(after.ru_utime) - seconds_of(before.ru_utime) + seconds_of(after.ru_stime) -
                   seconds_of(before.ru_stime);
  if (result.err.size() > 2000) return attempt({"summary", "-"}, text);  // it truncates its output
  static int texts = 0;
  if (texts++ % 16 == 0) {
    const Attempt program = attempt({"summary", "-"}, text);
    CHECK(program.code == result.code);
    if (result.code != 0) CHECK(program.err == result.err);
  }
  return result;
}

void check_costs(const Attempt& attempt, double most_seconds, std::int64_t most_bytes) {
  if (kIsInstrumented) return;
  CHECK(attempt.seconds <= most_seconds);
  CHECK(attempt.peak <= most_bytes);
}

void check_refused(const Attempt& attempt, std::string_view place, std::string_view part) {
  check_sentence(attempt, place, part);
  check_costs(attempt, kMostSeconds);
}

void check_refused_bomb(const Attempt& attempt, std::string_view place, std::string_view part) {
  check_sentence(attempt, place, part);
  check_costs(attempt, 0.2, std::int64_t{64} << 20);
}

bool is_clean(std::string_view text) {
  const std::vector<std::string> lines = split(text, '\n');
  return std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return printable(line) == line; });
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "attn-hostile-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::file(std::string_view name, std::string_view contents) const {
  std::ofstream(*this / name, std::ios::binary) << contents;
  return *this / name;
}

std::string model_of(std::string_view class_name, std::string_view config) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
  {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 8], "name": "i"}},
  {"class_name": ")" +
         std::string(class_name) + R"(", "config": )" + std::string(config) + "}]}}";
}

}  // namespace attn::test
