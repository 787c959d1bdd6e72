// Byte-pair encoding: rules merge characters, and the results, into tokens in the order of their rank.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merge_rules.h"
#include "model.h"

namespace attn::tokenizers {

/// Matches `models::BPE` of Hugging Face's tokenizers.
class BytePairs : public Model {
 public:
  struct Options {
    /// The token for characters outside the vocabulary; if empty, they are dropped.
    std::optional<std::string> unk_token;
    bool fuse_unk = false;       ///< use one unknown token for adjacent unknown characters
    bool byte_fallback = false;  ///< encode unknown characters as "<0xE2>" …, if these are tokens
    bool ignore_merges = false;  ///< a piece that is a token is encoded as that token
    std::string word_end;        ///< the mark of the last character of a piece
  };

  /// Throws Error (bad_input) for a rule whose tokens, or the merged one, are not in the vocabulary.
  BytePairs(Vocabulary vocabulary, const MergeRules& rules, const Options& options);
  ~BytePairs() override;

  [[nodiscard]] std::unique_ptr<Memory> memory() const override;
  void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const override;

 private:
  class Words;
  /// Characters are hashed into classes, to find positions that no rule merges across. A collision only means that a
  /// text is split less often.
  static constexpr std::size_t kClasses = 1024;
  [[nodiscard]] static std::size_t class_of(char32_t letter) noexcept;
  [[nodiscard]] bool can_join(char32_t left, char32_t right) const noexcept;
  [[nodiscard]] std::optional<Id> id_of(char32_t letter, std::string_view bytes) const noexcept;
  void encode_part(std::string_view part, std::vector<Id>& ids, Words* words) const;
  void split_letters(std::string_view part, std::vector<Id>& symbols) const;
  void merge_few(std::vector<Id>& symbols) const;
  void merge_many(std::vector<Id>& symbols) const;

  Options options_;
  Id unknown_ = -1;
  std::array<Id, 256> bytes_{};      // id of "<0x00>" …; -1 if that is not a token
  std::array<Id, 0x180> letters_{};  // tokens of single characters, for those of byte-level encoding
  PairTable merges_;
  std::vector<std::uint64_t> junctions_;  // a bit for each pair of classes: whether a rule joins a token that ends in
                                          // one with a token that begins with the other
};

}  // namespace attn::tokenizers
