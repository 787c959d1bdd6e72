#include "provenance.h"

#include <fmt/chrono.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "attn/io/file.h"
#include "attn/io/sha256.h"
#include "attn/keras/model.h"
#include "model_source.h"

namespace attn::cli {
namespace {

std::string& kept_command() {
  static std::string command = "attn";
  return command;
}

/// The word as a shell takes it.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Seconds since 1970.
std::time_t now() {
  if (const char* const text = std::getenv("SOURCE_DATE_EPOCH"); text != nullptr) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), seconds);
    constexpr std::int64_t kMost = 253'402'300'799;  // the last second of the year 9999
    if (error == std::errc() && *end == '\0' && seconds >= 0 && seconds <= kMost) return seconds;
  }
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

}  // namespace

void keep_command(std::span<const std::string> words) {
  for (const std::string& word : words) kept_command() += ' ' + quoted(word);
}

report::Provenance provenance_of(const std::optional<std::string>& path) {
  report::Provenance out;
  out.version = "attn " ATTN_VERSION;
  out.date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now()));
  out.command = kept_command();
  if (!path) {
    const std::string& text = keras::Model::builtin_encoder();
    out.file = "built-in encoder";
    out.sha256 = io::sha256(std::as_bytes(std::span(text)));
  } else if (*path == "-") {
    out.file = "stdin";
  } else {
    out.file = *path;
    if (!is_folder(*path)) out.sha256 = io::sha256(io::read_file(*path).span());
  }
  return out;
}

}  // namespace attn::cli
