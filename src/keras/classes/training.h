// What layers do in training and not in a run.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/layer.h"
#include "config/json.h"

namespace attn::keras {

class Call;
class Lowering;

/// What a lowering for training is told, and collects beside the graph.
struct Training {
  bool drops = false;      ///< layers drop numbers and add noise; else they do as if their rates were 0
  std::uint64_t seed = 0;  ///< for layers that have no seed of their own

  /// A variable of a layer that a step changes, and what it becomes.
  struct Update {
    const Layer* layer = nullptr;
    int weight = 0;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Update> updates;
  /// Inputs that each call of a layer that draws random numbers has: how often the layer has drawn, int64 (), or with
  /// `normal_seed` the normal numbers themselves.
  struct Draw {
    std::string layer;
    graph::ValueId value = graph::kNone;
    std::optional<std::int64_t> normal_seed{};
    bool always = false;  ///< Keras draws in evaluations too, and uses nothing of it
  };
  std::vector<Draw> draws;
  std::set<const Layer*> random;  ///< the layers that draw
};

/// Is it a lowering for training in which numbers are dropped at this rate?
[[nodiscard]] bool drops(const Lowering& lowering, double rate);
[[nodiscard]] bool drops(Call& call, double rate);

/// x with numbers dropped, as keras.layers.Dropout does it: kept ones are scaled by 1/(1 − rate). `seed` is the layer's
/// field: an integer, a SeedGenerator, or null. The numbers of one cell of `noise`, which broadcasts to x, go together.
[[nodiscard]] graph::ValueId dropped(Lowering& lowering, const Layer& layer, graph::ValueId x, double rate,
                                     const Json& seed, const Shape& noise);
[[nodiscard]] graph::ValueId dropped(Call& call, graph::ValueId x, double rate, const Json& seed, const Shape& noise);

/// A field noise_shape, which may be null or have nulls, for an input of this shape. Throws Error (bad_input).
[[nodiscard]] Shape noise_of(const Json& noise_shape, Shape input);

/// As many standard normal numbers in the layer's compute dtype: those of keras.random.normal with the layer's seed.
[[nodiscard]] graph::ValueId normal_noise(Call& call, const Shape& shape, const Json& seed);

}  // namespace attn::keras
