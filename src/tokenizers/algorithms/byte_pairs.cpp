#include "byte_pairs.h"

#include <fmt/format.h>

#include <functional>
#include <queue>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "text/characters.h"

namespace attn::tokenizers {
namespace {

constexpr std::size_t kFewSymbols = 32;  // with more symbols, a heap finds the next rule faster than a scan of all
                                         // pairs

Id token_of(const Vocabulary& vocabulary, std::string_view token, std::size_t rank) {
  const std::optional<Id> id = vocabulary.find(token);
  if (!id)
    throw bad_input("{}: merge rule {} needs the token '{}', which the vocabulary does not have", vocabulary.place(),
                    rank + 1, shortened(token));
  return *id;
}

char32_t first_letter(std::string_view token) {
  std::size_t at = 0;
  return token.empty() ? 0 : next_point(token, at);
}
char32_t last_letter(std::string_view token) {
  if (token.empty()) return 0;
  std::size_t at = point_before(token, token.size());
  return next_point(token, at);
}

}  // namespace

/// A cache of encoded parts with their ids.
class BytePairs::Words : public Model::Memory {
 public:
  struct Word {
    std::uint32_t key = 0, key_size = 0;
    std::uint32_t ids = 0, count = 0;
  };

  /// Returns the cache entry of the part; its key is empty if the part is new. Null if the cache is full.
  Word* find(std::string_view part) {
    if (part.size() > kLongestPart) return nullptr;
    std::size_t at = std::hash<std::string_view>{}(part) & (kSlots - 1);
    for (; words_[at].key_size > 0; at = (at + 1) & (kSlots - 1))
      if (std::string_view(keys_).substr(words_[at].key, words_[at].key_size) == part) return &words_[at];
    return held_ < kSlots / 2 ? &words_[at] : nullptr;
  }
  void keep(Word& word, std::string_view part, const Id* ids, std::size_t count) {
    word = {static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(part.size()),
            static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(count)};
    keys_ += part;
    ids_.insert(ids_.end(), ids, ids + count);
    ++held_;
  }
  [[nodiscard]] const Id* ids(const Word& word) const noexcept { return ids_.data() + word.ids; }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 15;
  static constexpr std::size_t kLongestPart = 64;  // bytes

