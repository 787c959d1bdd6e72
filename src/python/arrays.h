// Arrays of Python as tensors, and back.
#pragma once

#include <nanobind/nanobind.h>

#include "attn/base/tensor.h"

namespace attn::python {

/// The same bytes where they are dense and on the CPU, else a copy of them; they live as long as the tensor. `name` is
/// that of the input, for the message of the Error (bad_input) that is thrown for what is no array of numbers.
[[nodiscard]] Tensor tensor_of(nanobind::handle array, const std::string& name);

/// A NumPy array over the tensor's bytes, which it keeps alive; in float32 for bfloat16, which NumPy does not have.
[[nodiscard]] nanobind::object array_of(const Tensor& tensor);

}  // namespace attn::python
