// The implementation of attn::Tokenizer.
#pragma once

#include <memory>

#include "attn/attn.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn {

struct Tokenizer::Parts {
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer;
};

}  // namespace attn
