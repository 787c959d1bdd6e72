// Runs build/attn on hostile input and measures the costs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

struct Attempt {
  int code = 0;  ///< exit code; 128 + n if signal n ended it
  std::string out, err;
  double seconds = 0;     ///< CPU time, including child processes
  std::int64_t peak = 0;  ///< peak resident bytes of the largest process, beyond those of an idle program
};

/// Runs the program with these words and `input` on stdin, in the root of the repository.
[[nodiscard]] Attempt attempt(const std::vector<std::string>& words, std::string_view input = "");

/// The result of `summary -` for this text, computed in this process, because starting the program takes longer than
/// most texts; one in sixteen also runs the program, whose result must be the same.
[[nodiscard]] Attempt summarise(const std::string& text);

/// Processor time in which a hostile file is refused. A slow virtual CPU takes 1.2 s to parse 64 MiB of JSON.
inline constexpr double kMostSeconds = 1.5;

/// Checks the processor time and the peak of memory, except in an instrumented build, which takes more of both.
void check_costs(const Attempt& attempt, double most_seconds, std::int64_t most_bytes = INT64_MAX);
/// Checks for exit code 3, an empty stdout, and one printable line on stderr that names `place` and contains `part`,
/// within kMostSeconds.
void check_refused(const Attempt& attempt, std::string_view place, std::string_view part = "");
/// The same for input that would grow when unpacked: within 200 ms and 64 MiB.
void check_refused_bomb(const Attempt& attempt, std::string_view place, std::string_view part = "");
/// Returns whether the text is UTF-8 without bytes that control a terminal, except newlines.
[[nodiscard]] bool is_clean(std::string_view text);

[[nodiscard]] bool contains(std::string_view text, std::string_view part);

/// A folder that is removed with everything in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// Writes a file in it and returns its path.
  [[nodiscard]] std::string file(std::string_view name, std::string_view contents) const;

 private:
  std::string path_;
};

/// A model with one layer as JSON; `config` is the layer's.
[[nodiscard]] std::string model_of(std::string_view class_name, std::string_view config);

}  // namespace attn::test
