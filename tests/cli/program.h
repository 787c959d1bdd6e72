// Runs build/attn like a user.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../temporary_folder.h"

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

[[nodiscard]] std::string read_text(const std::string& path);
/// A path inside tests/data/keras.
[[nodiscard]] std::string fixture(const std::string& name);

}  // namespace attn::test
