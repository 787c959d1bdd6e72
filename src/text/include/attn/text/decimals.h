// Numbers as the strings that TensorFlow makes of them before it hashes.
#pragma once

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"

namespace attn::text {

/// The decimals of an array of numbers: tf.as_string, of floats behind a cast to int64. Throws Error (bad_input) for an
/// array of bool, which it spells as words.
[[nodiscard]] TextArray decimals_of(const Tensor& numbers);

}  // namespace attn::text
