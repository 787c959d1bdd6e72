// Problems that every attention kernel is checked with, on the emulator and on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cuda {

/// Broadcasts to (B, N, T, S): each axis is present or has size 1.
struct MaskCase {
  bool batch = true, heads = true, queries = true, keys = true;
  double allowed = 0.7;       ///< fraction of true cells
  std::int64_t rows_off = 0;  ///< every rows_off-th query sees nothing; 0: none
};

struct AttentionCase {
  std::string name;
  std::int64_t B = 1, T = 1, S = 1, N = 1, K = 1, H = 16, V = 16;
  bool causal = false;
  std::int64_t window = 0;
  std::vector<MaskCase> masks = {};
  std::vector<std::int32_t> lengths = {};
  bool packed = false;  ///< query, key and value are slices of one (B, T, N + 2K, H) array
  bool scores = false;
  double amplitude = 1.0;       ///< amplitude of the queries
  bool nan_query = false;       ///< one number of a query is NaN
  std::int64_t misaligned = 0;  ///< elements before the arrays
  bool nan_padding = false;     ///< keys and values after the lengths are NaN
  /// Rows of concatenated sequences; B, T and S follow from them.
  std::vector<std::int32_t> sequences = {};
  int nan_sequence = -1;       ///< all numbers of this one are NaN
  std::int64_t batch_gap = 0;  ///< further elements between batch entries on the device
  bool heavy = false;          ///< run once, in one dtype
  bool crowded = false;        ///< has tens of thousands of blocks, which take an emulator a minute
};

[[nodiscard]] const std::vector<AttentionCase>& attention_cases();

}  // namespace attn::cuda
