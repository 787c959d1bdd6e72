#include "pipeline.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

/// Rules of a file may make a text longer, but not out of all proportion.
void expect_growth(std::size_t before, std::size_t after, const std::string& place) {
  constexpr std::size_t kMostGrowth = 64, kFree = std::size_t{1} << 16;
  if (after > kFree && after / kMostGrowth > before)
    throw bad_input("{}: its rules make {} bytes of a text of {}", place, after, before);
}

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
      normal.back().content = normalized(token.content);
    } else {
      raw.push_back(token);
    }
  }
  raw_ = AddedTokens(std::move(raw));
  normal_ = AddedTokens(std::move(normal));
}

std::string Pipeline::normalized(std::string_view text) const {
  std::string out(text);
  for (const Normalizer& normalizer : parts_.normalizers) {
    out = normalizer(out);
    expect_growth(text.size(), out.size(), parts_.model->vocabulary().place());
  }
  return out;
}

std::vector<Id> Pipeline::encode_valid(std::string_view text, const EncodeOptions& options) const {
  if (parts_.ends_at_null) text = text.substr(0, text.find('\0'));
  constexpr std::size_t kWorthRemembering = 256;  // bytes from which on words are likely to come again
  const auto memory = text.size() < kWorthRemembering ? nullptr : parts_.model->memory();
  std::vector<Id> ids;
  if (options.add_specials) ids = parts_.before;
  const auto encode_text = [&](std::string part, bool begins_text) {
    Pieces pieces(std::move(part), begins_text);
    for (const auto& pre_tokenizer : parts_.pre_tokenizers) pre_tokenizer->apply(pieces);
    for (const Piece& piece : pieces.all()) parts_.model->encode(pieces.text(piece), ids, memory.get());
  };
  for (const Section& section : raw_.sections(text, options.specials_in_text)) {
    if (section.token) {
      ids.push_back(*section.token);
      continue;
    }
    const std::string part = normalized(text.substr(section.from, section.to - section.from));
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
      throw bad_usage("the id {} is none of the vocabulary, whose ids end before {}", id,
                      std::max(parts_.model->vocabulary().end(), added_.end()));
    tokens.push_back(std::move(*found));
  }
  if (parts_.joins_with_spaces) return join(tokens, " ");
  const std::size_t before = bytes_of(tokens);
  for (std::size_t i = 0; i < parts_.decoders.size(); ++i) {
    tokens = parts_.decoders[i](std::move(tokens));
    for (std::string& token : tokens)  // the next decoder may look for letters
      if (i + 1 < parts_.decoders.size() && !is_utf8(token)) token = valid_utf8(token);
    expect_growth(before, bytes_of(tokens), parts_.model->vocabulary().place());
  }
  return join(tokens, "");
}

std::optional<std::string> Pipeline::token(Id id) const {
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
