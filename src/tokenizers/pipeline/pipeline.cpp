#include "pipeline.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

std::size_t bytes_of(const std::vector<std::string>& tokens) {
  std::size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size() + 1;
  return bytes;
}

}  // namespace

Pipeline::Pipeline(PipelineParts parts) : parts_(std::move(parts)), added_(parts_.model->vocabulary().place()) {
  class_name_ = parts_.class_name;
  specials_ = parts_.specials;
  std::vector<AddedToken> raw, normal;
  for (const AddedToken& token : parts_.added) {
    if (parts_.model->vocabulary().find(token.content) != token.id) added_.add(token.content, token.id);
    if (token.normalized && !parts_.normalizers.empty()) {
      normal.push_back(token);
      normal.back().content = normalized(token.content, RuleLimit(place(), token.content.size()));
      if (normal.back().content.size() > kLongestToken)
        throw bad_input("{}: its rules make more than {} bytes from the token '{}'", place(), kLongestToken,
                        shortened(token.content));
      if (normal.back().content != token.content) spelled_.emplace(token.id, normal.back().content);
    } else {
      raw.push_back(token);
    }
  }
  raw_ = AddedTokens(std::move(raw));
  normal_ = AddedTokens(std::move(normal));
}

std::string Pipeline::normalized(std::string_view text, const RuleLimit& limit) const {
  std::string out(text);
  for (const Normalizer& normalizer : parts_.normalizers) {
    out = normalizer(out, limit);
    limit.check(out.size());
  }
  return out;
}

std::vector<Id> Pipeline::encode_valid(std::string_view text, const EncodeOptions& options) const {
  if (parts_.ends_at_null) text = text.substr(0, text.find('\0'));
  constexpr std::size_t kWorthRemembering = 256;  // from this size on, words are likely to repeat
  const auto memory = text.size() < kWorthRemembering ? nullptr : parts_.model->memory();
  std::vector<Id> ids;
  if (options.add_specials) ids = parts_.before;
  const RuleLimit limit(place(), text.size());
  std::size_t normalized_bytes = 0, cut_bytes = 0;  // totals of all sections
  const auto encode_text = [&](std::string part, bool begins_text) {
    Pieces pieces(std::move(part), begins_text, limit);
    for (const auto& pre_tokenizer : parts_.pre_tokenizers) pre_tokenizer->apply(pieces);
    limit.check(cut_bytes += pieces.bytes());
    limit.pause();
    for (const Piece& piece : pieces.all()) parts_.model->encode(pieces.text(piece), ids, memory.get());
  };
  for (const Section& section : raw_.sections(text, options.specials_in_text)) {
    if (section.token) {
      ids.push_back(*section.token);
      continue;
    }
    const std::string part = normalized(text.substr(section.from, section.to - section.from), limit);
    limit.check(normalized_bytes += part.size());
    for (const Section& inner : normal_.sections(part, options.specials_in_text)) {
      if (inner.token) {
        ids.push_back(*inner.token);
      } else {
        encode_text(part.substr(inner.from, inner.to - inner.from), section.from == 0 && inner.from == 0);
      }
    }
  }
  if (options.add_specials) ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
  return ids;
}

std::string Pipeline::decode(std::span<const Id> ids) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const Id id : ids) {
    std::optional<std::string> found = token(id);
    if (!found)
      throw bad_usage("the id {} is not in the vocabulary, whose ids end before {}", id,
                      std::max(parts_.model->vocabulary().end(), added_.end()));
    tokens.push_back(std::move(*found));
  }
  if (parts_.joins_with_spaces) return join(tokens, " ");
  const RuleLimit limit(place(), bytes_of(tokens));
  for (std::size_t i = 0; i < parts_.decoders.size(); ++i) {
    tokens = parts_.decoders[i](std::move(tokens), limit);
    for (std::string& token : tokens)  // the next decoder may search for letters
      if (i + 1 < parts_.decoders.size() && !is_utf8(token)) token = valid_utf8(token);
    limit.check(bytes_of(tokens));
  }
  return join(tokens, "");
}

std::optional<std::string> Pipeline::token(Id id) const {
  if (const auto spelled = spelled_.find(id); spelled != spelled_.end()) return spelled->second;
  std::optional<std::string_view> found = added_.token(id);
  if (!found) found = parts_.model->vocabulary().token(id);
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

std::optional<Id> Pipeline::id(std::string_view token) const {
  const std::optional<Id> found = added_.find(token);
  return found ? found : parts_.model->vocabulary().find(token);
}

std::int64_t Pipeline::size() const { return parts_.model->vocabulary().size() + added_.size(); }

}  // namespace attn::tokenizers
