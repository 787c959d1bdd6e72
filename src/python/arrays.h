// Conversion of Python arrays to tensors and back.
#pragma once

#include <nanobind/nanobind.h>

#include "attn/base/tensor.h"

namespace attn::python {

/// Wraps the array's bytes if they are dense and on the CPU, otherwise copies them. The tensor keeps them alive. `name`
/// is the input's name in messages. Throws Error (bad_input) if the value is not an array of numbers.
[[nodiscard]] Tensor tensor_of(nanobind::handle array, const std::string& name);

/// Returns a NumPy array over the tensor's bytes, which it keeps alive; bfloat16, which NumPy lacks, becomes float32.
[[nodiscard]] nanobind::object array_of(const Tensor& tensor);

}  // namespace attn::python
