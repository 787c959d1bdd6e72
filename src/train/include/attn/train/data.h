// The arrays that a model is trained on.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// Arrays with one row for each sample. They may be memory-mapped files.
class Data {
 public:
  /// Throws Error (bad_input) unless all arrays have the same number of rows.
  explicit Data(std::map<std::string, Tensor> arrays);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Copies these rows, in this order.
  [[nodiscard]] Batch gather(std::span<const std::int64_t> rows) const;

 private:
  std::map<std::string, Tensor> arrays_;
  std::int64_t rows_ = 0;
};

/// Returns a weight for each row, by the class of its target: an integer, or the argmax of the last axis. A class
/// without a weight has 1 (keras/src/trainers/data_adapters/data_adapter_utils.py). Throws Error (bad_input) if a row
/// has more than one class.
[[nodiscard]] Tensor class_weights(const Tensor& targets, const std::map<std::int64_t, double>& weights);

/// Returns the order of the rows in an epoch, which depends only on the seed and the epoch. It is a Fisher–Yates
/// shuffle from the last row down, with uniform numbers of RandomStream(seed, "shuffle:<epoch>").
[[nodiscard]] std::vector<std::int64_t> permutation(std::uint64_t seed, std::int64_t epoch, std::int64_t rows);

/// Returns an order that keeps the rows of a block of `block` together, for files with slow random access. It is a
/// permutation of the blocks, then a permutation inside each block, both drawn from the same stream. The last block may
/// be short.
[[nodiscard]] std::vector<std::int64_t> permutation_of_blocks(std::uint64_t seed, std::int64_t epoch, std::int64_t rows,
                                                              std::int64_t block);

}  // namespace attn::train
