// KerasHub's tokenizer classes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"
#include "json_node.h"
#include "merge_rules.h"
#include "model_files.h"
#include "sentence_piece.h"

namespace attn::tokenizers {

/// A class, as defined in keras_hub/src/models.
struct KerasClass {
  enum class Kind : std::uint8_t { byte_pairs, word_piece, sentence_piece };

  std::string_view name;
  Kind kind;
  std::string_view start, end, pad;      ///< tokens; "" if the class has none; padding is 0 if `pad` is ""
  std::vector<std::string_view> more{};  ///< further special tokens
  std::string_view second_end{};         ///< a second token that ends a text
  std::string_view words{};              ///< the pattern that Hugging Face uses to split texts of such a model
  bool nfc = false;                      ///< whether texts are normalized to NFC first
  Numbering numbering = Numbering::pieces;
};

/// Returns the class of this name, or null.
[[nodiscard]] const KerasClass* find_keras_class(std::string_view name) noexcept;

/// Returns all class names, for messages.
[[nodiscard]] std::vector<std::string_view> keras_class_names();

/// The file names of such a class's assets in a preset: the vocabulary, then the merges if there are any.
[[nodiscard]] std::vector<std::string> asset_names(KerasClass::Kind kind);

/// The files of a tokenizer, with any location and name.
struct KerasAssets {
  const ModelFiles* files;
  std::string vocabulary;  ///< vocabulary.json, .txt or .spm
  std::string merges;      ///< merges.txt
};

/// Creates the tokenizer of a class from its get_config(). Throws Error (bad_input) for files that do not match the
/// class, and for special tokens that are not in the vocabulary.
[[nodiscard]] std::unique_ptr<Tokenizer> make_keras_tokenizer(const KerasClass& row, const JsonNode& config,
                                                              const KerasAssets& assets, const OpenOptions& options);

/// Creates a byte-pair tokenizer of a class for a vocabulary that is already loaded.
[[nodiscard]] std::unique_ptr<Tokenizer> make_keras_byte_pairs(const KerasClass& row, const JsonNode& config,
                                                               Vocabulary vocabulary, const MergeRules& merges,
                                                               std::vector<std::string> unsplittable,
                                                               const OpenOptions& options);

}  // namespace attn::tokenizers
