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

/// A class, as its module in keras_hub/src/models has it.
struct KerasClass {
  enum class Kind : std::uint8_t { byte_pairs, word_piece, sentence_piece };

  std::string_view name;
  Kind kind;
  std::string_view start, end, pad;      ///< tokens; "" where the class has none. Without `pad` padding is 0
  std::vector<std::string_view> more{};  ///< further special tokens
  std::string_view second_end{};         ///< another token that ends a text
  std::string_view words{};              ///< the pattern by which Hugging Face cuts such a model's texts
  bool nfc = false;                      ///< and does it compose letters before?
  Numbering numbering = Numbering::pieces;
};

/// The class of this name, or null.
[[nodiscard]] const KerasClass* find_keras_class(std::string_view name) noexcept;

/// All of their names, for messages.
[[nodiscard]] std::vector<std::string_view> keras_class_names();

/// What the assets of such a class are called in a preset: the vocabulary, and behind it merges where there are some.
[[nodiscard]] std::vector<std::string> asset_names(KerasClass::Kind kind);

/// Files of a tokenizer, wherever they lie and whatever they are called.
struct KerasAssets {
  const ModelFiles* files;
  std::string vocabulary;  ///< vocabulary.json, .txt or .spm
  std::string merges;      ///< merges.txt
};

/// The tokenizer of a class with its `config`, as get_config() gives it. Throws Error (bad_input) for files that do not
/// fit it and special tokens that the vocabulary does not have.
[[nodiscard]] std::unique_ptr<Tokenizer> make_keras_tokenizer(const KerasClass& row, const JsonNode& config,
                                                              const KerasAssets& assets, const OpenOptions& options);

/// A byte-pair tokenizer of a class over a vocabulary that was read elsewhere.
[[nodiscard]] std::unique_ptr<Tokenizer> make_keras_byte_pairs(const KerasClass& row, const JsonNode& config,
                                                               Vocabulary vocabulary, const MergeRules& merges,
                                                               std::vector<std::string> unsplittable,
                                                               const OpenOptions& options);

}  // namespace attn::tokenizers
