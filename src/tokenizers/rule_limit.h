// Limits on what the rules of a tokenizer file may do with a text: how much longer they make it, and how long they
// take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace attn::tokenizers {

class Pattern;

/// Rules that lengthen a text check this while they do it, so that memory stays in proportion to the text. For the
/// rules of one text, which one thread goes through.
class RuleLimit {
 public:
  /// A text of `bytes` may grow to 16 times its size and below 4 GiB, and to 64 KiB in any case. `place` is the file
  /// for messages, and outlives this.
  RuleLimit(std::string_view place, std::size_t bytes) noexcept;

  /// Throws Error (bad_input) where the text has grown beyond the limit.
  void check(std::size_t bytes) const {
    if (bytes > most_) refuse();
  }

  /// Behind each match of a regular expression: each may be quick, and look through the whole text. Throws Error
  /// (bad_input) where they have taken more of the processor's time than any expression does that is made for words, by
  /// far.
  void spend_match(const Pattern& pattern) const {
    constexpr std::uint32_t kSeldom = 64;  // as asking for the time takes some, too
    if (++matches_ % kSeldom == 0) check_time(pattern);
  }
  /// Pauses the clock: the work that follows is not a rule.
  void pause() const {
    if (started_) stop_clock();
  }

 private:
  [[noreturn]] void refuse() const;
  void stop_clock() const;
  void check_time(const Pattern& pattern) const;

  std::string_view place_;
  std::size_t from_, most_;
  mutable std::uint32_t matches_ = 0;
  mutable std::optional<double> started_;  // seconds of this thread, at the first look
  mutable double spent_ = 0.0;             // seconds before it
};

}  // namespace attn::tokenizers
