// Standard normals next to those of a RandomStream, in a fraction of the time.
#pragma once

#include <cstdint>
#include <span>

#include "attn/base/rng.h"

namespace attn::weights {

/// As stream.normals(block, out), but each number may be off by a little: so little that shift + factor · number comes
/// to the same float, and that it is on the same side of ±cut.
void normals_for_floats(const RandomStream& stream, std::uint64_t block, double shift, double factor, double cut,
                        std::span<double> out);

}  // namespace attn::weights
