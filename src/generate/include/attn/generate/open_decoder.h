// From a model to something that reads tokens one after another: what generate, score and bench share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attn/generate/cached_decoder.h"
#include "attn/keras/model.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"

namespace attn::generate {

/// So long, or as many as the positions that the model has learned.
[[nodiscard]] std::int64_t within_positions(const keras::Model& model, std::int64_t length);

/// The tokens of a sequence where nobody says: those of the model's preprocessor, else KerasHub's default, and never
/// more than it has positions.
[[nodiscard]] std::int64_t usual_length(const keras::Model& model);
/// The same of what its encoder reads.
[[nodiscard]] std::int64_t usual_encoder_length(const keras::Model& model);

/// How a decoder's steps are lowered from `model`, which outlives it; the dtypes are those that were asked for.
[[nodiscard]] LowerStep step_of(const keras::Model& model, const std::optional<std::string>& dtype,
                                const std::optional<std::string>& cache_dtype);

/// Throws Error (no_memory) where weights, caches and passes of a decoder with such options do not fit. Prompts are
/// read `longest` tokens at a time, as far as the options let them.
void require_decoder_memory(const backends::Backend& backend, const open::LoadedModel& loaded,
                            const open::Execution& execution, const std::optional<std::string>& cache_dtype,
                            CachedDecoderOptions options, Dim longest);

/// A decoder of the model, ready to read `longest` tokens a sequence at once. Weights are read again where another
/// shape of step wants them, so `loaded`, `execution` and `listener` outlive it. Throws Error, of no_memory where
/// weights, caches and passes do not fit.
[[nodiscard]] std::unique_ptr<CachedDecoder> open_decoder(const backends::Backend& backend,
                                                          const open::LoadedModel& loaded,
                                                          const open::Execution& execution,
                                                          const std::optional<std::string>& cache_dtype,
                                                          CachedDecoderOptions options, Dim longest,
                                                          const open::Listener& listener);

}  // namespace attn::generate
