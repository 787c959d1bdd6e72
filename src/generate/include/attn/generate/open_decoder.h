// Opens decoders for generate, score and bench.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/cached_decoder.h"
#include "attn/keras/model.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"

namespace attn::generate {

/// Returns the length, limited by the learned positions of the model.
[[nodiscard]] std::int64_t within_positions(const keras::Model& model, std::int64_t length);

/// Returns the default length of a sequence: that of the model's preprocessor, else KerasHub's default, at most the
/// number of positions.
[[nodiscard]] std::int64_t usual_length(const keras::Model& model);
/// Returns the default length of the encoder's input: that of the model's preprocessor, else KerasHub's default, at
/// most the number of positions.
[[nodiscard]] std::int64_t usual_encoder_length(const keras::Model& model);

/// Returns a function that lowers a decoder's steps from `model`, which must outlive it, with the given dtypes. `media`
/// are the arrays of the images and sounds that the first step reads.
[[nodiscard]] LowerStep step_of(const keras::Model& model, const std::optional<std::string>& dtype,
                                const std::optional<std::string>& cache_dtype,
                                const std::vector<NamedTensor>& media = {});

/// Throws Error (no_memory) if weights, caches and passes of a decoder with such options do not fit. Prompts are read
/// `longest` tokens at a time, or fewer by the options.
void require_decoder_memory(const backends::Backend& backend, const open::LoadedModel& loaded,
                            const open::Execution& execution, const std::optional<std::string>& cache_dtype,
                            CachedDecoderOptions options, Dim longest);

/// Opens a decoder of the model, ready to read `longest` tokens of each sequence at once. Weights are read again for
/// another shape of step, so `loaded`, `execution` and `listener` must outlive it. Throws Error, of no_memory if
/// weights, caches and passes do not fit.
[[nodiscard]] std::unique_ptr<CachedDecoder> open_decoder(const backends::Backend& backend,
                                                          const open::LoadedModel& loaded,
                                                          const open::Execution& execution,
                                                          const std::optional<std::string>& cache_dtype,
                                                          CachedDecoderOptions options, Dim longest,
                                                          const open::Listener& listener);

}  // namespace attn::generate
