#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/parallel.h"
#include "attn/base/stop.h"
#include "draw.h"
#include "near_normals.h"

namespace attn::weights {
namespace {

/// Parts of truncated normals that are drawn before they are stored: 2 MB.
constexpr std::int64_t kPartsAhead = 64;

constexpr std::uint64_t block_of(std::int64_t number) { return static_cast<std::uint64_t>(number / 4); }

std::int64_t parts_of(std::int64_t count) { return (count + kPart - 1) / kPart; }

/// Stores out[first + i] = shift + factor · numbers[i].
void store(std::span<const double> numbers, double shift, double factor, const Tensor& out, std::int64_t first) {
  if (out.dtype() == DType::float32) {
    const std::span<float> elements = out.as<float>().subspan(static_cast<std::size_t>(first), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) elements[i] = static_cast<float>(shift + factor * numbers[i]);
  } else {
    for (const double number : numbers) out.set(first++, shift + factor * number);
  }
}

/// Draws the numbers that `store` needs, before it scales and rounds them.
void draw_normals(const RandomStream& stream, std::int64_t first, double shift, double factor, DType dtype,
                  std::span<double> out) {
  if (dtype == DType::float32) {
    normals_for_floats(stream, block_of(first), shift, factor, kTruncateAt, out);
  } else {
    stream.normals(block_of(first), out);
  }
}

/// `numbers(first, span)` fills the span with the stream's numbers from index `first` on.
template <typename Numbers>
void fill(const Tensor& out, double shift, double factor, int threads, Numbers&& numbers) {
  for_each_part(parts_of(out.size()), threads, [&](std::int64_t part) {
    throw_if_stopped();
    const std::int64_t first = part * kPart;
    std::array<double, kPart> room;
    const std::span drawn(room.data(), static_cast<std::size_t>(std::min(kPart, out.size() - first)));
    numbers(first, drawn);
    store(drawn, shift, factor, out, first);
  });
}

/// Stores the stream's normals without those beyond kTruncateAt. The destination of a number is known only once all
/// numbers before it are drawn.
void fill_truncated(const RandomStream& stream, const Tensor& out, double shift, double factor, int threads) {
  const auto to_draw = [&](std::int64_t missing) {  // one in twenty-two is beyond the limit; rounded up to whole blocks
    return std::min(missing + missing / 20 + 8, kPartsAhead * kPart) / 4 * 4;
  };
  std::vector<double> room(static_cast<std::size_t>(to_draw(out.size())));
  for (std::int64_t stored = 0, drawn = 0; stored < out.size();) {
    const std::int64_t count = to_draw(out.size() - stored), parts = parts_of(count);
    std::array<std::span<double>, kPartsAhead> kept;
    for_each_part(parts, threads, [&](std::int64_t part) {
      throw_if_stopped();
      const std::int64_t first = part * kPart;
      const auto numbers = std::span(room).subspan(static_cast<std::size_t>(first),
                                                   static_cast<std::size_t>(std::min(kPart, count - first)));
      draw_normals(stream, drawn + first, shift, factor, out.dtype(), numbers);
      const auto beyond = [](double number) { return !(std::fabs(number) < kTruncateAt); };
      const auto end = std::remove_if(numbers.begin(), numbers.end(), beyond);
      kept[static_cast<std::size_t>(part)] = numbers.first(static_cast<std::size_t>(end - numbers.begin()));
    });
    drawn += count;
    std::array<std::int64_t, kPartsAhead> places;
    for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part) {
      const auto missing = static_cast<std::size_t>(out.size() - stored);
      kept[part] = kept[part].first(std::min(kept[part].size(), missing));
      places[part] = stored;
      stored += static_cast<std::int64_t>(kept[part].size());
    }
    for_each_part(parts, threads, [&](std::int64_t part) {
      const auto p = static_cast<std::size_t>(part);
      store(kept[p], shift, factor, out, places[p]);
    });
  }
}

}  // namespace

void draw_from_stream(const RandomStream& stream, const Draw& draw, const Tensor& out, int threads) {
  switch (draw.distribution) {
    case Distribution::uniform:
      return fill(out, draw.first, draw.second - draw.first, threads,
                  [&](std::int64_t from, std::span<double> numbers) { stream.uniforms(block_of(from), numbers); });
    case Distribution::normal:
      return fill(out, draw.first, draw.second, threads, [&](std::int64_t from, std::span<double> numbers) {
        draw_normals(stream, from, draw.first, draw.second, out.dtype(), numbers);
      });
    case Distribution::truncated_normal:
      return fill_truncated(stream, out, draw.first, draw.second, threads);
  }
}

}  // namespace attn::weights
