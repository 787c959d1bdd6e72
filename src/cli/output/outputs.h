// The files that a command will write.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/base/error.h"
#include "options/options.h"

namespace attn::cli {

/// Returns whether two paths name one file, which may not exist yet.
[[nodiscard]] bool are_one_file(const std::string& a, const std::string& b);

/// Throws Error if a path cannot be written, if two options name one file, or if an output would replace one of the
/// input files. Only a .keras archive may replace the model that it was made from. Called before the work starts,
/// because commands may run for hours.
void check_outputs(std::span<const OutputPath> outputs, std::span<const std::string> inputs);

/// Writes several outputs; the failure of one does not affect the others.
class OutputWriter {
 public:
  /// Calls `write`, and records the Error that it throws.
  template <typename Write>
  void attempt(Write&& write) {
    try {
      write();
    } catch (const Error& error) {
      fail(error);
    }
  }
  /// Records an output that could not be written.
  void fail(const Error& error);
  /// Throws the recorded failures as one Error.
  void finish() const {
    if (failure_) throw Error(*failure_);
  }

 private:
  std::optional<Error> failure_;
};

}  // namespace attn::cli
