#include "attn/probe/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/base/error.h"

namespace attn::probe {

std::vector<OutlierLayer> outliers(const Subject& subject, const Prompt& prompt, const OutlierOptions& options) {
  const Lowered lowered = subject.lower(1, prompt);
  const std::vector<const Block*> blocks = lowered.points.last_stack();
  for (const Block* block : blocks)
    if (const Shape& shape = lowered.graph.value(block->resid_post).shape;
        shape.rank() != 3 || shape[1] != lowered.length)
      throw bad_input(
          "{}: the stream of {} tokens has the shape {} after layer {}; outliers reads one row for each token",
          subject.loaded().file, lowered.length, shape.str(), block->layer);
  std::vector<graph::ValueId> ids;
  for (const Block* block : blocks) ids.push_back(block->resid_post);
  const Values values = subject.run(lowered, prompt, ids);
  std::vector<OutlierLayer> out;
  for (const Block* block : blocks) {
    const Tensor& stream = values.at(block->resid_post);
    const std::int64_t width = stream.shape().back();
    std::vector<double> sizes;
    for (std::int64_t i = 0; i < stream.size(); ++i) sizes.push_back(std::abs(stream.at(i)));
    std::vector<double> sorted = sizes;
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    OutlierLayer layer;
    layer.layer = block->layer;
    layer.median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    layer.count = std::ranges::count_if(
        sizes, [&](double size) { return size > options.least && size > options.ratio * layer.median; });
    std::vector<std::int64_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    const auto count = std::min<std::int64_t>(options.top, std::ssize(order));
    const auto larger = [&](std::int64_t a, std::int64_t b) {
      return sizes[static_cast<std::size_t>(a)] > sizes[static_cast<std::size_t>(b)];
    };
    std::partial_sort(order.begin(), order.begin() + count, order.end(), larger);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = order[static_cast<std::size_t>(i)];
      const double ratio = layer.median > 0 ? sizes[static_cast<std::size_t>(at)] / layer.median : 0;
      layer.top.push_back({stream.at(at), ratio, at / width, at % width});
    }
    out.push_back(std::move(layer));
  }
  return out;
}

}  // namespace attn::probe
