// The options of a trainer.
#pragma once

#include <cstdint>

#include "attn/backends/backend.h"
#include "attn/base/dtype.h"

namespace attn::train {

/// The square of an embedding table's gradient, for rules that use squared gradients.
enum class TableGradient : std::uint8_t {
  entries,  ///< each gathered row, before rows of the same index are added: Keras on TensorFlow
  dense     ///< the sum of the rows of the same index: Keras on JAX and PyTorch
};

struct TrainerOptions {
  /// Data parallelism: each rank computes its own rows of a batch, and all ranks end with the same weights. Every rank
  /// gets whole batches and makes the same calls in the same order.
  backends::CompileOptions compile;
  TableGradient tables = TableGradient::entries;
  /// Recompute activations in the backward pass instead of storing them: same results, less memory.
  bool recompute = false;
  /// The dtype of gradients sent between ranks. float32 sends exact sums; half precision rounds them and halves the
  /// bytes.
  DType reduce_dtype = DType::float32;
  /// If above 0: a batch is split into this number of parts (at most one for each row), and their sums are added in a
  /// fixed order. Results are then bitwise equal for any number of ranks, and for one process without ranks.
  int parts = 0;
  /// Each rank holds the optimizer state of one shard of the weights, updates that shard, and sends it to the other
  /// ranks.
  bool shares_optimizer = false;
};

}  // namespace attn::train
