// The files that a command will write.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/base/error.h"
#include "options/options.h"

namespace attn::cli {

/// Throws Error if a path cannot be written, or if two options name one file. Called before the work starts, because
/// commands may run for hours.
void check_outputs(std::span<const OutputPath> outputs);

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
