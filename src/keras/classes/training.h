// The behavior of layers in training that differs from a run.
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

/// Options of a lowering for training, and what it collects besides the graph.
struct Training {
  bool drops = false;      ///< whether layers drop elements and add noise; otherwise all rates count as 0
  std::uint64_t seed = 0;  ///< the seed for layers without one

  /// A variable of a layer that a training step changes, with its new value.
  struct Update {
    const Layer* layer = nullptr;
    int weight = 0;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Update> updates;
  /// The graph input of a call of a layer with random numbers. It is the number of earlier draws, int64 (), or with
  /// `normal_seed` the normal numbers themselves.
  struct Draw {
    std::string layer;
    graph::ValueId value = graph::kNone;
    std::optional<std::int64_t> normal_seed{};
    bool always = false;  ///< whether Keras also draws in evaluations, where it does not use the numbers
  };
  std::vector<Draw> draws;
  std::set<const Layer*> random;  ///< the layers with random numbers
};

/// Returns whether this is a lowering for training in which elements are dropped at this rate.
[[nodiscard]] bool drops(const Lowering& lowering, double rate);
[[nodiscard]] bool drops(Call& call, double rate);

/// Drops elements of x like keras.layers.Dropout, and scales the others by 1/(1 − rate). `seed` is the layer's field:
/// an integer, a SeedGenerator, or null. `noise` broadcasts to x; elements that share a cell of it are dropped
/// together.
[[nodiscard]] graph::ValueId dropped(Lowering& lowering, const Layer& layer, graph::ValueId x, double rate,
                                     const Json& seed, const Shape& noise);
[[nodiscard]] graph::ValueId dropped(Call& call, graph::ValueId x, double rate, const Json& seed, const Shape& noise);

/// Returns the shape of a field noise_shape for an input of this shape; the field may be null or contain nulls. Throws
/// Error (bad_input).
[[nodiscard]] Shape noise_of(const Json& noise_shape, Shape input);

/// Returns standard normal numbers in the layer's compute dtype, as keras.random.normal draws them with the layer's
/// seed.
[[nodiscard]] graph::ValueId normal_noise(Call& call, const Shape& shape, const Json& seed);

}  // namespace attn::keras
