// Measurement of products: memory beside the model's, and the cache of results.
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

/// Rotating operands for measurements, so that none is in the L2 cache from the previous call: several times its size,
/// filled with random numbers (the speed of tensor cores depends on the data). Empty if it does not fit in memory.
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
  std::map<std::string, bool>& races;  ///< by product: whether our own kernel was faster
};

constexpr int kCallsToMeasure = 20;  ///< in one recording, to exclude the host's launch overhead

/// The device time of a call: the fastest of several replays of call(0) to call(kCallsToMeasure − 1) in a row. Nothing
/// if one of them cannot be launched.
[[nodiscard]] std::optional<double> seconds_of(const std::function<bool(int)>& call, cudaStream_t stream);

/// Measurements of products that run once scratch memory exists.
using TuneLater = std::vector<std::function<void(const Tuning&)>>;

/// Fills memory with words that are numbers of magnitude near 1 in float16, bfloat16, float32 and float64, of either
/// sign.
void fill_with_numbers(std::byte* data, std::int64_t bytes, cudaStream_t stream);

}  // namespace attn::cuda
