#include <cmath>

#include "attn/base/error.h"
#include "draw.h"

namespace attn::weights {
namespace {

double truncated_normal(RandomStream& stream) {
  for (;;) {
    const double value = stream.normal();
    if (std::fabs(value) < kTruncateAt) return value;
  }
}

/// `next` gives the elements one after another.
template <typename Next>
void fill(const Tensor& out, Next&& next) {
  if (out.dtype() == DType::float32) {
    for (float& element : out.as<float>()) element = static_cast<float>(next());
  } else {
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, next());
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
