// The implementation of attn::Generator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/attn.h"
#include "attn/generate/cached_decoder.h"
#include "attn/generate/request.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/model_text.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn {

struct Generator::Parts {
  /// `path` is the path of the model's files. Throws Error (bad_input) if the model is not a decoder.
  Parts(const open::ModelText& text, std::optional<std::string> path, open::Execution how);

  /// Returns the tokenizer of the model's files. Throws Error (bad_input) if there is none.
  [[nodiscard]] std::shared_ptr<const tokenizers::Tokenizer> tokenizer();
  /// Makes a decoder for the prompts of the request.
  [[nodiscard]] std::unique_ptr<generate::CachedDecoder> decoder_for(const generate::Request& request) const;
  [[nodiscard]] generate::Generated generated(const generate::Request& request, const GenerateOptions& options) const;

  std::optional<std::string> path;
  open::Execution execution;
  std::unique_ptr<backends::Backend> backend;
  open::LoadedModel loaded;

 private:
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
};

}  // namespace attn
