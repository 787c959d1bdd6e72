#include "output/provenance.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/sha256.h"
#include "attn/keras/model.h"
#include "attn/open/model.h"

namespace attn::cli {
namespace {

std::vector<std::string>& kept_words() {
  static std::vector<std::string> words;
  return words;
}

std::string command_of(std::span<const std::string> words) {
  std::string out = "attn";
  for (const std::string& word : words) out += ' ' + printable(shell_word(word));
  return out;
}

/// Returns seconds since 1970.
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

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void keep_command(std::span<const std::string> words) { kept_words().assign(words.begin(), words.end()); }

std::string resume_command(const std::optional<std::string>& model, const std::string& file) {
  std::vector<std::string> words = kept_words();
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word.front() == '-'; };
  // MODEL may follow a flag. A word after an option is only taken as MODEL if no other word is.
  auto place = words.end();
  for (auto word = words.begin(); model && word != words.end(); ++word)
    if (*word == *model && (place == words.end() || !is_option(*std::prev(word)))) {
      place = word;
      if (word != words.begin() && !is_option(*std::prev(word))) break;
    }
  if (place != words.end()) {
    *place = file;
  } else {
    words.insert(words.begin() + std::min<std::ptrdiff_t>(1, std::ssize(words)), file);
  }
  for (auto word = words.begin(); word != words.end();) {  // removes -o, because its default is MODEL
    const bool is_output = *word == "-o" || *word == "--output";
    if (is_output)
      word = words.erase(word, std::min(words.end(), word + 2));
    else if (word->starts_with("--output="))
      word = words.erase(word);
    else
      ++word;
  }
  if (std::ranges::find(words, "--resume") == words.end()) words.emplace_back("--resume");
  return command_of(words);
}

report::Provenance provenance_of(const std::optional<std::string>& path) {
  report::Provenance out;
  out.version = "attn " ATTN_VERSION;
  out.date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now()));
  out.command = command_of(kept_words());
  if (!path) {
    const std::string& text = keras::Model::builtin_encoder();
    out.file = "built-in encoder";
    out.sha256 = io::sha256(std::as_bytes(std::span(text)));
  } else if (*path == "-") {
    out.file = "stdin";
  } else {
    out.file = *path;
    if (!open::is_folder(*path)) out.sha256 = io::sha256(io::read_file(*path).span());
  }
  return out;
}

}  // namespace attn::cli
