#include "attn/library/weights.h"

#include "attn/base/stop.h"
#include "attn/weights/bind.h"
#include "attn/weights/initialize.h"

namespace attn::library {

std::vector<Tensor> load_weights(std::span<const graph::WeightSpec> specs, const std::optional<std::string>& file,
                                 std::uint64_t seed, int threads, const std::function<void(const Tensor&)>& drawn) {
  if (file) return weights::bind(specs, *file);
  std::vector<Tensor> tensors;
  tensors.reserve(specs.size());
  for (const graph::WeightSpec& spec : specs) {
    throw_if_stopped();
    tensors.push_back(weights::initialize(spec, seed, threads));
    if (drawn) drawn(tensors.back());
  }
  return tensors;
}

}  // namespace attn::library
