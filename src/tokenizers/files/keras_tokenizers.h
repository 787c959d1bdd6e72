// KerasHub's tokenizer classes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/merge_rules.h"
#include "attn/tokenizers/tables.h"
#include "attn/tokenizers/tokenizer.h"
#include "attn/tokenizers/workflow.h"
#include "json_node.h"
#include "model_files.h"
#include "vocabulary.h"

namespace attn::tokenizers {

/// Returns the class of this name, or null.
[[nodiscard]] const KerasClass* find_keras_class(const TokenizerTables& tables, std::string_view name) noexcept;

/// Returns all class names, for messages.
[[nodiscard]] std::vector<std::string_view> keras_class_names(const TokenizerTables& tables);

/// Returns the file names of such a class's assets in a preset: the vocabulary, then the merges if there are any.
[[nodiscard]] std::vector<std::string> asset_names(TokenizerKind kind);

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
