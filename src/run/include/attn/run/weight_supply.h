// Weights for the executables of one model, which are freed once they are packed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/plan/plan.h"

namespace attn::run {

/// Not thread-safe.
class WeightSupply {
 public:
  /// Loads all weights, in the order of the graphs' weights.
  using Load = std::function<std::vector<Tensor>()>;

  /// Takes loaded weights; without `reload` all of them are kept.
  WeightSupply(std::vector<Tensor> weights, Load reload) : weights_(std::move(weights)), reload_(std::move(reload)) {}
  /// Loads the weights for the first plan.
  explicit WeightSupply(Load load) : reload_(std::move(load)) {}

  /// Returns the weights for an executable of the plan, which is compiled with these options. It gets the only
  /// reference to weights that it packs, so that they are freed. Weights that are already in the store of the options
  /// are left out, and loaded again where another layout is needed.
  [[nodiscard]] std::vector<Tensor> weights_for(const backends::Backend& backend, const plan::Plan& plan,
                                                const backends::CompileOptions& options);

 private:
  [[nodiscard]] std::vector<Tensor> first(const plan::Plan& plan, int threads);

  std::vector<Tensor> weights_;
  std::vector<std::weak_ptr<std::byte>> read_still_;  // the bytes of each weight, as long as an executable uses them
  // Weights that are read as they are stored, that are too small to be worth a reload of all, or that were reloaded.
  std::vector<Tensor> kept_;
  Load reload_;
};

}  // namespace attn::run
