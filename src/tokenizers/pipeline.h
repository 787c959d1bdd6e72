// A tokenizer made of parts, as Hugging Face's tokenizer.json describes it.
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
  std::vector<AddedToken> added;  ///< with ids; several may be the model's own tokens
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  std::unique_ptr<Model> model;
  std::vector<Id> before, after;  ///< what add_specials puts around the ids of a text
  Decoders decoders;
  bool ends_at_null = false;       ///< a text ends at its first null character: TensorFlow's do
  bool joins_with_spaces = false;  ///< decoded tokens have spaces between: a file without a decoder
};

/// Looks for added tokens, normalises what stands between them, cuts it into pieces, and lets the model make ids of
/// each.
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
  /// The file, for messages.
  [[nodiscard]] const std::string& place() const { return parts_.model->vocabulary().place(); }

  PipelineParts parts_;
  AddedTokens raw_, normal_;                     // looked for in the text, and in the normalised text
  Vocabulary added_;                             // those that are no token of the model
  std::unordered_map<Id, std::string> spelled_;  // normalized ones, which decode as the normalizer writes them
};

}  // namespace attn::tokenizers
