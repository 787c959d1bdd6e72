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
  bool drops = false;      ///< layers drop elements and add noise; otherwise they act as if their rates were 0
  std::uint64_t seed = 0;  ///< for layers without a seed

  /// A variable of a layer that a step changes, and its new value.
  struct Update {
    const Layer* layer = nullptr;
    int weight = 0;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Update> updates;
  /// The input of each call of a layer with random numbers: the number of earlier draws, int64 (), or with
  /// `normal_seed` the normal numbers themselves.
  struct Draw {
    std::string layer;
    graph::ValueId value = graph::kNone;
    std::optional<std::int64_t> normal_seed{};
    bool always = false;  ///< Keras also draws in evaluations, without using the numbers
  };
  std::vector<Draw> draws;
  std::set<const Layer*> random;  ///< the layers with random numbers
};

/// Returns whether this is a lowering for training in which elements are dropped at this rate.
[[nodiscard]] bool drops(const Lowering& lowering, double rate);
[[nodiscard]] bool drops(Call& call, double rate);

/// Drops elements of x like keras.layers.Dropout: the others are scaled by 1/(1 − rate). `seed` is the layer's field:
/// an integer, a SeedGenerator, or null. Elements that share a cell of `noise`, which broadcasts to x, are dropped
/// together.
[[nodiscard]] graph::ValueId dropped(Lowering& lowering, const Layer& layer, graph::ValueId x, double rate,
                                     const Json& seed, const Shape& noise);
[[nodiscard]] graph::ValueId dropped(Call& call, graph::ValueId x, double rate, const Json& seed, const Shape& noise);

/// The shape of a field noise_shape, which may be null or contain nulls, for an input of this shape. Throws Error
/// (bad_input).
[[nodiscard]] Shape noise_of(const Json& noise_shape, Shape input);

/// Standard normal numbers in the layer's compute dtype: those of keras.random.normal with the layer's seed.
[[nodiscard]] graph::ValueId normal_noise(Call& call, const Shape& shape, const Json& seed);

}  // namespace attn::keras
