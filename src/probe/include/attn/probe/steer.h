// Steering: a direction in the residual stream, made from two sets of prompts and added while generating.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// The positions of a prompt whose values are averaged.
enum class SteerAt { last, mean };

/// Returns the mean of a point over the positive prompts minus that over the negative ones, (D) in float32, or in
/// float64 if the model computes in it. `point` has the shape (B,T,D). Prompts may differ in length.
[[nodiscard]] Tensor steering_vector(const Subject& subject, std::span<const Prompt> positive,
                                     std::span<const Prompt> negative, const std::string& point, SteerAt at);

/// A vector that is added to a point, times `scale`, from the absolute position `from` on.
struct Steering {
  std::string point;  ///< "resid_post.0"
  Tensor vector;      ///< (D)
  double scale = 1.0;
  std::int64_t from = 0;
  std::string file = {};  ///< named in errors
};

/// Reads the array of a file that `attn probe steer` or NumPy wrote. `point` replaces the name of the array. Throws
/// Error (bad_input) for several arrays, another shape than (D), and a value that is not finite.
[[nodiscard]] Steering read_steering(const std::string& path, const std::optional<std::string>& point);

/// Adds the vectors in a graph of a model or of a decode step, whose input `position` counts the positions before it.
/// Throws Error (bad_input) if a vector has another size than the stream.
[[nodiscard]] graph::Graph steered(graph::Graph graph, std::span<const Steering> steerings);

}  // namespace attn::probe
