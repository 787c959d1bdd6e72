#include "product.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "device.h"
#include "time_limits.h"

namespace attn::cuda {
namespace {

using backends::MatmulPrecision;

constexpr int kProposals = 48;  // number of cuBLASLt's algorithms to measure

// Maximum batch and side. Above them, cuBLASLt's kernels are launched with more blocks along an axis than CUDA allows.
constexpr std::int64_t kMostBatch = 65535;
constexpr std::int64_t kMostSide = kMostBatch * 32;

struct DestroyDescription {
  void operator()(cublasLtMatmulDesc_t it) const { (void)cublasLtMatmulDescDestroy(it); }
};
struct DestroyLayout {
  void operator()(cublasLtMatrixLayout_t it) const { (void)cublasLtMatrixLayoutDestroy(it); }
};
struct DestroyPreference {
  void operator()(cublasLtMatmulPreference_t it) const { (void)cublasLtMatmulPreferenceDestroy(it); }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, DestroyDescription>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, DestroyLayout>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, DestroyPreference>;

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const Product& product) {
  if (product.dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  if (product.dtype == DType::float32) {
    if (product.precision == MatmulPrecision::high) return CUBLAS_COMPUTE_32F_FAST_TF32;
    if (product.precision == MatmulPrecision::medium) return CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  return CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue_of(const Product& product) {
  const bool bias = product.bias != nullptr;
  switch (product.epilogue) {
    case Epilogue::none:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Epilogue::gelu_tanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

constexpr std::int64_t kLine = 256;

/// Returns the alignment of the address in bytes, at most 256. The choice of an algorithm depends on it.
unsigned alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits == 0 ? 256U : static_cast<unsigned>(std::min<std::uintptr_t>(bits & -bits, 256));
}

/// A GEMM as a cuBLASLt call. cuBLASLt uses column-major matrices, in which a row-major matrix is its own transpose.
/// The call therefore computes outᵀ = bᵀ·aᵀ, with b as its A and a as its B.
class Call {
 public:
  Call(const Product& product, cublasLtHandle_t handle) : product_(product), handle_(handle) {
    const bool wide = product.dtype == DType::float64;
    cublasLtMatmulDesc_t description = nullptr;
    check(cublasLtMatmulDescCreate(&description, compute_type(product), wide ? CUDA_R_64F : CUDA_R_32F),
          "describing a product");
    description_.reset(description);
    set(CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product));
    if (product.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
    b_ = layout(product.k, product.n, product.transpose_b, product.b_stride);
    a_ = layout(product.m, product.k, product.transpose_a, product.a_stride);
    out_ = layout(product.m, product.n, false, product.m * product.n);
  }

  [[nodiscard]] std::vector<cublasLtMatmulAlgo_t> proposals() const {
    cublasLtMatmulPreference_t made = nullptr;
    check(cublasLtMatmulPreferenceCreate(&made), "requesting an algorithm");
    const Preference preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      check(cublasLtMatmulPreferenceSetAttribute(made, what, &value, sizeof(value)), "requesting an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kWorkspaceBytes));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(alignment_of(product_.b)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(alignment_of(product_.a)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(alignment_of(c())));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(alignment_of(product_.out)));
    std::array<cublasLtMatmulHeuristicResult_t, kProposals> results{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle_, description_.get(), b_.get(), a_.get(), out_.get(), out_.get(), made,
                                       kProposals, results.data(), &found);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    if (status != CUBLAS_STATUS_SUCCESS) return algorithms;
    for (int i = 0; i < found; ++i) {
      const auto& result = results[static_cast<std::size_t>(i)];
      if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(result.algo);
    }
    return algorithms;
  }

  /// Returns whether this cuBLASLt accepts an algorithm from a file for this product.
  [[nodiscard]] bool takes(const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    return cublasLtMatmulAlgoCheck(handle_, description_.get(), b_.get(), a_.get(), out_.get(), out_.get(), &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= static_cast<std::size_t>(kWorkspaceBytes);
  }

  [[nodiscard]] const Product& product() const { return product_; }
  void set_bias(const std::byte* bias) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

  [[nodiscard]] ProductOperands operands() const { return {product_.a, product_.b, product_.residual, product_.out}; }

  /// Returns operands for a measurement: memory of the tuning space after that of the previous call, with the alignment
  /// of the real operands. If the space is too small, returns the real operands.
  [[nodiscard]] ProductOperands operands(const TuningSpace& space, int call) const {
    const std::int64_t size = bytes_of(product_.dtype), batch = product_.batch;
    const auto bytes = [&](std::int64_t matrix, std::int64_t stride) {
      return ((stride == 0 ? matrix : stride * (batch - 1) + matrix) * size + 2 * kLine - 1) / kLine * kLine;
    };
    const std::int64_t a = bytes(product_.m * product_.k, product_.a_stride);
    const std::int64_t b = bytes(product_.k * product_.n, product_.b_stride);
    const std::int64_t out = bytes(product_.m * product_.n, product_.m * product_.n);
    const std::int64_t all = a + b + 2 * out, places = space.bytes() / all;
    if (places == 0) return operands();
    std::byte* const first = space.data() + call % places * all;
    const auto like = [](std::byte* place, const std::byte* real) {
      return place + reinterpret_cast<std::uintptr_t>(real) % kLine;
    };
    return {like(first, product_.a), like(first + a, product_.b),
            product_.residual == nullptr ? nullptr : like(first + a + b + out, product_.residual),
            like(first + a + b, product_.out)};
  }

  [[nodiscard]] cublasStatus_t run(const cublasLtMatmulAlgo_t& algorithm, const ProductOperands& given,
                                   std::byte* workspace, cudaStream_t stream) const {
    const bool wide = product_.dtype == DType::float64;
    const double one = 1.0, add = given.residual != nullptr ? 1.0 : 0.0;
    const auto one_f = static_cast<float>(one), add_f = static_cast<float>(add);
    return cublasLtMatmul(handle_, description_.get(), wide ? static_cast<const void*>(&one) : &one_f, given.b,
                          b_.get(), given.a, a_.get(), wide ? static_cast<const void*>(&add) : &add_f,
                          given.residual != nullptr ? given.residual : given.out, out_.get(), given.out, out_.get(),
                          &algorithm, workspace, static_cast<std::size_t>(kWorkspaceBytes), stream);
  }

 private:
  [[nodiscard]] const std::byte* c() const { return product_.residual != nullptr ? product_.residual : product_.out; }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t what, T value) {
    check(cublasLtMatmulDescSetAttribute(description_.get(), what, &value, sizeof(value)), "describing a product");
  }

  /// Returns the column-major layout of a row-major (rows, columns) matrix, which may be stored transposed.
  [[nodiscard]] Layout layout(std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t stride) const {
    if (transposed) std::swap(rows, columns);
    cublasLtMatrixLayout_t made = nullptr;
    check(cublasLtMatrixLayoutCreate(&made, type_of(product_.dtype), static_cast<std::uint64_t>(columns),
                                     static_cast<std::uint64_t>(rows), columns),
          "describing a matrix");
    Layout result(made);
    if (product_.batch > 1) {
      const auto count = static_cast<std::int32_t>(product_.batch);
      check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
            "describing a matrix");
      check(
          cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
          "describing a matrix");
    }
    return result;
  }

  Product product_;
  cublasLtHandle_t handle_;
  Description description_;
  Layout a_, b_, out_;
};

/// A call with its algorithms, best first.
struct Prepared {
  Call call;
  std::vector<cublasLtMatmulAlgo_t> algorithms;

  /// Runs the first algorithm; one that cannot be launched is replaced by the next.
  void launch(const ProductOperands& operands, std::byte* workspace, cudaStream_t stream) {
    for (;;) {
      const cublasStatus_t status = call.run(algorithms.front(), operands, workspace, stream);
      if (status == CUBLAS_STATUS_SUCCESS) return;
      if (algorithms.size() == 1) check(status, "a product");
      algorithms.erase(algorithms.begin());
    }
  }

  void prefer(const cublasLtMatmulAlgo_t& algorithm) { algorithms.insert(algorithms.begin(), algorithm); }
};

/// Returns whether the product keeps NaN. A library may use fmax(x, 0) for relu, which turns NaN into 0.
bool keeps_nan(Prepared& prepared, std::byte* workspace, cudaStream_t stream) {
  const Product& product = prepared.call.product();
  const std::int64_t size = bytes_of(product.dtype), bytes = (product.bias ? product.n : product.m * product.k) * size;
  DeviceBytes nan;
  try {
    nan = allocate_device(bytes);
  } catch (const Error& error) {
    if (error.code() != ExitCode::no_memory) throw;
    return false;
  }
  const auto doing = "trying a product over NaN";
  check(cudaMemsetAsync(nan.get(), 0xFF, static_cast<std::size_t>(bytes), stream), doing);  // NaN in every dtype
  ProductOperands operands = prepared.call.operands();
  if (product.bias != nullptr) {
    prepared.call.set_bias(nan.get());
  } else {
    operands.a = nan.get();
  }
  prepared.launch(operands, workspace, stream);
  if (product.bias != nullptr) prepared.call.set_bias(product.bias);
  std::array<std::byte, 2 * sizeof(double)> ends{};  // the first and the last result
  const std::byte* const last = product.out + (product.m * product.n - 1) * size;
  for (const std::byte* from : {static_cast<const std::byte*>(product.out), last}) {
    check(cudaMemcpyAsync(ends.data() + (from == product.out ? 0 : size), from, static_cast<std::size_t>(size),
                          cudaMemcpyDeviceToHost, stream),
          doing);
  }
  await(stream, time_limits().seconds, doing);
  const auto is_nan = [&](std::int64_t i) { return std::isnan(Tensor::load(product.dtype, ends.data(), i)); };
  return is_nan(0) && (product.m * product.n == 1 || is_nan(1));
}

PreparedProduct declined(std::string why) {
  PreparedProduct none;
  none.why_not = std::move(why);
  return none;
}

PreparedProduct prepare_call(const Product& product, const Device& device, Scratch& scratch) {
  auto prepared = std::make_shared<Prepared>(Prepared{Call(product, device.blas()), {}});
  prepared->algorithms = prepared->call.proposals();
  if (prepared->algorithms.empty()) return declined(fmt::format("cuBLASLt has no algorithm for {}", product.key()));
  scratch.reserve(kWorkspaceBytes);
  PreparedProduct result;
  result.key = product.key();
  result.launch = [prepared, &scratch](cudaStream_t stream) {
    prepared->launch(prepared->call.operands(), scratch.data, stream);
  };
  result.operands = [prepared](const TuningSpace& space, int call) { return prepared->call.operands(space, call); };
  result.launch_with = [prepared, &scratch](const ProductOperands& given, cudaStream_t stream) {
    prepared->launch(given, scratch.data, stream);
  };
  result.keeps_nan = [prepared, &scratch](cudaStream_t stream) { return keeps_nan(*prepared, scratch.data, stream); };
  result.tune = [prepared, &scratch, key = product.key()](const Tuning& tuning) {
    if (const auto known = tuning.cache.find(key); known && prepared->call.takes(*known)) {
      prepared->prefer(*known);
      return;
    }
    std::optional<double> best;
    cublasLtMatmulAlgo_t fastest{};
    for (const cublasLtMatmulAlgo_t& algorithm : prepared->algorithms) {
      const auto seconds = seconds_of(
          [&](int i) {
            const ProductOperands given = prepared->call.operands(tuning.space, i);
            return prepared->call.run(algorithm, given, scratch.data, tuning.stream) == CUBLAS_STATUS_SUCCESS;
          },
          tuning.stream);
      if (!seconds || (best && *seconds >= *best)) continue;
      best = seconds;
      fastest = algorithm;
    }
    if (!best) return;  // launch() then reports the reason
    prepared->prefer(fastest);
    tuning.cache.store(key, fastest);
  };
  return result;
}

}  // namespace

std::string Product::key() const {
  const auto align = [](const void* address) { return alignment_of(address); };
  return fmt::format("{} {}x{}x{} b{} {}{} s{},{} {}{}{} p{} a{},{},{},{},{}", name_of(dtype), m, n, k, batch,
                     transpose_a ? "T" : "N", transpose_b ? "T" : "N", a_stride, b_stride,
                     bias != nullptr ? "bias" : "", residual != nullptr ? "+residual" : "",
                     epilogue == Epilogue::relu        ? "+relu"
                     : epilogue == Epilogue::gelu_tanh ? "+gelu_tanh"
                                                       : "",
                     static_cast<int>(precision), align(a), align(b), align(out), align(residual), align(bias));
}

PreparedProduct prepare_product(const Product& product, const Device& device, Scratch& scratch) {
  if (!is_floating(product.dtype)) return declined(fmt::format("cuBLASLt has no {} products", name_of(product.dtype)));
  if (std::max({product.m, product.n, product.k}) > kMostSide) {
    return declined(fmt::format("a side is beyond the {} that cuBLASLt takes", kMostSide));
  }
  if (product.k == 0) return declined("nothing to sum over");
  if (product.batch <= kMostBatch) return prepare_call(product, device, scratch);
  std::vector<Launch> launches;
  std::vector<std::function<void(const Tuning&)>> tunes;
  const std::int64_t size = bytes_of(product.dtype);
  for (std::int64_t first = 0; first < product.batch; first += kMostBatch) {
    Product part = product;
    part.batch = std::min(kMostBatch, product.batch - first);
    part.a += first * product.a_stride * size;
    part.b += first * product.b_stride * size;
    part.out += first * product.m * product.n * size;
    PreparedProduct prepared = prepare_call(part, device, scratch);
    if (!prepared.launch) return prepared;
    launches.push_back(std::move(prepared.launch));
    tunes.push_back(std::move(prepared.tune));
  }
  PreparedProduct result;
  result.launch = [launches](cudaStream_t stream) {
    for (const Launch& launch : launches) launch(stream);
  };
  result.tune = [tunes](const Tuning& tuning) {
    for (const auto& tune : tunes) tune(tuning);
  };
  return result;
}

}  // namespace attn::cuda
