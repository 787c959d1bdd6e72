// The common part of fuzz targets: a function that takes bytes, and a rule for its results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/bytes.h"

/// Takes one input and returns 0. Any error ends the process by abort(), a signal or a sanitizer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace attn::fuzz {

[[noreturn]] inline void fail(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "fuzz: %.*s: %s\n", static_cast<int>(what.size()), what.data(), printable(text).c_str());
  std::abort();
}

/// Checks that text for a terminal consists of lines that printable() leaves unchanged.
inline void check_printable(std::string_view text, std::string_view what) {
  for (const std::string& line : split(text, '\n')) {
    if (printable(line) != line) fail(what, line);
  }
}

/// Returns whether `act` succeeds rather than rejecting its input. A rejection must be an Error of the kind `code` with
/// one printable line.
template <typename Act>
bool accepts(Act&& act, ExitCode code = ExitCode::bad_input) {
  try {
    std::forward<Act>(act)();
    return true;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() != code) fail("an error of the wrong kind", message);
    if (message.empty()) fail("an error without a message", message);
    if (printable(message) != message) fail("a message that is not printable", message);
    return false;
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
/// A copy of exactly this size, so that a read past the end is detected.
inline io::Bytes bytes_of(const std::uint8_t* data, std::size_t size) {
  return io::Bytes::copy_of(std::as_bytes(std::span(data, size)));
}

}  // namespace attn::fuzz
