// Small GEMMs on a real GPU, whether or not they win the race against cuBLASLt there.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "cases.h"
#include "device.h"
#include "runner.h"
#include "small_product/prepare.h"

namespace attn::test {
namespace {

using graph::UnaryFn;

struct Size {
  Dim M, N, K;
};

class OnDevice {
 public:
  explicit OnDevice(const Tensor& numbers) : data_(cuda::allocate_device(numbers.bytes())) {
    const auto bytes = static_cast<std::size_t>(numbers.bytes());
    cuda::check(cudaMemcpy(data_.get(), numbers.data(), bytes, cudaMemcpyHostToDevice), "copying");
  }
  [[nodiscard]] std::byte* data() const { return data_.get(); }
  void copy_to(Tensor& numbers) const {
    const auto bytes = static_cast<std::size_t>(numbers.bytes());
    cuda::check(cudaMemcpy(numbers.data(), data_.get(), bytes, cudaMemcpyDeviceToHost), "copying");
  }

 private:
  cuda::DeviceBytes data_;
};

/// ‖got − exact‖ / ‖exact‖, exact by sums of doubles.
double error_of(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Tensor& residual, bool gelu,
                const Tensor& got) {
  const Dim M = x.shape()[0], K = x.shape()[1], N = kernel.shape()[1];
  std::vector<double> left(static_cast<std::size_t>(M * K)), sums(static_cast<std::size_t>(N));
  for (Dim i = 0; i < M * K; ++i) left[static_cast<std::size_t>(i)] = x.at(i);
  std::vector<double> right(static_cast<std::size_t>(K * N));
  for (Dim i = 0; i < K * N; ++i) right[static_cast<std::size_t>(i)] = kernel.at(i);
  double difference = 0, norm = 0;
  for (Dim m = 0; m < M; ++m) {
    for (Dim n = 0; n < N; ++n) sums[static_cast<std::size_t>(n)] = bias.at(n);
    for (Dim k = 0; k < K; ++k) {
      const double factor = left[static_cast<std::size_t>(m * K + k)];
      for (Dim n = 0; n < N; ++n)
        sums[static_cast<std::size_t>(n)] += factor * right[static_cast<std::size_t>(k * N + n)];
    }
    for (Dim n = 0; n < N; ++n) {
      const double sum = sums[static_cast<std::size_t>(n)];
      const double exact = (gelu ? 0.5 * sum * std::erfc(-sum / std::sqrt(2.0)) : sum) + residual.at(m * N + n);
      difference += std::pow(got.at(m * N + n) - exact, 2);
      norm += exact * exact;
    }
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("gpu: small products agree with double loops, and repeat bit for bit") {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    fmt::print("gpu cases skipped: small products\n");
    return;
  }
  const cuda::Device device(0);
  if (device.architecture() != 90) return;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (const Size& size : {Size{1, 64, 64},
                             {128, 2304, 768},
                             {128, 768, 768},
                             {128, 3072, 768},
                             {128, 768, 3072},
                             {50, 512, 2048},
                             {65, 72, 1032},
                             {100, 1144, 392},
                             {16, 8448, 256}}) {
      for (const bool gelu : {false, true}) {
        const std::string name = fmt::format("small product {} {}x{}x{}", name_of(dtype), size.M, size.N, size.K);
        CAPTURE(name);
        fmt::print("{}\n", name);
        const auto drawn = [&](const char* what, Shape shape) {
          return draw({what, graph::Unary{}, {{std::move(shape), Numbers::normal, dtype}}})[0];
        };
        const Tensor x = drawn("x", {size.M, size.K}), kernel = drawn("kernel", {size.K, size.N});
        const Tensor bias = drawn("bias", {size.N}), residual = drawn("residual", {size.M, size.N});
        const OnDevice x_there(x), kernel_there(kernel), bias_there(bias), residual_there(residual), out(residual);
        cuda::SmallProduct product;
        product.M = size.M;
        product.N = size.N;
        product.K = size.K;
        product.dtype = dtype;
        product.x = x_there.data();
        product.kernel = kernel_there.data();
        product.bias = bias_there.data();
        product.residual = residual_there.data();
        if (gelu) product.activation.fn = UnaryFn::gelu;
        product.out = out.data();
        product.weights_are_still = true;
        REQUIRE(cuda::why_not_small_product(product, device).empty());
        const cuda::Launch launch = cuda::prepare_small_product(product, device);
        Tensor first(dtype, residual.shape()), again(dtype, residual.shape());
        for (int run = 0; run < 20; ++run) {
          launch(nullptr);
          cuda::check(cudaDeviceSynchronize(), "running a product");
          out.copy_to(run == 0 ? first : again);
          if (run > 0) CHECK(std::equal(first.data(), first.data() + first.bytes(), again.data()));
        }
        // Only the rounding of the result: a half step, 2^-12 or 2^-9 of it.
        CHECK(error_of(x, kernel, bias, residual, gelu, first) <= (dtype == DType::float16 ? 3e-4 : 2.5e-3));
      }
    }
  }
}

}  // namespace attn::test
