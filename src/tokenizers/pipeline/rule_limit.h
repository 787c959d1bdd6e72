// Limits for the rules of a tokenizer file: the growth of a text, and the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace attn::tokenizers {

class Pattern;

/// Rules that lengthen a text check this limit meanwhile, so that memory stays proportional to the text. An object is
/// for one text and one thread.
class RuleLimit {
 public:
  /// A text of `bytes` may grow to 16 times its size (at least 64 KiB, less than 4 GiB). `place` is the file for
  /// messages, and must outlive this.
  RuleLimit(std::string_view place, std::size_t bytes) noexcept;

  /// Throws Error (bad_input) if the text has grown beyond the limit.
  void check(std::size_t bytes) const {
    if (bytes > most_) refuse();
  }

  /// Must be called after each match of a regular expression, because each may be quick and still scan the whole text.
  /// Throws Error (bad_input) if they have taken far more CPU time than an expression for words needs.
  void spend_match(const Pattern& pattern) const {
    constexpr std::uint32_t kSeldom = 64;  // because reading the clock takes time, too
    if (++matches_ % kSeldom == 0) check_time(pattern);
  }
  /// Pauses the clock, before work that is not part of a rule.
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
  mutable std::optional<double> started_;  // CPU seconds of this thread at the first check
  mutable double spent_ = 0.0;             // CPU seconds before that
};

}  // namespace attn::tokenizers
