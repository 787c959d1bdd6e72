// KerasHub's tokenizer classes and the folders that have them, as plain data. The module that knows the model families
// defines the tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace attn::tokenizers {

/// GPT-2's pattern: contractions such as "'s"; letters, digits and other characters, each with a preceding space; and
/// spaces.
inline constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Llama 3's pattern.
inline constexpr const char* kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Qwen's pattern, since Qwen 2.
inline constexpr const char* kQwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// CLIP's pattern, which omits spaces.
inline constexpr const char* kClipWords =
    R"(<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";

/// The numbering of a SentencePiece model's pieces.
enum class Numbering : std::uint8_t {
  pieces,           ///< the ids of the file
  mask_behind,      ///< as in the file, with "[MASK]" appended if it is not a piece (DebertaV3Tokenizer)
  fairseq,          ///< <s>, <pad>, </s>, <unk>, the other pieces from 3 on, <mask> (XLMRobertaTokenizer)
  fairseq_unmasked  ///< as fairseq, without <mask>; special tokens are not text (MetaCLIP2Tokenizer)
};

enum class TokenizerKind : std::uint8_t {
  byte_pairs,
  word_piece,
  sentence_piece,
  longest_match,
  characters,  ///< each character is a token
  clip_pairs   ///< byte pairs of CLIP: texts are normalized, and a mark ends each word
};

/// A class, as defined in keras_hub/src/models.
struct KerasClass {
  std::string_view name;
  TokenizerKind kind;
  std::string_view start{}, end{}, pad{};    ///< tokens; "" if the class has none; padding is 0 if `pad` is ""
  std::span<const std::string_view> more{};  ///< further special tokens
  std::string_view second_end{};             ///< a second token that ends a text
  std::string_view unknown = "[UNK]";        ///< for WordPiece: the token of unknown words
  std::string_view words{};                  ///< the pattern that Hugging Face uses to split texts of such a model
  bool nfc = false;                          ///< whether texts are normalized to NFC first
  Numbering numbering = Numbering::pieces;
  /// For SentencePiece: the class in transformers that reads the model, and its file there; "" if there is none.
  std::string_view transformers_class{}, transformers_file{};
  /// Special tokens that count if `has_vision_tokens` is set, and if `has_video_tokens` is; without the key, if the
  /// vocabulary has all of them.
  std::span<const std::string_view> vision{}, video{};
  /// Special tokens that count if the vocabulary has them. KerasHub omits them from answers of models that read sounds,
  /// even without `has_audio_tokens`.
  std::span<const std::string_view> audio{};
  /// Special tokens that stay in answers, because the user writes them into prompts.
  std::span<const std::string_view> shown{};
  /// A token that also ends a text; the unknown token does so if the vocabulary lacks this one.
  std::string_view turn_end{};
  /// Whether KerasHub's converter takes the special tokens from the folder, and transformers puts the start token
  /// before a text.
  bool takes_specials = false;
  /// Whether KerasHub's converter also adds the reserved tokens, and splits texts at none of the added tokens.
  bool splits_added = false;
  /// Whether the config states special tokens and languages with their ids, which are not in the vocabulary's file.
  bool states_specials = false;
};

/// A Hugging Face folder of some model type, and the class that reads its tokenizer.
struct FolderTokenizer {
  std::string_view model_type;  ///< model type in config.json
  std::string_view keras_class{};
  bool is_converted = true;  ///< whether KerasHub has a converter for such folders
  /// The files of a byte-pair vocabulary that KerasHub reads.
  enum class Vocabulary : std::uint8_t {
    tokenizer_json,
    vocab_json,
    vocab_json_if_there,
  } vocabulary = Vocabulary::tokenizer_json;
  /// The special tokens that transformers puts around a text if the folder has no tokenizer.json.
  enum class Around : std::uint8_t {
    as_configured,   ///< the tokens that tokenizer_config.json requests
    start,           ///< the start token
    start_and_end,   ///< the start and the end token; for SentencePiece, cls_token and sep_token
    end_by_default,  ///< the end token, unless tokenizer_config.json disables it
  } around = Around::as_configured;
  Numbering numbering = Numbering::pieces;
  /// Whether transformers splits texts at every token of vocab.txt, and at spaces (EsmTokenizer).
  bool splits_tokens = false;
};

/// The tables of all model families.
struct TokenizerTables {
  std::span<const KerasClass> classes;
  std::span<const FolderTokenizer> folders;
};

}  // namespace attn::tokenizers
