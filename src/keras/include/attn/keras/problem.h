// A problem of a config, and its location.
#pragma once

#include <string>
#include <vector>

#include "attn/base/error.h"

namespace attn::keras {

/// A problem in a config. All of its strings are printable.
struct Problem {
  bool warning = false;      ///< the config is valid, but may have unintended effects
  std::string file;          ///< the name of the source; "" if there is no file
  int line = 0, column = 0;  ///< both from 1; 0: unknown
  std::string pointer;       ///< JSON pointer to the key
  std::string message;       ///< "expected an integer > 0, got \"8\"", "unknown key (did you mean 'num_heads'?)"
};

/// An Error (bad_input) with a location: "encoder.json:7:5: /layers/2/config/units: expected …".
class ConfigError : public Error {
 public:
  explicit ConfigError(Problem problem);
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

 private:
  Problem problem_;
};

/// Returns the location of an Error, if it has one, and its message.
[[nodiscard]] Problem problem_of(const Error& error);

}  // namespace attn::keras
