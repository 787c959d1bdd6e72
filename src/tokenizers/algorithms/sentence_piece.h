// SentencePiece models, through the SentencePiece library.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attn/tokenizers/tables.h"
#include "attn/tokenizers/tokenizer.h"
#include "files/model_proto.h"
#include "pipeline/seams.h"
#include "sentence_piece_unigram.h"
#include "sentencepiece_plugin.h"
#include "text/word_memory.h"

namespace attn::tokenizers {

/// A model file opened by the library.
class SentencePieceModel {
 public:
  /// `place` is the file for messages. Throws Error (bad_input) for an invalid file, and if libattn_sentencepiece.so is
  /// not installed.
  SentencePieceModel(std::string_view file, const std::string& place);

  /// Passes a text to the library in words if that gives the same ids: the library is slow on long texts, and words
  /// repeat.
  [[nodiscard]] std::vector<Id> encode(std::string_view text) const;
  /// Returns the text of ids, all of which must be valid.
  [[nodiscard]] std::string decode(std::span<const Id> ids) const;
  [[nodiscard]] const ModelProto& proto() const noexcept { return proto_; }
  [[nodiscard]] Id unknown() const noexcept { return unknown_; }

 private:
  /// Whether a text may be cut before its spaces.
  enum class SpaceSplit : std::uint8_t {
    never,
    with_space,     ///< the space stays with the next word
    without_space,  ///< without the space, because the library adds one to each text
  };
  [[nodiscard]] SpaceSplit cut() const;
  template <typename Out>
  [[nodiscard]] SpaceSplit tried() const;
  void append_whole(std::string_view text, std::vector<Id>& ids) const;
  void append_whole(std::string_view text, std::string& normalized) const;
  template <typename Out>
  [[nodiscard]] Out all_of(std::string_view text) const;
  template <typename Out>
  [[nodiscard]] Out part_of(std::string_view word, bool behind_letters) const;
  void append_word(std::string_view word, bool is_first, std::vector<Id>& ids) const;
  void append_word(std::string_view word, bool is_first, std::string& normalized) const;
  [[nodiscard]] std::vector<Id> inside_of(std::string_view part) const;
  [[nodiscard]] std::optional<char> stop_letter() const;
  [[nodiscard]] Seams seams() const;
  [[nodiscard]] bool squeezes() const;
  [[nodiscard]] bool cuts_at_lines() const;

  ModelProto proto_;
  Id unknown_ = 0;
  const SentencePieceFunctions* library_;
  std::unique_ptr<void, void (*)(void*)> model_;
  std::optional<SentencePieceUnigram> pieces_;  // for a Unigram model, whose text the library only normalizes
  SpaceSplit cut_ = SpaceSplit::never;
  bool squeezes_ = false;       // adjacent spaces, tabs and newlines count as one space
  bool cuts_at_lines_ = false;  // a newline is encoded as bytes, which are part of no other piece
  bool keeps_ascii_ = false;    // normalization only adds a space before an ASCII word
  std::optional<char> stop_;
  Seams seams_;  // positions where a word can be split
  template <typename Out>
  struct Words {
    WordMemory<Out> first, behind, inside;  // words at the beginning of a text, after a space or newline, and after a
                                            // seam
  };
  using Memory = std::tuple<Words<std::vector<Id>>, Words<std::string>>;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
};

struct SentencePieceParts {
  std::string class_name;
  Numbering numbering = Numbering::pieces;
  std::vector<Id> before, after;                    ///< ids around every text: KerasHub's add_bos and add_eos
  std::vector<Id> specials_before, specials_after;  ///< ids that add_specials adds around a text
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(SentencePieceModel model, SentencePieceParts parts);

  void set_specials(SpecialIds specials) { specials_ = std::move(specials); }

  [[nodiscard]] std::string decode(std::span<const Id> ids) const override;
  [[nodiscard]] std::optional<std::string> token(Id id) const override;
  [[nodiscard]] std::optional<Id> id(std::string_view token) const override;
  [[nodiscard]] std::int64_t size() const override;

 private:
  [[nodiscard]] std::vector<Id> encode_valid(std::string_view text, const EncodeOptions& options) const override;

  SentencePieceModel model_;
  SentencePieceParts parts_;
};

}  // namespace attn::tokenizers
