// Byte-pair encoding: letters are joined to tokens by rules, the first rule first.
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

/// As `models::BPE` of Hugging Face's tokenizers does it.
class BytePairs : public Model {
 public:
  struct Options {
    std::optional<std::string> unk_token;  ///< for letters that are no token; without it they are left out
    bool fuse_unk = false;                 ///< one unknown token for letters that stand side by side
    bool byte_fallback = false;            ///< letters that are no token become "<0xE2>" …, where these are tokens
    bool ignore_merges = false;            ///< a piece that is a token is taken whole
  };

  /// Throws Error (bad_input) for a rule whose tokens, or what they make, are not in the vocabulary.
  BytePairs(Vocabulary vocabulary, const MergeRules& rules, const Options& options);
  ~BytePairs() override;

  [[nodiscard]] std::unique_ptr<Memory> memory() const override;
  void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const override;

 private:
  class Words;
  /// Letters are told apart by few classes; two of a class only let a text be cut more seldom.
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
  std::array<Id, 256> bytes_{};      // "<0x00>" …; -1 where it is no token
  std::array<Id, 0x180> letters_{};  // tokens of one letter, of those that bytes are written with
  PairTable merges_;
  std::vector<std::uint64_t> junctions_;  // bits: does any rule join what ends in one class and begins with another?
};

}  // namespace attn::tokenizers
