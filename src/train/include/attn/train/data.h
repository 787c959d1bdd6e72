// What a model is trained on.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// Arrays with a row for each sample; they may lie in mapped files.
class Data {
 public:
  /// All have as many rows.
  explicit Data(std::map<std::string, Tensor> arrays);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Copies of these rows, in this order.
  [[nodiscard]] Batch gather(std::span<const std::int64_t> rows) const;

 private:
  std::map<std::string, Tensor> arrays_;
  std::int64_t rows_ = 0;
};

/// A weight for each row, by the class of its target: an integer, or the largest of the last axis; 1 for a class that
/// has none (keras/src/trainers/data_adapters/data_adapter_utils.py). Throws Error (bad_input) where a row has more
/// than one class.
[[nodiscard]] Tensor class_weights(const Tensor& targets, const std::map<std::int64_t, double>& weights);

/// The order of the rows in an epoch, by the seed and the epoch alone: Fisher and Yates from the last row down, by the
/// uniform numbers of RandomStream(seed, "shuffle:<epoch>").
[[nodiscard]] std::vector<std::int64_t> permutation(std::uint64_t seed, std::int64_t epoch, std::int64_t rows);

/// An order in which the rows of a block of `block` stay together, for files that are slow to jump in: the permutation
/// of the blocks, and in each, by the numbers of the same stream that follow, the rows likewise. The last block may be
/// a short one.
[[nodiscard]] std::vector<std::int64_t> permutation_of_blocks(std::uint64_t seed, std::int64_t epoch, std::int64_t rows,
                                                              std::int64_t block);

}  // namespace attn::train
