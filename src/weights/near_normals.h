// Fast approximation of a RandomStream's standard normals.
#pragma once

#include <cstdint>
#include <span>

#include "attn/base/rng.h"

namespace attn::weights {

/// Like stream.normals(block, out), but each number may have a small error. It is too small to change shift + factor ·
/// number rounded to float, or the side of ±cut on which a number lies.
void normals_for_floats(const RandomStream& stream, std::uint64_t block, double shift, double factor, double cut,
                        std::span<double> out);

}  // namespace attn::weights
