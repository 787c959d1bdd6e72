// Generation by a model that is not a task of KerasHub: it takes and returns ids, and runs whole for each token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attn/generate/prompt_media.h"
#include "attn/generate/uncached_decoder.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::generate {

/// The length of its sequences, and the inputs that take them.
struct UncachedSequences {
  std::int64_t length = 0;
  SequenceInputs inputs;
};

/// Returns the sequences of the model, lowered for `length` tokens if it leaves that open (default 128). Throws Error:
/// of usage for a length that a model with fixed lengths does not have, of bad_input if the model does not predict a
/// next token.
[[nodiscard]] UncachedSequences uncached_sequences(const open::LoadedModel& loaded, const open::Execution& execution,
                                                   const std::optional<std::int64_t>& length);

/// Opens a decoder with this many rows and branches of each. `media` are the images of the prompts, which the model's
/// vision encoder reads first. Throws Error.
[[nodiscard]] std::unique_ptr<UncachedDecoder> open_uncached(
    const backends::Backend& backend, const open::LoadedModel& loaded, const open::Execution& execution,
    const UncachedSequences& sequences, std::size_t rows, Dim branches,
    const std::vector<std::vector<Token>>& encoder_tokens, const PromptMedia& media, const open::Listener& listener);

}  // namespace attn::generate
