// What goes into a model: arrays that were given, random numbers for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// A tensor per graph input. A given array must have the input's shape; float arrays take any float input's dtype, integer
/// and bool arrays any integer or bool input's that holds their values. Missing inputs are drawn from
/// RandomStream(seed, input name): floats standard normal, token indices uniform in the smallest table that they index,
/// other integers uniform in [0, 10); masks (bool, or an integer input with "mask" in its name) are all true. Throws Error
/// (bad_input) for a shape or dtype that does not fit.
[[nodiscard]] std::vector<Tensor> make_inputs(const graph::Graph& graph, const std::map<std::string, Tensor>& given,
                                              std::uint64_t seed);

}  // namespace attn::run
