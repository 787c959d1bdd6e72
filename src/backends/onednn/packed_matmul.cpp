#include "packed_matmul.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "convert.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::onednn {
namespace {

/// The largest size of a number, as its bits: those of a float without the sign are ordered, NaN above infinity.
ATTN_VECTORIZED std::uint32_t largest_bits(const std::uint32_t* x, std::int64_t size) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t magnitude = x[i] & 0x7FFFFFFFU;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}
ATTN_VECTORIZED std::uint32_t largest_bits(const std::uint16_t* x, std::int64_t size) {
  std::uint16_t largest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto magnitude = static_cast<std::uint16_t>(x[i] & 0x7FFFU);
    largest = magnitude > largest ? magnitude : largest;
  }
  return static_cast<std::uint32_t>(largest) << 16;
}

ATTN_VECTORIZED void add_to(float* y, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] += x[i];
}

}  // namespace

PackedMatmul::PackedMatmul(Engine& engine, const Size& size, DType dtype, const void* weights, const Fusion& fusion)
    : engine_(engine), size_(size), dtype_(dtype) {
  const auto operations = [](double a, double b, double c) { return 2.0 * a * b * c; };
  threads_ = threads_for(
      operations(static_cast<double>(size.rows), static_cast<double>(size.depth), static_cast<double>(size.width)),
      engine.threads);
  if (fusion.bias != nullptr) {
    const dnnl::memory::desc description = plain({1, size.width}, dtype);
    bias_ = packed(engine, description, fusion.bias, description);
  }
  const auto eltwise = eltwise_of(fusion.activation);
  if (fusion.activation.fn != graph::UnaryFn::linear && !eltwise) activation_.emplace(fusion.activation);
  adds_residual_ = fusion.residual && !activation_;
  residual_after_ = fusion.residual && activation_;
  product_ = make_product(eltwise, weights);
  if (is_plain_relu(fusion.activation)) make_relu_product(weights, fusion.bias);
}

PackedMatmul::Product PackedMatmul::make_product(const std::optional<Eltwise>& eltwise, const void* weights) {
  const ThreadScope scope(threads_);
  const dnnl::memory::desc x = plain({size_.rows, size_.depth}, dtype_);
  const dnnl::memory::desc y = plain({size_.rows, size_.width}, dtype_);
  const dnnl::memory::desc any({size_.depth, size_.width}, data_type_of(dtype_), dnnl::memory::format_tag::any);
  const dnnl::memory::desc w = weights_ ? weights_.get_desc() : any;

  dnnl::post_ops after;
  if (eltwise) after.append_eltwise(eltwise->algorithm, eltwise->alpha, eltwise->beta);
  if (adds_residual_) after.append_binary(dnnl::algorithm::binary_add, y);
  dnnl::primitive_attr attributes = user_scratchpad();
  attributes.set_post_ops(after);

  const auto description = bias_ ? dnnl::matmul::primitive_desc(engine_.engine, x, w, bias_.get_desc(), y, attributes)
                                 : dnnl::matmul::primitive_desc(engine_.engine, x, w, y, attributes);
  if (!weights_) {
    weights_ = packed(engine_, plain({size_.depth, size_.width}, dtype_), weights, description.weights_desc());
  }
  Product product{Primitive(engine_, threads_)};
  product.primitive.set(dnnl::matmul(description), description.scratchpad_desc());
  product.primitive.bind(DNNL_ARG_WEIGHTS, weights_);
  if (bias_) product.primitive.bind(DNNL_ARG_BIAS, bias_);
  product.x = product.primitive.bind(DNNL_ARG_SRC, x);
  product.y = product.primitive.bind(DNNL_ARG_DST, y);
  if (adds_residual_) {
    const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(eltwise ? 1 : 0) | DNNL_ARG_SRC_1;
    product.residual = product.primitive.bind(argument, y);
  }
  return product;
}