  std::vector<Word> words_ = std::vector<Word>(kSlots);
  std::string keys_;
  std::vector<Id> ids_;
  std::size_t held_ = 0;
};

BytePairs::~BytePairs() = default;

BytePairs::BytePairs(Vocabulary vocabulary, const MergeRules& rules, const Options& options)
    : Model(std::move(vocabulary)), options_(options), merges_(rules.size()), junctions_(kClasses * kClasses / 64, 0) {
  if (options_.unk_token) {
    const std::optional<Id> unknown = vocabulary_.find(*options_.unk_token);
    if (!unknown)
      throw bad_input("{}: the unknown token '{}' is not in the vocabulary", vocabulary_.place(),
                      shortened(*options_.unk_token));
    unknown_ = *unknown;
  }
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  for (std::size_t letter = 0; letter < letters_.size(); ++letter) {
    std::string text;
    append(text, static_cast<char32_t>(letter));
    letters_[letter] = vocabulary_.find(text).value_or(-1);
  }
  std::string joined;
  for (std::size_t rank = 0; rank < rules.size(); ++rank) {
    const std::string_view left = rules.left(rank), right = rules.right(rank);
    joined.assign(left).append(right);
    merges_.set(token_of(vocabulary_, left, rank), token_of(vocabulary_, right, rank),
                {static_cast<std::uint32_t>(rank), token_of(vocabulary_, joined, rank)});
    const std::size_t bit = class_of(last_letter(left)) * kClasses + class_of(first_letter(right));
    junctions_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

std::size_t BytePairs::class_of(char32_t letter) noexcept {
  constexpr std::size_t kOwn = 0x180;  // letters with a class of their own
  return letter < kOwn ? letter : kOwn + letter % (kClasses - kOwn);
}

bool BytePairs::can_join(char32_t left, char32_t right) const noexcept {
  const std::size_t bit = class_of(left) * kClasses + class_of(right);
  return (junctions_[bit / 64] >> bit % 64 & 1) != 0;
}

std::optional<Id> BytePairs::id_of(char32_t letter, std::string_view bytes) const noexcept {
  if (letter >= letters_.size()) return vocabulary_.find(bytes);
  const Id id = letters_[letter];
  return id < 0 ? std::nullopt : std::optional(id);
}

std::unique_ptr<Model::Memory> BytePairs::memory() const { return std::make_unique<Words>(); }

/// Splits a piece wherever no rule can join the letters on both sides. This cuts a text without word boundaries, and
/// its ids stay the same.
void BytePairs::encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const {
  if (options_.ignore_merges) {
    if (const std::optional<Id> whole = vocabulary_.find(piece)) {
      ids.push_back(*whole);
      return;
    }
  }
  auto* const words = static_cast<Words*>(memory);
  if (!options_.word_end.empty()) {
    if (!piece.empty()) encode_part(piece, ids, words);
    return;
  }
  std::size_t from = 0;
  char32_t before = 0;
  bool was_token = false;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t start = at;
    const char32_t letter = next_point(piece, at);
    const bool is_token = id_of(letter, piece.substr(start, at - start)).has_value();
    if (is_token && was_token && !can_join(before, letter)) {
      encode_part(piece.substr(from, start - from), ids, words);
      from = start;
    }
    before = letter;
    was_token = is_token;
  }
  if (from < piece.size()) encode_part(piece.substr(from), ids, words);
}

void BytePairs::encode_part(std::string_view part, std::vector<Id>& ids, Words* words) const {
  Words::Word* const word = words == nullptr ? nullptr : words->find(part);
  if (word != nullptr && word->key_size > 0) {
    const Id* const known = words->ids(*word);
    ids.insert(ids.end(), known, known + word->count);
    return;
  }
  std::vector<Id> symbols;
  symbols.reserve(part.size());
  split_letters(part, symbols);
  if (symbols.size() <= kFewSymbols) {
    merge_few(symbols);
  } else {
    merge_many(symbols);
  }
  if (word != nullptr) words->keep(*word, part, symbols.data(), symbols.size());
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void BytePairs::split_letters(std::string_view part, std::vector<Id>& symbols) const {
  int unknown = 0;  // number of pending unknown tokens before the next letter
  const auto flush = [&] {
    symbols.insert(symbols.end(), static_cast<std::size_t>(unknown), unknown_);
    unknown = 0;
  };
  for (std::size_t at = 0; at < part.size();) {
    const std::size_t from = at;
    const char32_t letter = next_point(part, at);
    const std::string_view bytes = part.substr(from, at - from);
    const bool is_marked = at == part.size() && !options_.word_end.empty();
    if (const std::optional<Id> id =
            is_marked ? vocabulary_.find(std::string(bytes) + options_.word_end) : id_of(letter, bytes)) {
      flush();
      symbols.push_back(*id);
      continue;
    }
    const auto byte_id = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
    if (options_.byte_fallback && std::all_of(bytes.begin(), bytes.end(), [&](char c) { return byte_id(c) >= 0; })) {
      // Pending unknown tokens come after these bytes, as in Hugging Face's library.
      for (const char c : bytes) symbols.push_back(byte_id(c));
      continue;
    }
    if (unknown_ >= 0 && !(options_.fuse_unk && unknown > 0)) ++unknown;
  }
  flush();
}

void BytePairs::merge_few(std::vector<Id>& symbols) const {
  if (symbols.size() < 2) return;
  std::array<PairTable::Merge, kFewSymbols> next;  // the merge of each symbol with the next one
  std::size_t pairs = symbols.size() - 1;
  for (std::size_t i = 0; i < pairs; ++i) next[i] = merges_.find(symbols[i], symbols[i + 1]);
  while (pairs > 0) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < pairs; ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].id < 0) break;
    symbols[best] = next[best].id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(next.begin() + static_cast<std::ptrdiff_t>(best) + 1, next.begin() + static_cast<std::ptrdiff_t>(pairs),
              next.begin() + static_cast<std::ptrdiff_t>(best));
    --pairs;
    if (best < pairs) next[best] = merges_.find(symbols[best], symbols[best + 1]);
    if (best > 0) next[best - 1] = merges_.find(symbols[best - 1], symbols[best]);
  }
}

void BytePairs::merge_many(std::vector<Id>& symbols) const {
  struct Candidate {
    std::uint32_t rank, at;
    Id id;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  constexpr std::uint32_t kEnd = UINT32_MAX;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> previous(count), next(count);
  std::vector<Candidate> candidates;
  const auto candidate = [&](std::uint32_t at) -> Candidate {
    const PairTable::Merge merge = merges_.find(symbols[at], symbols[next[at]]);
    return {merge.rank, at, merge.id};
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    previous[i] = i == 0 ? kEnd : i - 1;
    next[i] = i + 1 == count ? kEnd : i + 1;
    if (next[i] == kEnd) continue;
    if (const Candidate found = candidate(i); found.id >= 0) candidates.push_back(found);
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap({}, std::move(candidates));
  const auto push = [&](std::uint32_t at) {
    if (const Candidate found = candidate(at); found.id >= 0) heap.push(found);
  };
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    // Skip the entry if either symbol has changed.
    if (symbols[top.at] < 0 || next[top.at] == kEnd || candidate(top.at).id != top.id) continue;
    const std::uint32_t gone = next[top.at];
    symbols[top.at] = top.id;
    symbols[gone] = -1;
    next[top.at] = next[gone];
    if (next[gone] != kEnd) previous[next[gone]] = top.at;
    if (previous[top.at] != kEnd) push(previous[top.at]);
    if (next[top.at] != kEnd) push(top.at);
  }
  std::erase(symbols, -1);
}

}  // namespace attn::tokenizers
