#include "decoders.h"

#include <array>
#include <charconv>
#include <utility>

#include "attn/base/text.h"
#include "byte_level.h"
#include "normalizers.h"
#include "text/characters.h"

namespace attn::tokenizers {
namespace {

/// `what` must not be empty.
std::string replaced_all(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(what, done)) != std::string_view::npos; done = at + what.size())
    out.append(text.substr(done, at - done)).append(by);
  return out.append(text.substr(done));
}

/// Hugging Face's clean-up of spaces after WordPiece decoding.
std::string cleaned(std::string text) {
  constexpr std::array<std::array<std::string_view, 2>, 11> kChanges{{{" .", "."},
                                                                      {" ?", "?"},
                                                                      {" !", "!"},
                                                                      {" ,", ","},
                                                                      {" ' ", "'"},
                                                                      {" n't", "n't"},
                                                                      {" 'm", "'m"},
                                                                      {" do not", " don't"},
                                                                      {" 's", "'s"},
                                                                      {" 've", "'ve"},
                                                                      {" 're", "'re"}}};
  for (const auto& [what, by] : kChanges) text = replaced_all(text, what, by);
  return text;
}

template <typename Change>
Decoder each(Change change) {
  return [change = std::move(change)](std::vector<std::string> tokens, const RuleLimit& limit) {
    std::size_t bytes = 0;
    for (std::string& token : tokens) {
      token = change(token, limit);
      limit.check(bytes += token.size());
    }
    return tokens;
  };
}

}  // namespace

int byte_of_token(std::string_view token) noexcept {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int byte = -1;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? byte : -1;
}

Decoder make_byte_level_decoder() {
  return [](const std::vector<std::string>& tokens, const RuleLimit&) {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytes_of_letters(token).value_or(token);
    return std::vector<std::string>{std::move(bytes)};
  };
}

Decoder make_word_piece_decoder(std::string prefix, bool cleanup) {
  return [prefix = std::move(prefix), cleanup](std::vector<std::string> tokens, const RuleLimit&) {
    bool is_first = true;
    for (std::string& token : tokens) {
      if (!std::exchange(is_first, false)) {
        token = token.starts_with(prefix) ? token.substr(prefix.size()) : " " + token;
      }
      if (cleanup) token = cleaned(std::move(token));
    }
    return tokens;
  };
}

Decoder make_metaspace_decoder(std::string replacement, bool drop_first) {
  return [replacement = std::move(replacement), drop_first](std::vector<std::string> tokens, const RuleLimit&) {
    bool is_first = drop_first;
    for (std::string& token : tokens)
      token = replaced_all(token, replacement, std::exchange(is_first, false) ? "" : " ");
    return tokens;
  };
}

Decoder make_byte_fallback_decoder() {
  return [](const std::vector<std::string>& tokens, const RuleLimit&) {
    std::vector<std::string> parts;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) {
        parts.push_back(bytes);
      } else {
        parts.insert(parts.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (const std::string& token : tokens) {
      if (const int byte = byte_of_token(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      parts.push_back(token);
    }
    flush();
    return parts;
  };
}

Decoder make_fuse_decoder() {
  return [](const std::vector<std::string>& tokens, const RuleLimit&) {
    std::string text;
    for (const std::string& token : tokens) text += token;
    return std::vector<std::string>{std::move(text)};
  };
}

Decoder make_strip_decoder(std::string content, std::size_t start, std::size_t stop) {
  return each([content = std::move(content), start, stop](const std::string& token, const RuleLimit&) {
    std::string_view text = token;
    for (std::size_t i = 0; i < start && text.starts_with(content); ++i) text.remove_prefix(content.size());
    for (std::size_t i = 0; i < stop && text.ends_with(content); ++i) text.remove_suffix(content.size());
    return std::string(text);
  });
}

Decoder make_replace_decoder(Pattern pattern, std::string content) {
  return each(make_replace(std::move(pattern), std::move(content)));
}

}  // namespace attn::tokenizers
