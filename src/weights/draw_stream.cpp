#include <cmath>
#include <span>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "draw.h"

namespace attn::weights {
namespace {

double truncated_normal(RandomStream& stream) {
  for (;;) {
    const double value = stream.normal();
    if (std::fabs(value) < kTruncateAt) return value;
  }
}

constexpr std::int64_t kBetweenLooks = 1 << 16;  // elements, about a millisecond

/// `next` gives the elements one after another.
template <typename Next>
void fill(const Tensor& out, Next&& next) {
  const auto look = [](std::int64_t i) {
    if (i % kBetweenLooks == 0) throw_if_stopped();
  };
  if (out.dtype() == DType::float32) {
    const std::span<float> elements = out.as<float>();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      look(i);
      elements[static_cast<std::size_t>(i)] = static_cast<float>(next());
    }
  } else {
    for (std::int64_t i = 0; i < out.size(); ++i) {
      look(i);
      out.set(i, next());
    }
  }
}

}  // namespace

void draw_from_stream(RandomStream stream, const Draw& draw, const Tensor& out) {
  const double first = draw.first;
  const double second = draw.second;
  switch (draw.distribution) {
    case Distribution::uniform:
      return fill(out, [&] { return first + (second - first) * stream.uniform(); });
    case Distribution::normal:
      return fill(out, [&] { return first + second * stream.normal(); });
    case Distribution::truncated_normal:
      return fill(out, [&] { return first + second * truncated_normal(stream); });
  }
}

}  // namespace attn::weights
