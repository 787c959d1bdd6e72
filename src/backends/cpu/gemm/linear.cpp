// Dense maps and matrix products with a weight.
#include "dynamic_gemm_bfloat16.h"
#include "gemv.h"
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

ProductQuery query_of(const StepInfo& step) {
  const auto& op = step.op<graph::Linear>();
  return {product_size(op, step.inputs[0].shape, step.inputs[1].shape), step.inputs[0].dtype, step.inputs[1].dtype,
          step.machine.multiplication};
}

std::string why_not_linear(const StepInfo& step) {
  if (!step.is_fixed(1)) return "the kernel is not a weight";
  if (step.op<graph::Linear>().bias && !step.is_fixed(2)) return "the bias is not a weight";
  return find_product(query_of(step)) == nullptr ? "no tiles for it" : "";
}

MemoryNeeds linear_needs(const StepInfo& step) {
  MemoryNeeds needs;
  add_shared_product(step, query_of(step), 1, false, needs);
  needs.copied.assign(step.inputs.size(), false);
  needs.copied[1] = true;
  if (step.op<graph::Linear>().bias) needs.copied[2] = true;
  return needs;
}

std::unique_ptr<Kernel> make_linear(const Step& step) {
  const auto& op = step.op<graph::Linear>();
  PackedWeight& packed = step.packed(1, false);
  return std::make_unique<LinearKernel>(
      step, query_of(step).size, Product::Weights{step.fixed[1].data(), &packed, step.inputs[1].dtype},
      Product::Fusion{op.bias ? step.fixed[2].data() : nullptr, op.activation, op.residual, step.handover});
}

DynamicGemmSize dynamic_gemm_size(const StepInfo& step) {
  const Product::Size size = product_size(step.op<graph::Linear>(), step.inputs[0].shape, step.inputs[1].shape);
  return {size.rows, size.depth, size.width};
}

/// A dense map with a kernel that changes between runs.
template <typename Gemm, typename Number>
class DynamicLinear final : public Kernel {
 public:
  explicit DynamicLinear(const Step& step)
      : x_(step.inputs[0]),
        kernel_(step.inputs[1]),
        y_(step.outputs[0]),
        product_(step.engine, dynamic_gemm_size(step), step.op<graph::Linear>().activation,
                 step.op<graph::Linear>().residual) {
    const auto& op = step.op<graph::Linear>();
    if (op.bias) bias_ = step.inputs[2];
    if (op.residual) residual_ = step.inputs.back();
  }

  void run() override {
    const auto numbers = [](const Operand& operand) {
      return operand.place == nullptr ? nullptr : operand.data<const Number>();
    };
    product_.run(x_.data<Number>(), kernel_.data<Number>(), numbers(bias_), numbers(residual_), y_.data<Number>());
  }
  [[nodiscard]] std::string_view name() const override { return product_.name(); }
  [[nodiscard]] std::int64_t bytes() const override { return product_.bytes(); }

 private:
  Operand x_, kernel_, bias_, residual_, y_;
  Gemm product_;
};

template <typename Gemm>
MemoryNeeds dynamic_linear_needs(const StepInfo& step) {
  return needs_of_dynamic_gemm<Gemm>(dynamic_gemm_size(step), step.machine.threads);
}

std::string why_not_half_linear(const StepInfo& step) {
  return why_not_dynamic_gemm_bfloat16(step.inputs[0].dtype, step.machine.multiplication);
}

/// Returns whether the product also supports the kernel in half precision with float32 rows.
bool keeps_half(const StepInfo& step, std::size_t input) {
  if (input != 1 || (step.op<graph::Linear>().bias && !step.is_fixed(2))) return false;
  ProductQuery query = query_of(step);
  query.dtype = query.weights = DType::float32;
  const ProductInfo* const product = find_product(query);
  query.weights = step.inputs[input].dtype;
  return find_product(query) == product;
}

/// Returns whether a rank-2 weight is the right operand, so that the product is a dense map.
bool is_by_weight(const StepInfo& step) {
  return step.is_fixed(1) && step.inputs[1].shape.rank() == 2 && step.inputs[0].shape.rank() >= 2 &&
         !step.op<graph::MatMul>().transpose_x;
}

ProductQuery query_of_matmul(const StepInfo& step) {
  const Shape& x = step.inputs[0].shape;
  const Shape& y = step.inputs[1].shape;
  const bool is_transposed = step.op<graph::MatMul>().transpose_y;
  return {{x.slice(0, x.rank() - 1).size(), y[is_transposed ? 1 : 0], y[is_transposed ? 0 : 1]},
          step.inputs[0].dtype,
          step.inputs[1].dtype,
          step.machine.multiplication};
}

std::string why_not_by_weight(const StepInfo& step) {
  return is_by_weight(step) ? "" : "the right side is not a weight of rank 2";
}

MemoryNeeds needs_by_weight(const StepInfo& step) {
  MemoryNeeds needs;
  const ProductQuery query = query_of_matmul(step);
  const bool is_transposed = step.op<graph::MatMul>().transpose_y;
  add_shared_product(step, query, 1, is_transposed, needs);
  if (is_transposed)  // a panel per thread
    needs.making = bytes_times({step.machine.threads, query.size.depth, kPanel, bytes_of(DType::float32)});
  needs.copied = {false, true};
  return needs;
}

std::unique_ptr<Kernel> make_by_weight(const Step& step) {
  const bool is_transposed = step.op<graph::MatMul>().transpose_y;
  PackedWeight& packed = step.packed(1, is_transposed);
  // The weight is missing if other kernels have already packed it.
  return std::make_unique<LinearKernel>(step, query_of_matmul(step).size,
                                        Product::Weights{step.fixed[1].data(), &packed, DType::float32, is_transposed},
                                        Product::Fusion{});
}

/// Returns whether a GEMV reads the stored weight, in float32 or half precision.
bool keeps_stored(const StepInfo& step, std::size_t input) { return input == 1 && why_not_gemv(step).empty(); }

}  // namespace

Kernels kernels_of(const graph::Linear&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32_or_bfloat16, why_not_linear, linear_needs, make_linear, keeps_half},
      {KernelDType::float32_or_bfloat16, why_not_half_linear, dynamic_linear_needs<DynamicGemmBfloat16>,
       make_as<DynamicLinear<DynamicGemmBfloat16, std::uint16_t>>},
      {KernelDType::float32, takes_all, dynamic_linear_needs<DynamicGemm>, make_as<DynamicLinear<DynamicGemm, float>>}};
  return kKernels;
}

Kernels kernels_of(const graph::MatMul&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not_gemv, no_memory, make_gemv, keeps_stored},
      {KernelDType::float32, why_not_by_weight, needs_by_weight, make_by_weight},
      {KernelDType::float32_or_bfloat16, why_not_single_half, single_half_needs, make_single_half},
      {KernelDType::float32, why_not_single, single_needs, make_single},
      {KernelDType::float32, takes_all, matmul_needs, make_matmul}};
  return kKernels;
}

}  // namespace attn::backends::cpu
