// Rotary position embeddings: pairs of features (i, i + R/2) turned by angles that grow with the position (Su et al.,
// "RoFormer", 2021).
//
// Letters: B batch, T length, R features that turn.
#pragma once

#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/ops/expression.h"

namespace attn::keras {

/// How features turn.
struct Rotary {
  std::vector<float> frequencies;  ///< R/2 of them: the angle per position of each pair, in float32 whatever the policy
  double factor = 1.0;             ///< on cosines and sines, in float32
  double temperature = 1.0;        ///< on what was rounded to the compute dtype (YaRN)
};

/// Throws Error (bad_input) for more than 2^16 features, which no model has, and which would take long to make.
void check_turning(Dim width);
/// wavelength^(−2i/width) / scaling for each pair of what check_turning takes.
[[nodiscard]] std::vector<float> inverse_frequencies(double wavelength, Dim width, double scaling = 1.0);

/// Cosines and sines in the compute dtype, each (B or 1,T,1…,R) of some rank. Layers that ask for the same share them.
struct Angles {
  graph::ValueId cos, sin;
};
/// Of the positions from `start` on.
[[nodiscard]] Angles angles_from(Call& call, const Rotary& rotary, Dim start, Dim length, int rank);
/// Of positions (B or 1,T).
[[nodiscard]] Angles angles_at(Call& call, const Rotary& rotary, graph::ValueId positions, int rank);

/// x (B,T,…,R) turned by angles of its rank.
[[nodiscard]] Expression turned(const Expression& x, const Angles& angles);
/// x (B,T,…,R) turned by where the tokens of the call stand: from 0 on, or behind the cached ones. Symbolically x as it
/// is. Throws Error (bad_input) where x has an odd number of features.
[[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x, const Rotary& rotary);

}  // namespace attn::keras