void PackedMatmul::make_relu_product(const void* weights, const void* bias) {
  // |Σ x·w + b| ≤ max|x|·max Σ|w| + max|b|, and so is every partial sum.
  const auto number = [&](const void* from, std::int64_t i) {
    return std::abs(Tensor::load(dtype_, static_cast<const std::byte*>(from), i));
  };
  std::vector<double> sums(static_cast<std::size_t>(size_.width), 0.0);
  for (std::int64_t i = 0; i < size_.depth * size_.width; ++i) {
    sums[static_cast<std::size_t>(i % size_.width)] += number(weights, i);
  }
  double largest_sum = 0.0, largest_bias = 0.0;
  for (std::int64_t m = 0; m < size_.width; ++m) {
    const double sum = sums[static_cast<std::size_t>(m)], b = bias == nullptr ? 0.0 : number(bias, m);
    if (!std::isfinite(sum) || !std::isfinite(b)) return;
    largest_sum = std::max(largest_sum, sum);
    largest_bias = std::max(largest_bias, b);
  }
  constexpr double kHalf = std::numeric_limits<float>::max() / 2;
  const double largest = (kHalf - largest_bias) / std::max(largest_sum, 1.0);
  if (largest <= 0.0) return;
  largest_x_ = static_cast<float>(largest);
  relu_product_ = make_product(Eltwise{dnnl::algorithm::eltwise_relu}, weights);
}

bool PackedMatmul::is_bounded(const void* x) const {
  std::atomic<bool> bounded = true;
  const auto limit = std::bit_cast<std::uint32_t>(largest_x_);
  parallel_ranges(size_.rows * size_.depth, threads_, [&](std::int64_t begin, std::int64_t end) {
    const std::uint32_t bits = dtype_ == DType::float32
                                   ? largest_bits(static_cast<const std::uint32_t*>(x) + begin, end - begin)
                                   : largest_bits(static_cast<const std::uint16_t*>(x) + begin, end - begin);
    if (bits > limit) bounded = false;
  });
  return bounded;
}

void PackedMatmul::run(Product& product, const void* x, const void* residual, void* y) const {
  // oneDNN's memory objects know no const.
  product.primitive.set_address(product.x, const_cast<void*>(x));
  product.primitive.set_address(product.y, y);
  if (adds_residual_) product.primitive.set_address(product.residual, const_cast<void*>(residual));
  product.primitive.run();
}

void PackedMatmul::run(const void* x, const void* residual, void* y) {
  if (relu_product_ && !residual_after_ && is_bounded(x)) {
    run(*relu_product_, x, residual, y);
    return;
  }
  run(*product_, x, residual, y);
  if (activation_) finish(residual, y);
}

void PackedMatmul::finish(const void* residual, void* y) const {
  parallel_ranges(size_.rows * size_.width, threads_, [&](std::int64_t begin, std::int64_t end) {
    if (dtype_ == DType::float32) {
      float* const part = static_cast<float*>(y) + begin;
      (*activation_)(part, part, end - begin);
      if (residual_after_) add_to(part, static_cast<const float*>(residual) + begin, end - begin);
      return;
    }
    std::array<float, 512> block, other;
    for (std::int64_t i = begin; i < end; i += static_cast<std::int64_t>(block.size())) {
      const std::int64_t count = std::min(end - i, static_cast<std::int64_t>(block.size()));
      std::uint16_t* const part = static_cast<std::uint16_t*>(y) + i;
      widen(dtype_, part, block.data(), count);
      (*activation_)(block.data(), block.data(), count);
      if (residual_after_) {
        widen(dtype_, static_cast<const std::uint16_t*>(residual) + i, other.data(), count);
        add_to(block.data(), other.data(), count);
      }
      narrow(dtype_, block.data(), part, count);
    }
  });
}

std::int64_t PackedMatmul::bytes() const {
  std::int64_t sum = static_cast<std::int64_t>(weights_.get_desc().get_size()) + product_->primitive.bytes();
  if (relu_product_) sum += relu_product_->primitive.bytes();
  return sum;
}

}  // namespace attn::backends::onednn
