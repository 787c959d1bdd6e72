#include "product.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "attn/base/error.h"
#include "device.h"

namespace attn::cuda {
namespace {

using backends::MatmulPrecision;

constexpr int kProposals = 16;  // of cuBLASLt, to measure
constexpr int kTimedRuns = 5;   // of each

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

/// Bytes that the address is a multiple of, at most 256: algorithms are chosen by it.
unsigned alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits == 0 ? 256U : static_cast<unsigned>(std::min<std::uintptr_t>(bits & -bits, 256));
}

/// A product as cuBLASLt wants it told. It knows column-major matrices, and a row-major matrix is its own transpose in
/// that order; so it is asked for outᵀ = bᵀ·aᵀ, with b as its A and a as its B.
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
    check(cublasLtMatmulPreferenceCreate(&made), "asking for a product");
    const Preference preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      check(cublasLtMatmulPreferenceSetAttribute(made, what, &value, sizeof(value)), "asking for a product");
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

  /// Is an algorithm from a file one that this cuBLASLt takes for this product?
  [[nodiscard]] bool takes(const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    return cublasLtMatmulAlgoCheck(handle_, description_.get(), b_.get(), a_.get(), out_.get(), out_.get(), &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= static_cast<std::size_t>(kWorkspaceBytes);
  }

  [[nodiscard]] cublasStatus_t run(const cublasLtMatmulAlgo_t& algorithm, std::byte* workspace,
                                   cudaStream_t stream) const {
    const bool wide = product_.dtype == DType::float64;
    const double one = 1.0, add = product_.residual != nullptr ? 1.0 : 0.0;
    const auto one_f = static_cast<float>(one), add_f = static_cast<float>(add);
    return cublasLtMatmul(handle_, description_.get(), wide ? static_cast<const void*>(&one) : &one_f, product_.b,
                          b_.get(), product_.a, a_.get(), wide ? static_cast<const void*>(&add) : &add_f, c(),
                          out_.get(), product_.out, out_.get(), &algorithm, workspace,
                          static_cast<std::size_t>(kWorkspaceBytes), stream);
  }

 private:
  [[nodiscard]] const std::byte* c() const { return product_.residual != nullptr ? product_.residual : product_.out; }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t what, T value) {
    check(cublasLtMatmulDescSetAttribute(description_.get(), what, &value, sizeof(value)), "describing a product");
  }

  /// A row-major (rows, columns), stored transposed or not, as the column-major matrix that it is.
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

/// A call with its algorithm. The residual may be the output's own memory, so a measurement that runs it again and
/// again must not keep what it wrote; timing does not depend on it, and the plan's next pass writes it anew.
struct Prepared {
  Call call;
  cublasLtMatmulAlgo_t algorithm;
};

}  // namespace

std::string Product::key() const {
  const auto align = [](const void* address) { return alignment_of(address); };
  return fmt::format("{} {}x{}x{} b{} {}{} s{},{} {}{}{} p{} a{},{},{}", name_of(dtype), m, n, k, batch,
                     transpose_a ? "T" : "N", transpose_b ? "T" : "N", a_stride, b_stride,
                     bias != nullptr ? "bias" : "", residual != nullptr ? "+residual" : "",
                     epilogue == Epilogue::relu        ? "+relu"
                     : epilogue == Epilogue::gelu_tanh ? "+gelu_tanh"
                                                       : "",
                     static_cast<int>(precision), align(a), align(b), align(out));
}

PreparedProduct prepare_product(const Product& product, const Device& device, Scratch& scratch) {
  if (!is_floating(product.dtype)) return {{}, {}, fmt::format("cuBLASLt has no {} products", name_of(product.dtype))};
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (product.m >= kMost || product.n >= kMost || product.k >= kMost || product.batch >= kMost) {
    return {{}, {}, "a side of 2^31 or more"};
  }
  if (product.k == 0) return {{}, {}, "nothing to sum over"};
  auto prepared = std::make_shared<Prepared>(Prepared{Call(product, device.blas()), {}});
  const auto proposals = prepared->call.proposals();
  if (proposals.empty()) return {{}, {}, fmt::format("cuBLASLt has no algorithm for {}", product.key())};
  prepared->algorithm = proposals.front();
  scratch.reserve(kWorkspaceBytes);

  PreparedProduct result;
  result.launch = [prepared, &scratch](cudaStream_t stream) {
    check(prepared->call.run(prepared->algorithm, scratch.data, stream), "a product");
  };
  result.tune = [prepared, proposals, &scratch, key = product.key()](cudaStream_t stream, TuningCache& cache) {
    if (const auto known = cache.find(key); known && prepared->call.takes(*known)) {
      prepared->algorithm = *known;
      return;
    }
    const Event from = make_event(), to = make_event();
    double best = 0;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      if (prepared->call.run(proposals[i], scratch.data, stream) != CUBLAS_STATUS_SUCCESS) continue;
      check(cudaEventRecord(from.get(), stream), "timing a product");
      for (int run = 0; run < kTimedRuns; ++run) (void)prepared->call.run(proposals[i], scratch.data, stream);
      check(cudaEventRecord(to.get(), stream), "timing a product");
      const double seconds = seconds_between(from.get(), to.get());
      if (best == 0 || seconds < best) {
        best = seconds;
        prepared->algorithm = proposals[i];
      }
    }
    cache.store(key, prepared->algorithm);
  };
  return result;
}

}  // namespace attn::cuda
