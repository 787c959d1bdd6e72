// Texts that a model compares with images: the labels of zero-shot classification.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::open {

/// Returns the token ids (texts, length) int32 of the texts, as KerasHub's preprocessor makes them. Warns of a text
/// that is cut. Throws Error (bad_input) if the model does not compare images with texts, or has no tokenizer.
[[nodiscard]] Tensor label_ids(const LoadedModel& loaded, std::span<const std::string> texts, const Listener& listener);

/// Returns the probability of each text for each image, in float64, from the model's similarities (images, texts).
[[nodiscard]] std::vector<std::vector<double>> label_probabilities(const LoadedModel& loaded,
                                                                   const Tensor& similarities);

}  // namespace attn::open
