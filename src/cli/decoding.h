// From a model to something that reads tokens one after another: what generate and score share.
#pragma once

#include <optional>
#include <string>

#include "attn/generate/cached_decoder.h"
#include "attn/keras/model.h"

namespace attn::cli {

/// How a decoder's steps are lowered from `model`, which outlives it; the dtypes are those that were asked for.
[[nodiscard]] generate::LowerStep step_of(const keras::Model& model, const std::optional<std::string>& dtype,
                                          const std::optional<std::string>& cache_dtype);

}  // namespace attn::cli
