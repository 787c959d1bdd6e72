#include "classes/training.h"

#include <algorithm>

#include "attn/base/rng.h"
#include "attn/base/text.h"
#include "classes/call.h"

namespace attn::keras {
namespace {

/// Returns the seed: the given integer, or that of a SeedGenerator; otherwise a number derived from the run's seed and
/// the layer's name.
std::int64_t seed_of(const Json& seed, const std::string& layer, std::uint64_t run_seed) {
  const Json* given = &seed;
  if (seed.is_object() && seed.contains("config") && seed["config"].contains("seed")) given = &seed["config"]["seed"];
  if (given->is_number_integer()) return given->get<std::int64_t>();
  constexpr double kMost = 2147483647.0;
  return static_cast<std::int64_t>(RandomStream(run_seed, layer).uniform() * kMost);
}

/// A random draw of a layer, before the graph input of the draw exists.
struct PendingDraw {
  Training& training;
  std::string layer;
  std::string input;  ///< name of the graph input
};

PendingDraw begin_draw(Lowering& lowering, const Layer& layer) {
  Training& training = *lowering.training;
  training.random.insert(&layer);
  const std::string name = lowering.scope() + layer.name;
  const auto calls = std::ranges::count(training.draws, name, &Training::Draw::layer);
  return {training, name, fmt::format("draws:{}[{}]", name, calls)};
}

}  // namespace

bool drops(const Lowering& lowering, double rate) {
  return lowering.training != nullptr && lowering.training->drops && rate > 0.0;
}

bool drops(Call& call, double rate) { return drops(call.lowering(), rate); }

graph::ValueId dropped(Lowering& lowering, const Layer& layer, graph::ValueId x, double rate, const Json& seed,
                       const Shape& noise) {
  graph::Builder& b = lowering.builder();
  const PendingDraw draw = begin_draw(lowering, layer);
  if (rate >= 1.0) return b.binary(graph::BinaryFn::multiply, x, b.scalar_like(x, 0.0));
  const graph::ValueId count = b.input(draw.input, DType::int64, {});
  draw.training.draws.push_back({draw.layer, count});
  return b.apply(graph::Dropout{rate, seed_of(seed, draw.layer, draw.training.seed), noise}, {x, count});
}

graph::ValueId dropped(Call& call, graph::ValueId x, double rate, const Json& seed, const Shape& noise) {
  return dropped(call.lowering(), call.layer(), x, rate, seed, noise);
}

Shape noise_of(const Json& noise_shape, Shape input) {
  if (!noise_shape.is_array()) return input;
  if (noise_shape.size() != static_cast<std::size_t>(input.rank()))
    throw bad_input("noise_shape {} does not fit the input {}", noise_shape.dump(), input.str());
  for (int axis = 0; axis < input.rank(); ++axis)
    if (const Json& size = noise_shape[static_cast<std::size_t>(axis)]; size.is_number_integer())
      input[axis] = size.get<Dim>();
  return input;
}

graph::ValueId normal_noise(Call& call, const Shape& shape, const Json& seed) {
  const PendingDraw draw = begin_draw(call.lowering(), call.layer());
  const graph::ValueId numbers = call.builder().input(draw.input, call.compute_dtype(), shape);
  draw.training.draws.push_back({draw.layer, numbers, seed_of(seed, draw.layer, draw.training.seed)});
  return numbers;
}

}  // namespace attn::keras
