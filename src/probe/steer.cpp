#include "attn/probe/steer.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/probe/edits.h"

namespace attn::probe {
namespace {

std::vector<double> mean_of(const Subject& subject, std::span<const Prompt> prompts, const std::string& name,
                            SteerAt at, DType& dtype) {
  std::vector<double> out;
  for (const Prompt& prompt : prompts) {
    const Lowered lowered = subject.lower(1, prompt);
    const Point& point = lowered.points.find(name);
    const Tensor value = subject.run(lowered, prompt, {&point.value, 1}).at(point.value);
    if (value.shape().rank() != 3)
      throw bad_usage("{} has the shape {}: steering needs a point (B, T, D)", name, value.shape().str());
    dtype = value.dtype() == DType::float64 ? DType::float64 : DType::float32;
    const std::int64_t positions = value.shape()[1], width = value.shape()[2];
    const std::int64_t first = at == SteerAt::last ? positions - 1 : 0;
    out.resize(static_cast<std::size_t>(width));
    for (std::int64_t t = first; t < positions; ++t)
      for (std::int64_t i = 0; i < width; ++i)
        out[static_cast<std::size_t>(i)] +=
            value.at(t * width + i) / static_cast<double>(positions - first) / static_cast<double>(prompts.size());
  }
  return out;
}

/// Returns the value of the vector's point. Throws Error, with the vector's file.
graph::ValueId steered_point(const Points& points, const Steering& steering) {
  try {
    return points.find(steering.point).value;
  } catch (const Error& error) {
    if (steering.file.empty()) throw;
    throw Error(error.code(), fmt::format("{}: {}", printable(steering.file), error.what()));
  }
}

}  // namespace

Tensor steering_vector(const Subject& subject, std::span<const Prompt> positive, std::span<const Prompt> negative,
                       const std::string& point, SteerAt at) {
  DType dtype = DType::float32;
  const std::vector<double> more = mean_of(subject, positive, point, at, dtype);
  const std::vector<double> less = mean_of(subject, negative, point, at, dtype);
  Tensor out(dtype, {std::ssize(more)});
  for (std::size_t i = 0; i < more.size(); ++i) out.set(static_cast<std::int64_t>(i), more[i] - less[i]);
  return out;
}

Steering read_steering(const std::string& path, const std::optional<std::string>& point) {
  const std::vector<NamedTensor> arrays = io::read_tensors(path);
  if (arrays.size() != 1)
    throw bad_input("{}: the file has {} arrays, but a steering vector is one", printable(path), arrays.size());
  const Tensor& vector = arrays.front().tensor;
  if (vector.shape().rank() != 1)
    throw bad_input("{}: the array has the shape {}, but a steering vector is (D,)", printable(path),
                    vector.shape().str());
  for (std::int64_t i = 0; i < vector.size(); ++i)
    if (!std::isfinite(vector.at(i))) throw bad_input("{}: element {} is NaN or Inf", printable(path), i);
  return {point.value_or(arrays.front().name), vector, 1.0, 0, path};
}

graph::Graph steered(graph::Graph graph, std::span<const Steering> steerings) {
  const auto position = std::ranges::find_if(graph.inputs, [&](graph::ValueId id) {
    return graph.value(id).name == "position" && graph.value(id).shape.rank() == 0;
  });
  for (const Steering& steering : steerings) {
    const Points points = find_points(graph, graph::kNone, graph::kNone, false);
    if (points.blocks.empty())
      throw bad_input("steering found no attention whose result is added to a residual stream");
    const graph::ValueId value = steered_point(points, steering);
    const Shape shape = graph.value(value).shape;
    if (shape.rank() != 3 || shape[2] != steering.vector.size())
      throw bad_input("{}the steering vector has {} elements, but {} has the shape {}",
                      steering.file.empty() ? "" : printable(steering.file) + ": ", steering.vector.size(),
                      printable(steering.point), shape.str());
    Tensor scaled(DType::float64, steering.vector.shape());
    for (std::int64_t i = 0; i < scaled.size(); ++i) scaled.set(i, steering.scale * steering.vector.at(i));
    FromPosition from;
    from.first = steering.from;
    if (position != graph.inputs.end()) from.before = *position;
    graph = add(std::move(graph), value, scaled, from);
  }
  return graph;
}

}  // namespace attn::probe
