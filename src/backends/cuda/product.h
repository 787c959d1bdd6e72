// Matrix products by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attn/backends/backend.h"
#include "attn/base/dtype.h"
#include "kernel.h"
#include "tuning.h"

namespace attn::cuda {

/// The epilogue that cuBLASLt applies to a product. In this order it adds the residual, adds the bias, and applies the
/// function.
enum class Epilogue : std::uint8_t { none, relu, gelu_tanh };

/// out (m, n) = epilogue(a (m, k) · b (k, n) + residual + bias), row-major, `batch` times.
struct Product {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DType dtype = DType::float32;             ///< dtype of all operands
  bool transpose_a = false;                 ///< a is stored (k, m)
  bool transpose_b = false;                 ///< b is stored (n, k)
  std::int64_t a_stride = 0, b_stride = 0;  ///< elements between batch entries; 0: all entries share the matrix
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* out = nullptr;
  const std::byte* bias = nullptr;      ///< (n), or null
  const std::byte* residual = nullptr;  ///< (m, n), or null; batch 1 only
  Epilogue epilogue = Epilogue::none;
  backends::MatmulPrecision precision = backends::MatmulPrecision::highest;

  /// Returns everything that the choice of an algorithm depends on, as one word: the key in the tuning cache.
  [[nodiscard]] std::string key() const;
};

/// Maximum bytes of an algorithm's workspace.
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

/// The fastest measured algorithms by Product::key(), in one file for each GPU model and cuBLASLt version.
class TuningCache {
 public:
  /// Reads the GPU's file in `folder` if there is one; an unreadable file counts as absent.
  TuningCache(std::string folder, const Device& device);

  [[nodiscard]] std::optional<cublasLtMatmulAlgo_t> find(const std::string& key) const;
  void store(const std::string& key, const cublasLtMatmulAlgo_t& algorithm);
  /// Writes the algorithms to a new file that replaces the old one. If the folder cannot be written, nothing happens,
  /// and the next run measures again.
  void save() const;
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Returns $XDG_CACHE_HOME/attn, or ~/.cache/attn.
  [[nodiscard]] static std::string default_folder();

 private:
  struct Entries;
  std::string path_;
  std::shared_ptr<Entries> entries_;
};

/// The memory of a product's operands.
struct ProductOperands {
  const std::byte *a, *b, *residual;  ///< residual is null if there is none
  std::byte* out;
};

/// A prepared product, or the reason why cuBLASLt does not support it. Without tuning, the algorithm is cuBLASLt's
/// first proposal that can be launched, which is the same in every run. After `tune` it is the cached algorithm,
/// otherwise the fastest measured one.
struct PreparedProduct {
  Launch launch;
  std::function<void(const Tuning&)> tune;  ///< needs scratch memory, and overwrites the real operands
  /// Operands for measurements: memory that no previous call has read, as far as the space reaches. Like the next two
  /// members, it requires a batch within cuBLASLt's limit.
  std::function<ProductOperands(const TuningSpace&, int call)> operands;
  std::function<void(const ProductOperands&, cudaStream_t)> launch_with;
  /// Runs the product once with NaN as the bias, or as `a` if there is no bias. Returns whether the result is NaN;
  /// false if there is no memory for the test. Overwrites the real operands, like `tune`. The batch must be 1.
  std::function<bool(cudaStream_t)> keeps_nan;
  std::string key;  ///< Product::key()
  std::string why_not;
};
[[nodiscard]] PreparedProduct prepare_product(const Product& product, const Device& device, Scratch& scratch);

}  // namespace attn::cuda
