// The files that a command will write.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "attn/base/error.h"
#include "options/options.h"

namespace attn::cli {

/// Throws Error where one of the paths cannot be written, or two options name one file. Commands work for hours: what
/// cannot be written at their end is reported before they start.
void check_outputs(std::span<const OutputPath> outputs);

/// Writes several outputs, so that one that cannot be written costs no other.
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
  /// Throws what failed, as one Error.
  void finish() const {
    if (failure_) throw Error(*failure_);
  }

 private:
  std::optional<Error> failure_;
};

}  // namespace attn::cli
