// Runs build/attn like a user.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace attn::test {

struct Result {
  int code = 0;  ///< exit code; 128 + n if signal n ended it
  std::string out, err;
};

/// Runs the program with `arguments` and `input` on stdin, in the root of the repository.
[[nodiscard]] Result run_attn(const std::vector<std::string>& arguments, const std::string& input = "");

/// Runs it on a terminal with this number of columns; `out` has every byte of output.
[[nodiscard]] Result run_on_terminal(const std::vector<std::string>& arguments, int columns = 80);

/// The same with another program.
[[nodiscard]] Result run_program(const std::string& program, const std::vector<std::string>& arguments,
                                 const std::string& input = "");

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Sets environment variables until the end of a test.
class Environment {
 public:
  explicit Environment(Variables variables);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Variables variables_;
};

/// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// A path inside it.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file inside it and returns its path.
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const;
  /// The names of the files in it, including hidden ones, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string path_;
};

[[nodiscard]] std::string read_text(const std::string& path);
/// A path inside tests/data/keras.
[[nodiscard]] std::string fixture(const std::string& name);

}  // namespace attn::test
