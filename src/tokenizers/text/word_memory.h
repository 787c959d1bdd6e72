// A cache of encoded words across texts.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace attn::tokenizers {

/// A cache of the results of words, of type Out: their ids or normalized text. Results of consecutive words are
/// concatenated. Thread-safe.
template <typename Out>
class WordMemory {
 public:
  /// Appends the result of `word`; false if it is not cached.
  bool append(std::string_view word, Out& out) const {
    if (word.size() > kLongest) return false;
    const std::scoped_lock lock(mutex_);
    const auto found = words_.find(word);
    if (found == words_.end()) return false;
    out.insert(out.end(), found->second.begin(), found->second.end());
    return true;
  }
  void remember(std::string_view word, Out made) {
    if (word.size() > kLongest) return;
    const std::scoped_lock lock(mutex_);
    if (words_.size() < kMost) words_.emplace(word, std::move(made));
  }

 private:
  static constexpr std::size_t kLongest = 64;  // bytes; longer words seldom repeat
  static constexpr std::size_t kMost = 1 << 18;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const noexcept { return std::hash<std::string_view>()(word); }
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Out, Hash, std::equal_to<>> words_;
};

}  // namespace attn::tokenizers
