// The files that a command will write.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/base/error.h"
#include "options/options.h"

namespace attn::cli {

/// Throws Error if one of the paths cannot be written, or two options name one file. Commands may run for hours, so
/// this is checked before they start.
void check_outputs(std::span<const OutputPath> outputs);

/// Writes several outputs; an error of one does not affect the others.
class OutputWriter {
 public:
  /// Calls `write`, and keeps the Error that it throws.
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
