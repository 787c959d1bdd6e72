// Low-rank additions to kernels (LoRA), as Keras's enable_lora makes them and its files keep them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/keras/model.h"

namespace attn::train {

/// The rank and lora_alpha of low-rank additions (LoRA).
struct LowRank {
  std::int64_t rank = 1;
  std::optional<double> alpha;
};
/// Parses "8", or "8,16" with lora_alpha. Throws Error (usage).
[[nodiscard]] LowRank low_rank_of(const std::string& text);

/// Returns a model's config in which the layers Dense, EinsumDense and Embedding whose names match a pattern
/// ("block/dense" in a nested model) have a low-rank addition. Throws Error (usage) if none matches, or one already has
/// an addition.
[[nodiscard]] std::string with_low_rank(const std::string& config, const LowRank& how,
                                        const std::vector<std::string>& patterns);

/// Returns whether exactly the layers that match have such an addition already.
[[nodiscard]] bool has_low_rank(const std::string& config, const LowRank& how,
                                const std::vector<std::string>& patterns);

/// Draws those first factors that are all 0 by their initializer. If both factors of an addition were 0, no gradient
/// would reach either.
void revive(const std::vector<graph::WeightSpec>& specs, std::vector<Tensor>& weights, std::uint64_t seed);

/// The weights in the form of a file of Keras: kernels with the additions, and no factors.
struct StoredWeights {
  std::vector<graph::WeightSpec> specs;
  std::vector<Tensor> weights;
  /// The weights by their index: kernels without the additions, and factors. A resumed training continues with them.
  std::map<int, Tensor> unmerged;
};
/// Converts the weights to the form of a file. The config of `model` contains each lora_alpha.
[[nodiscard]] StoredWeights stored_weights(const std::vector<graph::WeightSpec>& specs,
                                           const std::vector<Tensor>& weights, const keras::Model& model);

}  // namespace attn::train
