// Generation by a model that is no task of KerasHub: it takes and gives ids, and runs whole for each token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attn/generate/whole_decoder.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::generate {

/// How long its sequences are, and which of its inputs they are.
struct WholeSequences {
  std::int64_t length = 0;
  WholeInputs inputs;
};

/// Of the model, lowered for `length` tokens where it leaves that open, 128 without. Throws Error: of usage for a
/// length that a model does not have which fixes its own, of bad_input where it tells of no next token.
[[nodiscard]] WholeSequences whole_sequences(const open::LoadedModel& loaded, const open::Execution& execution,
                                             const std::optional<std::int64_t>& length);

/// A decoder of so many rows and branches of each. Throws Error.
[[nodiscard]] std::unique_ptr<WholeDecoder> open_whole(const backends::Backend& backend,
                                                       const open::LoadedModel& loaded,
                                                       const open::Execution& execution,
                                                       const WholeSequences& sequences, std::size_t rows, Dim branches,
                                                       const std::vector<std::vector<Token>>& encoder_tokens,
                                                       const open::Listener& listener);

}  // namespace attn::generate
