// Models of SentencePiece, by its library.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attn/tokenizers/tokenizer.h"
#include "model_proto.h"
#include "piece_cut.h"
#include "seams.h"
#include "sentencepiece_plugin.h"
#include "word_memory.h"

namespace attn::tokenizers {

/// A model file that the library has opened.
class SentencePieceModel {
 public:
  /// `place` is the file for messages. Throws Error (bad_input) for a file that is no model, and where this attn has no
  /// libattn_sentencepiece.so.
  SentencePieceModel(std::string_view file, const std::string& place);

  /// The library gets a text in words, where that gives the same ids: it takes long over a whole, and words come again.
  [[nodiscard]] std::vector<Id> encode(std::string_view text) const;
  /// The ids must be those of pieces.
  [[nodiscard]] std::string decode(std::span<const Id> ids) const;
  [[nodiscard]] const ModelProto& proto() const noexcept { return proto_; }
  [[nodiscard]] Id unknown() const noexcept { return unknown_; }

 private:
  /// How a text may be cut before its spaces.
  enum class Cut : std::uint8_t {
    never,
    with_space,     ///< the space goes with what follows
    without_space,  ///< the library puts one before each text itself
  };
  [[nodiscard]] Cut cut() const;
  template <typename Out>
  [[nodiscard]] Cut tried() const;
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
  std::optional<PieceCut> pieces_;  // of a Unigram model, whose text the library normalizes alone
  Cut cut_ = Cut::never;
  bool squeezes_ = false;       // spaces, tabs and ends of lines side by side are read as one space
  bool cuts_at_lines_ = false;  // an end of a line is bytes, which are part of no piece
  bool keeps_ascii_ = false;    // a word of ASCII is normalized by a space before it
  std::optional<char> stop_;
  Seams seams_;  // at which the ids of a word fall apart
  template <typename Out>
  struct Words {
    WordMemory<Out> first, behind, inside;  // that begin a text, stand behind a space or a line's end, or behind a seam
  };
  using Memory = std::tuple<Words<std::vector<Id>>, Words<std::string>>;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
};

/// How a class of KerasHub numbers the pieces.
enum class Numbering : std::uint8_t {
  pieces,       ///< as the file does
  mask_behind,  ///< and "[MASK]" behind them, where it is no piece (DebertaV3Tokenizer)
  fairseq       ///< <s>, <pad>, </s>, <unk>, the other pieces from 3 on, <mask> (XLMRobertaTokenizer)
};

struct SentencePieceParts {
  std::string class_name;
  Numbering numbering = Numbering::pieces;
  std::vector<Id> before, after;                    ///< what every text has around it: KerasHub's add_bos and add_eos
  std::vector<Id> specials_before, specials_after;  ///< what add_specials puts around it
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
