// Runs one kernel on operands in device memory between guard bytes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/op.h"
#include "device.h"
#include "kernel.h"

namespace attn::test {

/// Memory for a tensor, `shift` elements past an aligned address. The bytes around it must not change, and shortly
/// after it an unreadable page follows.
class Guarded {
 public:
  Guarded(DType dtype, const Shape& shape, int shift);

  void fill(const Tensor& numbers);
  [[nodiscard]] cuda::Operand operand() const { return {data_, dtype_, shape_}; }
  [[nodiscard]] Tensor numbers() const;
  [[nodiscard]] bool guards_are_intact() const;

 private:
  DType dtype_;
  Shape shape_;
  std::int64_t bytes_;
  std::shared_ptr<std::byte> block_;
  std::byte *data_ = nullptr, *end_ = nullptr;
};

/// The settings of a kernel test.
struct Setting {
  std::function<cuda::Choice(const cuda::Step&)> make;
  int shift = 0;      ///< offset of every operand from an aligned address, in elements
  int in_place = -1;  ///< the input whose memory the output aliases; −1: separate memory
};

struct Outcome {
  std::vector<Tensor> outputs;  ///< empty if the kernel was not made
  std::string kernel;           ///< its name, or why there is none
  std::string problem;          ///< a write outside the outputs, or ""
  cuda::Fault fault;
};

/// Makes and launches the kernel of `op` on copies of the inputs; outputs are filled with garbage first.
[[nodiscard]] Outcome run_kernel(const graph::Op& op, const std::vector<Tensor>& inputs, const Setting& setting);

[[nodiscard]] const cuda::Device& the_device();

}  // namespace attn::test
