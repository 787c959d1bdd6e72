// cuBLASLt's products by plain loops: sums in double, the epilogue, one rounding.
#include <cublasLt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <thread>

#include "attn/base/tensor.h"
#include "runtime.h"

namespace {

struct Description {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const std::byte* bias = nullptr;
};

struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, stride = 0;
  std::int32_t batch = 1;
};

Description& of(cublasLtMatmulDesc_t handle) { return *reinterpret_cast<Description*>(handle); }
const Layout& of(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<const Layout*>(handle); }

attn::DType dtype_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return attn::DType::float64;
    case CUDA_R_16F:
      return attn::DType::float16;
    case CUDA_R_16BF:
      return attn::DType::bfloat16;
    default:
      return attn::DType::float32;
  }
}

double load(const Layout& layout, const void* data, std::int64_t i) {
  return attn::Tensor::load(dtype_of(layout.type), static_cast<const std::byte*>(data), i);
}

// The precision that tensor cores keep of a float32 operand.
double rounded(double x, cublasComputeType_t compute) {
  auto value = static_cast<float>(x);
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return attn::bfloat16_to_float(attn::float_to_bfloat16(value));
  if (compute != CUBLAS_COMPUTE_32F_FAST_TF32) return x;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= ~((1U << 13) - 1U);
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

bool has_bias(std::uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

double activate(double x, std::uint32_t epilogue) {
  if (epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) {
    return attn::simt::machine().relu_loses_nan ? std::fmax(x, 0.0) : x < 0 ? 0 : x;
  }
  if (epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

void multiply(const Description& description, double alpha, const void* a, const Layout& la, const void* b,
              const Layout& lb, double beta, const void* c, const Layout& lc, void* d, const Layout& ld) {
  const bool ta = description.transpose_a == CUBLAS_OP_T, tb = description.transpose_b == CUBLAS_OP_T;
  const auto rows = static_cast<std::int64_t>(ld.rows), columns = static_cast<std::int64_t>(ld.columns);
  const auto depth = static_cast<std::int64_t>(ta ? la.rows : la.columns);
  for (std::int64_t batch = 0; batch < ld.batch; ++batch) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const double x = load(la, a, batch * la.stride + (ta ? k + i * la.leading : i + k * la.leading));
          const double y = load(lb, b, batch * lb.stride + (tb ? j + k * lb.leading : k + j * lb.leading));
          sum += rounded(x, description.compute) * rounded(y, description.compute);
        }
        sum *= alpha;
        if (beta != 0) sum += beta * load(lc, c, batch * lc.stride + i + j * lc.leading);
        if (has_bias(description.epilogue)) sum += load(ld, description.bias, i);
        attn::Tensor::store(dtype_of(ld.type), static_cast<std::byte*>(d), batch * ld.stride + i + j * ld.leading,
                            activate(sum, description.epilogue));
      }
    }
  }
}

}  // namespace

// NOLINTBEGIN: the names and types are CUDA's.
extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t) { return "an emulated status"; }
size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* handle, cublasComputeType_t compute, cudaDataType_t) {
  *handle = reinterpret_cast<cublasLtMatmulDesc_t>(new Description{compute});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t what,
                                              const void* value, size_t bytes) {
  Description& it = of(handle);
  switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      if (bytes != 4) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&it.transpose_a, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      if (bytes != 4) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&it.transpose_b, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      if (bytes != 4) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&it.epilogue, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      if (bytes != 8) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(&it.bias, value, bytes);
      break;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* handle, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  delete &of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t what,
                                                const void* value, size_t bytes) {
  auto& it = *reinterpret_cast<Layout*>(handle);
  if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4) {
    std::memcpy(&it.batch, value, bytes);
  } else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == 8) {
    std::memcpy(&it.stride, value, bytes);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* handle) {
  *handle = reinterpret_cast<cublasLtMatmulPreference_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

// Three algorithms that compute the same: the number is in the first word.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = wanted < 3 ? wanted : 3;
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    results[i].algo.data[0] = static_cast<std::uint64_t>(i + 1);
    results[i].state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t*) {
  return algo->data[0] >= 1 && algo->data[0] <= 3 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t, cudaStream_t stream) {
  attn::simt::Machine& machine = attn::simt::machine();
  ++machine.products;
  if (algorithm->data[0] == machine.refused_algorithm) return CUBLAS_STATUS_NOT_SUPPORTED;
  machine.largest_batch = std::max(machine.largest_batch, of(ld).batch);
  if (algorithm->data[0] < 1 || algorithm->data[0] > 3 || workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool wide = of(description).compute == CUBLAS_COMPUTE_64F;
  const auto scalar = [&](const void* x) {
    return wide ? *static_cast<const double*>(x) : static_cast<double>(*static_cast<const float*>(x));
  };
  const cudaError_t error = attn::simt::submit(
      stream,
      [=, alpha = scalar(alpha), beta = scalar(beta), description = of(description), la = of(la), lb = of(lb),
       lc = of(lc), ld = of(ld), slow = machine.slow_products] {
        if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        multiply(description, alpha, a, la, b, lb, beta, c, lc, d, ld);
      },
      true);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
// NOLINTEND
