#include <memory>
#include <string>
#include <utility>

#include "attn/attn.h"
#include "attn/keras/families.h"
#include "attn/tokenizers/open.h"
#include "tokenizer_parts.h"

namespace attn {

Tokenizer::Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Tokenizer Tokenizer::open(const std::string& path) {
  return Tokenizer(std::make_shared<const Parts>(Parts{tokenizers::open_tokenizer(path, keras::tokenizer_tables())}));
}

std::vector<std::int32_t> Tokenizer::encode(const std::string& text, bool specials) const {
  tokenizers::EncodeOptions how;
  how.specials_in_text = specials;
  return parts_->tokenizer->encode(text, how);
}

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  return tokenizers::valid_utf8(parts_->tokenizer->decode(ids));
}

std::optional<std::string> Tokenizer::token(std::int32_t id) const { return parts_->tokenizer->token(id); }

std::int64_t Tokenizer::size() const { return parts_->tokenizer->size(); }

std::optional<std::int32_t> Tokenizer::start_id() const { return parts_->tokenizer->specials().start; }

std::optional<std::int32_t> Tokenizer::end_id() const { return parts_->tokenizer->specials().end; }

std::optional<std::int32_t> Tokenizer::pad_id() const { return parts_->tokenizer->specials().pad; }

}  // namespace attn
