#include "attn/tokenizers/text_stream.h"

#include <algorithm>
#include <span>
#include <utility>

#include "characters.h"

namespace attn::tokenizers {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::size_t kMostWaiting = 32;  // maximum number of ids without final text, which are decoded again with each
                                          // new id
constexpr int kMostHeld = 3;  // maximum bytes of an incomplete character: each may be shown as a replacement character

/// Returns the prefix of `text` that later ids cannot change. The last character may be incomplete: byte-level
/// tokenizers return its bytes, others return replacement characters.
std::size_t certain(std::string_view text) {
  for (std::size_t back = 1; back <= kMostHeld && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    if (byte >= 0xc2 && byte < 0xf5 && length_of(text[text.size() - back]) > back) return text.size() - back;
    break;
  }
  std::size_t end = text.size();
  for (int held = 0; held < kMostHeld && text.substr(0, end).ends_with(kReplacement); ++held)
    end -= kReplacement.size();
  return end;
}

}  // namespace

std::string TextStream::push(Id id) {
  ids_.push_back(id);
  const std::string text = tokenizer_.decode(ids_);
  const bool is_long = ids_.size() - given_ids_ >= kMostWaiting;
  if (is_long && text == shown_) {
    ids_.resize(given_ids_);  // drops ids without text
    return {};
  }
  // A character has at most four bytes, so anything held back for longer is invalid.
  const std::size_t end = is_long ? text.size() : certain(text);
  if (!text.starts_with(shown_)) return end < text.size() ? std::string() : begin_anew();
  if (end <= shown_.size()) return {};
  std::string part = text.substr(shown_.size(), end - shown_.size());
  shown_ = text.substr(0, end);
  given_since_ += part.size();
  if (end < text.size()) return part;
  // The ids since the last part are enough context if they have text: a first piece may lose its space.
  const std::span<const Id> since = std::span(ids_).subspan(given_ids_);
  std::string rest = tokenizer_.decode(since);
  if (rest.empty()) return part;
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(given_ids_));
  given_ids_ = ids_.size();
  given_since_ = 0;
  shown_ = std::move(rest);
  return part;
}

/// Handles a later byte that makes earlier characters part of an invalid sequence. The decoded text then no longer
/// begins with the text that was returned. Decoding starts again at the ids since the last part.
std::string TextStream::begin_anew() {
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(given_ids_));
  given_ids_ = ids_.size();
  shown_ = tokenizer_.decode(ids_);
  return shown_.substr(std::min(std::exchange(given_since_, 0), shown_.size()));
}

std::string TextStream::finish() {
  const std::string text = tokenizer_.decode(ids_);
  std::string part = text.starts_with(shown_) ? text.substr(shown_.size()) : begin_anew();
  ids_.clear();
  shown_.clear();
  given_ids_ = given_since_ = 0;
  return part;
}

}  // namespace attn::tokenizers
