// What layers do in training and not in a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/layer.h"
#include "config/json.h"

namespace attn::keras {

class Call;

/// What a lowering for training is told, and collects beside the graph.
struct Training {
  bool drops = false;      ///< layers drop numbers; else they do as if their rates were 0
  std::uint64_t seed = 0;  ///< for layers that have no seed of their own

  /// A variable of a layer that a step changes, and what it becomes.
  struct Update {
    const Layer* layer = nullptr;
    int weight = 0;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Update> updates;
  /// Inputs that count the draws of random numbers: int64 (), one for each call of a layer that draws.
  struct Draw {
    std::string layer;
    graph::ValueId count = graph::kNone;
  };
  std::vector<Draw> draws;
};

/// Is it a lowering for training in which numbers are dropped at this rate?
[[nodiscard]] bool drops(Call& call, double rate);

/// x with numbers dropped, as keras.layers.Dropout does it: kept ones are scaled by 1/(1 − rate). `seed` is the layer's
/// field: an integer, a SeedGenerator, or null. The numbers of one cell of `noise`, which broadcasts to x, go together.
[[nodiscard]] graph::ValueId dropped(Call& call, graph::ValueId x, double rate, const Json& seed, const Shape& noise);

}  // namespace attn::keras
