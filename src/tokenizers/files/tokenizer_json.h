// Hugging Face's tokenizer.json.
#pragma once

#include <string>
#include <string_view>

#include "algorithms/byte_pairs.h"
#include "attn/io/json_text.h"
#include "json_node.h"
#include "pipeline/pipeline.h"

namespace attn::tokenizers {

/// The contents of a tokenizer.json.
struct TokenizerJson {
  Vocabulary vocabulary;
  MergeRules merges;
  std::vector<double> scores;  ///< score of each token for Unigram, by id
  nlohmann::json rest;         ///< everything except the vocabulary and the merges
  std::vector<AddedToken> added;
};

/// Throws Error (bad_input) for an invalid file. `place` is its printable name for messages.
[[nodiscard]] TokenizerJson read_tokenizer_json(std::string_view text, const std::string& place);

/// Returns the tokenizer that the file describes. Throws Error (bad_input) for unsupported parts.
[[nodiscard]] PipelineParts parts_of(TokenizerJson file);

/// Returns the id of a token in a table. Throws Error (bad_input) if it is not an integer.
[[nodiscard]] std::int64_t id_in(const nlohmann::json& value, std::string_view token, const std::string& place);

// Reads parts of the file. Each function throws Error (bad_input) for an unsupported type or setting.
void add_normalizers(const JsonNode& node, Normalizers& normalizers);
void add_pre_tokenizers(const JsonNode& node, PreTokenizers& pre_tokenizers);
void add_decoders(const JsonNode& node, Decoders& decoders);
/// Reads the special tokens that a post-processor adds around the ids of one text.
void add_specials(const JsonNode& node, std::vector<Id>& before, std::vector<Id>& after);

inline constexpr const char* kTokenizerJson = "tokenizer.json";
inline constexpr std::int64_t kMaxTokenizerFile = std::int64_t{256} << 20;  ///< bytes

/// Vocabularies are larger than configs: the largest tokenizer.json has 35 MB and 2 million values.
inline constexpr io::JsonLimits kTokenizerJsonLimits{std::size_t{256} << 20, std::size_t{16} << 20};

}  // namespace attn::tokenizers
