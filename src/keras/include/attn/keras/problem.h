// What is wrong with a config, and where.
#pragma once

#include <string>
#include <vector>

#include "attn/base/error.h"

namespace attn::keras {

/// All texts are fit to print.
struct Problem {
  bool warning = false;      ///< it can be read, and may surprise
  std::string file;          ///< the name of the source; "" where no file holds it
  int line = 0, column = 0;  ///< from 1; 0: not told
  std::string pointer;       ///< JSON pointer
  std::string message;       ///< "expected an integer > 0, got \"8\"", "unknown key (did you mean 'num_heads'?)"
};

/// An Error (bad_input) about a place: "encoder.json:7:5: /layers/2/config/units: expected …".
class ConfigError : public Error {
 public:
  explicit ConfigError(Problem problem);
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

 private:
  Problem problem_;
};

/// The place of an Error, where it has one, and its message.
[[nodiscard]] Problem problem_of(const Error& error);

}  // namespace attn::keras
