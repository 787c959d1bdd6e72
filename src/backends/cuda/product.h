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

/// What cuBLASLt applies to a product before it is stored, in this order: + residual, + bias, then the function.
enum class Epilogue : std::uint8_t { none, relu, gelu_tanh };

/// out (m, n) = epilogue(a (m, k) · b (k, n) + residual + bias), row-major, `batch` times.
struct Product {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DType dtype = DType::float32;             ///< of everything
  bool transpose_a = false;                 ///< a is stored (k, m)
  bool transpose_b = false;                 ///< b is stored (n, k)
  std::int64_t a_stride = 0, b_stride = 0;  ///< elements from one of the batch to the next; 0: the same for all
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* out = nullptr;
  const std::byte* bias = nullptr;      ///< (n), or null
  const std::byte* residual = nullptr;  ///< (m, n), or null; batch 1 only
  Epilogue epilogue = Epilogue::none;
  backends::MatmulPrecision precision = backends::MatmulPrecision::highest;

  /// Everything that an algorithm is chosen by, as one word: the key of the tuning cache.
  [[nodiscard]] std::string key() const;
};

/// How many bytes of scratch an algorithm may use.
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

/// The algorithms that were measured to be fastest, by Product::key(), in a file for one GPU model and one cuBLASLt.
class TuningCache {
 public:
  /// Reads the file for the GPU, where there is one; one that cannot be read counts as none. It lies in `folder`.
  TuningCache(std::string folder, const Device& device);

  [[nodiscard]] std::optional<cublasLtMatmulAlgo_t> find(const std::string& key) const;
  void store(const std::string& key, const cublasLtMatmulAlgo_t& algorithm);
  /// Writes what was stored, beside and then over the file. A folder that cannot be written to is passed over: the
  /// next run measures again.
  void save() const;
  [[nodiscard]] const std::string& path() const { return path_; }

  /// $XDG_CACHE_HOME/attn, or ~/.cache/attn.
  [[nodiscard]] static std::string default_folder();

 private:
  struct Entries;
  std::string path_;
  std::shared_ptr<Entries> entries_;
};

/// The memory of a product's matrices.
struct ProductOperands {
  const std::byte *a, *b, *residual;  ///< residual: null where there is none
  std::byte* out;
};

/// A product made ready, or why cuBLASLt declines. The algorithm is the first of those that cuBLASLt proposes that can
/// be launched, which is the same at every run; after `tune` it is the one that the cache knows, else the fastest.
struct PreparedProduct {
  Launch launch;
  std::function<void(const Tuning&)> tune;  ///< needs scratch, and writes the real operands' memory
  /// What to measure with: places that no call before has read, as far as there is room. The batch is within what
  /// cuBLASLt takes at once, as for the next two.
  std::function<ProductOperands(const TuningSpace&, int call)> operands;
  std::function<void(const ProductOperands&, cudaStream_t)> launch_with;
  /// Runs it once over NaN in the place of the bias, or of a where there is none: whether NaN is what comes out. False
  /// too where there is no memory to try it. As tune; the batch is 1.
  std::function<bool(cudaStream_t)> keeps_nan;
  std::string key;  ///< Product::key()
  std::string why_not;
};
[[nodiscard]] PreparedProduct prepare_product(const Product& product, const Device& device, Scratch& scratch);

}  // namespace attn::cuda
