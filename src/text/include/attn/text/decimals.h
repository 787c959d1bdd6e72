// Converts numbers to the strings that TensorFlow hashes for them.
#pragma once

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"

namespace attn::text {

/// Converts numbers to decimal strings: tf.as_string, after a cast to int64 for floats. Throws Error (bad_input) for a
/// bool array, for which it writes words.
[[nodiscard]] TextArray decimals_of(const Tensor& numbers);

}  // namespace attn::text
