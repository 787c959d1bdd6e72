// What products are measured with: memory beside the model's, and the cache that keeps what was found.
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

/// Operands for measurements in turn, so that none is in the L2 cache from the call before: several times its size,
/// full of random numbers (the speed of tensor cores depends on them). Empty where there is no room for it.
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

constexpr int kCallsToMeasure = 20;  ///< in a recording, so that the host's time for a launch does not count

/// What a call takes on the device: the fastest of some replays of call(0) to call(kCallsToMeasure − 1) in a row.
/// Nothing where one says that it cannot be launched.
[[nodiscard]] std::optional<double> seconds_of(const std::function<bool(int)>& call, cudaStream_t stream);

/// What measures products once scratch is there.
using TuneLater = std::vector<std::function<void(const Tuning&)>>;

/// Words that are numbers of magnitude near 1 in float16, bfloat16, float32 and float64, of either sign.
void fill_with_numbers(std::byte* data, std::int64_t bytes, cudaStream_t stream);

}  // namespace attn::cuda
