// Dense maps and matrix products by a weight.
#include "kernel.h"
#include "matmul.h"
#include "products.h"

namespace attn::backends::cpu {
namespace {

class LinearKernel final : public Kernel {
 public:
  LinearKernel(const Step& step, const Product::Size& size, const Product::Weights& weights,
               const Product::Fusion& fusion)
      : x_(step.inputs[0]),
        residual_(step.inputs.back()),
        y_(step.outputs[0]),
        product_(make_product(step.engine, size, x_.dtype, weights, fusion)) {}

  void run() override { product_->run(x_.data<void>(), residual_.data<void>(), y_.data<void>()); }
  [[nodiscard]] std::string_view name() const override { return product_->name(); }
  [[nodiscard]] std::int64_t bytes() const override { return product_->bytes(); }

 private:
  Operand x_, residual_, y_;
  std::unique_ptr<Product> product_;
};

/// (rows, columns) → (columns, rows)
Tensor transposed(const Tensor& matrix) {
  const Dim rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(matrix.dtype(), {columns, rows});
  for (Dim i = 0; i < rows; ++i) {
    for (Dim j = 0; j < columns; ++j) result.as<float>()[j * rows + i] = matrix.as<float>()[i * columns + j];
  }
  return result;
}

}  // namespace

Choice make(const graph::Linear& op, const Step& step) {
  if (!step.is_fixed(1)) return "the kernel is no weight";
  if (op.bias && !step.is_fixed(2)) return "the bias is no weight";
  const bool on_tiles = step.engine.multiplication.tiles != Tiles::none;
  if (step.inputs[0].dtype != DType::float32 && !on_tiles) return "no tiles for it";
  const Product::Size size = product_size(op, step.inputs[0].shape, step.inputs[1].shape);
  step.packed[1] = true;
  if (op.bias) step.packed[2] = true;
  return std::make_unique<LinearKernel>(
      step, size,
      Product::Weights{step.fixed[1].data(), &step.engine.packed[{step.node.inputs[1], false}], step.fixed[1].dtype()},
      Product::Fusion{op.bias ? step.fixed[2].data() : nullptr, op.activation, op.residual, step.handover});
}

Choice make(const graph::MatMul& op, const Step& step) {
  const Shape& x = step.inputs[0].shape;
  const Shape& y = step.inputs[1].shape;
  if (!step.is_fixed(1) || y.rank() != 2 || x.rank() < 2 || op.transpose_x) return make_matmul(op, step);
  const Tensor weights = op.transpose_y ? transposed(step.fixed[1]) : step.fixed[1];
  const Product::Size size{x.slice(0, x.rank() - 1).size(), weights.shape()[0], weights.shape()[1]};
  step.packed[1] = true;
  Packed& shared = step.engine.packed[{step.node.inputs[1], op.transpose_y}];
  return std::make_unique<LinearKernel>(step, size, Product::Weights{weights.data(), &shared}, Product::Fusion{});
}

}  // namespace attn::backends::cpu
