#include "tuning.h"

#include <algorithm>

namespace attn::cuda {

TuningSpace::TuningSpace(const Device& device, cudaStream_t stream) {
  constexpr std::int64_t kTimesCache = 4;
  const std::int64_t wanted = kTimesCache * device.l2_bytes();
  if (wanted > device.free_bytes() / 2) return;
  data_ = allocate_device(wanted);
  bytes_ = wanted;
  fill_with_numbers(data_.get(), bytes_, stream);
}

}  // namespace attn::cuda
