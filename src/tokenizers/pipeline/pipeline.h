// A tokenizer composed of parts, as in Hugging Face's tokenizer.json.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "added_tokens.h"
#include "attn/tokenizers/tokenizer.h"
#include "decoders.h"
#include "model.h"
#include "normalizers.h"
#include "pre_tokenizers.h"

namespace attn::tokenizers {

struct PipelineParts {
  std::string class_name;
  SpecialIds specials;
  std::vector<AddedToken> added;  ///< added tokens with their ids; may include tokens of the model
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<Model> model;
  std::vector<Id> before, after;  ///< the ids that add_specials adds around a text
  Decoders decoders;
  bool ends_at_null = false;       ///< a text ends at its first null character, as in TensorFlow
  bool joins_with_spaces = false;  ///< join decoded tokens with spaces, for a file without a decoder
};

/// Finds added tokens, normalizes the text between them, splits it into pieces, and encodes each piece with the model.
class Pipeline : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts);

  [[nodiscard]] std::string decode(std::span<const Id> ids) const override;
  [[nodiscard]] std::optional<std::string> token(Id id) const override;
  [[nodiscard]] std::optional<Id> id(std::string_view token) const override;
  [[nodiscard]] std::int64_t size() const override;

 private:
  [[nodiscard]] std::vector<Id> encode_valid(std::string_view text, const EncodeOptions& options) const override;
  [[nodiscard]] std::string normalized(std::string_view text, const RuleLimit& limit) const;
  /// Returns the name of the vocabulary's file for messages.
  [[nodiscard]] const std::string& place() const { return parts_.model->vocabulary().place(); }

  PipelineParts parts_;
  AddedTokens raw_, normal_;                     // matched in the original text, and in the normalized text
  Vocabulary added_;                             // added tokens outside the model's vocabulary
  std::unordered_map<Id, std::string> spelled_;  // normalized added tokens, which decode as the normalizer writes them
};

}  // namespace attn::tokenizers
