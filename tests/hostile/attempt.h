// Runs build/attn on something hostile and measures what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

struct Attempt {
  int code = 0;  ///< exit code; 128 + n where signal n ended it
  std::string out, err;
  double seconds = 0;     ///< processor time, with that of the processes it started
  std::int64_t peak = 0;  ///< bytes of memory that were resident at once, of the largest process
};

/// Runs the program with these words, `input` on stdin, in the repository's root.
[[nodiscard]] Attempt attempt(const std::vector<std::string>& words, std::string_view input = "");

/// What `summary -` says to this text, found by reading it here, as starting the program takes longer than most texts
/// do; one in sixteen is given to the program too, which must say the same.
[[nodiscard]] Attempt summarise(const std::string& text);

/// Exit code 3, nothing on stdout, and one printable line on stderr that names `place` and has `part` in it, within a
/// second.
void check_refused(const Attempt& attempt, std::string_view place, std::string_view part = "");
/// The same for what would grow when it is unpacked: within 200 ms and 64 MiB.
void check_refused_bomb(const Attempt& attempt, std::string_view place, std::string_view part = "");
/// No byte that a terminal acts upon but the end of a line; UTF-8.
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
  /// Writes a file in it and gives its path.
  [[nodiscard]] std::string file(std::string_view name, std::string_view contents) const;

 private:
  std::string path_;
};

/// A model of one layer in JSON; `config` is the layer's.
[[nodiscard]] std::string model_of(std::string_view class_name, std::string_view config);

}  // namespace attn::test
