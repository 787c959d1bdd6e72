// Conversion of Python arrays to tensors and back.
#pragma once

#include <nanobind/nanobind.h>

#include "attn/base/tensor.h"

namespace attn::python {

/// Wraps the array's bytes if they are dense and on the CPU, otherwise copies them; they live as long as the tensor.
/// `name` is the input's name in the Error (bad_input) that is thrown if it is not an array of numbers.
[[nodiscard]] Tensor tensor_of(nanobind::handle array, const std::string& name);

/// Returns a NumPy array over the tensor's bytes, which it keeps alive; bfloat16, which NumPy lacks, becomes float32.
[[nodiscard]] nanobind::object array_of(const Tensor& tensor);

}  // namespace attn::python
