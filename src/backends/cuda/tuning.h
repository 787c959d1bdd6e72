// Measurement of products: memory for operands, and the cache of results.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device.h"

namespace attn::cuda {

class TuningCache;

/// Rotating operands for measurements, so that no operand is in the L2 cache from the previous call. The space is
/// several times as large as that cache, and filled with random numbers, because the speed of tensor cores depends on
/// the data. Empty if it does not fit into memory.
class TuningSpace {
 public:
  TuningSpace(const Device& device, cudaStream_t stream);
  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  DeviceBytes data_;
  std::int64_t bytes_ = 0;
};

struct Tuning {
  cudaStream_t stream = nullptr;
  const TuningSpace& space;
  TuningCache& cache;
  std::map<std::string, bool>& races;  ///< for each product, whether attn's own kernel was faster
};

constexpr int kCallsToMeasure = 20;  ///< calls in one recording, to exclude the host's launch overhead

/// Returns the device time of a call: the fastest of several replays of call(0) to call(kCallsToMeasure − 1), divided
/// by their number. Empty if one of them cannot be launched.
[[nodiscard]] std::optional<double> seconds_of(const std::function<bool(int)>& call, cudaStream_t stream);

/// Measurements of products that run once scratch memory exists.
using TuneLater = std::vector<std::function<void(const Tuning&)>>;

/// Fills memory with words that are numbers of magnitude near 1 in float16, bfloat16, float32 and float64, of either
/// sign.
void fill_with_numbers(std::byte* data, std::int64_t bytes, cudaStream_t stream);

}  // namespace attn::cuda
