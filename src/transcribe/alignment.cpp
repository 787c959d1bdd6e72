#include "alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace attn::transcribe {
namespace {

constexpr Dim kMedian = 7;  // median_filter_width of WhisperConfig

/// Subtracts the mean over the tokens, and divides by the standard deviation. Columns without deviation become 0.
void standardize(std::span<float> rows, Dim tokens, Dim positions) {
  for (Dim at = 0; at < positions; ++at) {
    double sum = 0.0, squares = 0.0;
    const auto value = [&](Dim token) -> float& { return rows[static_cast<std::size_t>(token * positions + at)]; };
    for (Dim token = 0; token < tokens; ++token) sum += static_cast<double>(value(token));
    const double mean = sum / static_cast<double>(tokens);
    for (Dim token = 0; token < tokens; ++token) squares += std::pow(static_cast<double>(value(token)) - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(tokens));
    for (Dim token = 0; token < tokens; ++token)
      value(token) =
          deviation > 0.0 ? static_cast<float>((static_cast<double>(value(token)) - mean) / deviation) : 0.0F;
  }
}

/// Replaces each value by the median of those around it; the row is reflected at its ends.
void smooth(std::span<float> row) {
  const Dim count = std::ssize(row), beside = kMedian / 2;
  if (count <= beside) return;
  const std::vector<float> given(row.begin(), row.end());
  for (Dim at = 0; at < count; ++at) {
    std::array<float, kMedian> near{};
    for (Dim i = 0; i < kMedian; ++i) {
      Dim from = std::abs(at + i - beside);
      if (from >= count) from = 2 * (count - 1) - from;
      near[static_cast<std::size_t>(i)] = given[static_cast<std::size_t>(from)];
    }
    std::ranges::nth_element(near, near.begin() + beside);
    row[static_cast<std::size_t>(at)] = near[static_cast<std::size_t>(beside)];
  }
}

enum class Move : std::uint8_t { both, token, position };

}  // namespace

std::vector<Dim> aligned(const Tensor& probabilities) {
  const Shape& shape = probabilities.shape();
  const Dim heads = shape[0], tokens = shape[1], positions = shape[2], size = tokens * positions;
  std::vector<float> mean(static_cast<std::size_t>(size), 0.0F);
  for (Dim head = 0; head < heads; ++head) {
    const auto given = probabilities.as<float>().subspan(static_cast<std::size_t>(head * size), mean.size());
    std::vector<float> rows(given.begin(), given.end());
    standardize(rows, tokens, positions);
    for (Dim token = 0; token < tokens; ++token)
      smooth(std::span(rows).subspan(static_cast<std::size_t>(token * positions), static_cast<std::size_t>(positions)));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += rows[i] / static_cast<float>(heads);
  }

  // cost[t][p] is the cost of the best path to token t − 1 and position p − 1.
  const Dim width = positions + 1;
  const auto place = [&](Dim token, Dim position) { return static_cast<std::size_t>(token * width + position); };
  std::vector<float> cost(place(tokens, positions) + 1, std::numeric_limits<float>::infinity());
  std::vector<Move> moves(cost.size(), Move::position);
  cost[0] = 0.0F;
  for (Dim position = 1; position <= positions; ++position)
    for (Dim token = 1; token <= tokens; ++token) {
      const float both = cost[place(token - 1, position - 1)], by_token = cost[place(token - 1, position)],
                  by_position = cost[place(token, position - 1)];
      Move move = Move::position;
      float least = by_position;
      if (both < by_token && both < by_position) {
        move = Move::both, least = both;
      } else if (by_token < both && by_token < by_position) {
        move = Move::token, least = by_token;
      }
      cost[place(token, position)] = least - mean[static_cast<std::size_t>((token - 1) * positions + position - 1)];
      moves[place(token, position)] = move;
    }

  std::vector<Dim> out(static_cast<std::size_t>(tokens), 0);
  for (Dim token = tokens, position = positions; token > 0 && position > 0;) {
    out[static_cast<std::size_t>(token - 1)] = position - 1;
    const Move move = moves[place(token, position)];
    if (move != Move::position) --token;
    if (move != Move::token) --position;
  }
  return out;
}

}  // namespace attn::transcribe
