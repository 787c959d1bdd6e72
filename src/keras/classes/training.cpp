#include "classes/training.h"

#include <algorithm>

#include "attn/base/rng.h"
#include "attn/base/text.h"
#include "classes/call.h"

namespace attn::keras {
namespace {

/// An integer as it is given, or that of a SeedGenerator; else drawn by the run's seed and the layer's name.
std::int64_t seed_of(const Json& seed, const std::string& layer, std::uint64_t run_seed) {
  const Json* given = &seed;
  if (seed.is_object() && seed.contains("config") && seed["config"].contains("seed")) given = &seed["config"]["seed"];
  if (given->is_number_integer()) return given->get<std::int64_t>();
  constexpr double kMost = 2147483647.0;
  return static_cast<std::int64_t>(RandomStream(run_seed, layer).uniform() * kMost);
}

}  // namespace

bool drops(Call& call, double rate) {
  const Training* const training = call.lowering().training;
  return training != nullptr && training->drops && rate > 0.0;
}

graph::ValueId dropped(Call& call, graph::ValueId x, double rate, const Json& seed, const Shape& noise) {
  Training& training = *call.lowering().training;
  graph::Builder& b = call.builder();
  if (rate >= 1.0) return b.binary(graph::BinaryFn::multiply, x, b.scalar_like(x, 0.0));
  const std::string layer = call.lowering().scope() + call.layer().name;
  const auto calls = std::count_if(training.draws.begin(), training.draws.end(),
                                   [&](const Training::Draw& draw) { return draw.layer == layer; });
  const graph::ValueId count = b.input(fmt::format("draws:{}[{}]", layer, calls), DType::int64, {});
  training.draws.push_back({layer, count});
  return b.apply(graph::Dropout{rate, seed_of(seed, layer, training.seed), noise}, {x, count});
}

}  // namespace attn::keras
