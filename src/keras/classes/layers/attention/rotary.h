// Rotary position embeddings: pairs of features (i, i + R/2) are rotated by angles proportional to the position (Su et
// al., "RoFormer", 2021).
//
// Letters: B batch, T length, R rotated features.
#pragma once

#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/ops/expression.h"

namespace attn::keras {

/// The parameters of a rotary embedding.
struct Rotary {
  std::vector<float> frequencies;  ///< (R/2) the angle per position of each pair, in float32 for any policy
  double factor = 1.0;             ///< factor of cosines and sines, in float32
  double temperature = 1.0;        ///< factor that is applied after rounding to the compute dtype (YaRN)
};

/// Throws Error (bad_input) for more than 2^16 features. No model has so many, and they would take long.
void check_turning(Dim width);
/// Returns wavelength^(−2i/width) / scaling for each pair; the width must pass check_turning.
[[nodiscard]] std::vector<float> inverse_frequencies(double wavelength, Dim width, double scaling = 1.0);

/// YaRN (Peng et al., "YaRN: Efficient Context Window Extension", 2023): pairs that rotate often within the original
/// length keep their angle, and the angles of others are divided by the scaling.
struct Yarn {
  double beta_fast = 32.0, beta_slow = 1.0;  ///< rotations of the pairs between which the division sets in
  double original_length = 4096.0;
  bool truncate = true;  ///< rounds the numbers of these pairs outward
};
/// Returns KerasHub's form of YaRN, for cosines and sines in the compute dtype `dtype`.
[[nodiscard]] Rotary yarn_rotary(double wavelength, Dim width, double scaling, const Yarn& yarn, DType dtype);

/// Cosines and sines in the compute dtype, each (B or 1,T,1…,R) with the requested rank. Layers with equal parameters
/// share them.
struct Angles {
  graph::ValueId cos, sin;
};
/// Returns the angles of `length` positions from `start` on.
[[nodiscard]] Angles angles_from(Call& call, const Rotary& rotary, Dim start, Dim length, int rank);
/// Returns the angles of positions (B or 1,T).
[[nodiscard]] Angles angles_at(Call& call, const Rotary& rotary, graph::ValueId positions, int rank);

/// Rotates x (B,T,…,R) by angles of the same rank.
[[nodiscard]] Expression turned(const Expression& x, const Angles& angles);
/// Rotates x (B,T,…,R) by the positions of the call's tokens: from 0 on, or after the cached ones. Symbolically returns
/// x. Throws Error (bad_input) if x has an odd number of features.
[[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x, const Rotary& rotary);

}  // namespace attn::keras
