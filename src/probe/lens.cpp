#include "attn/probe/lens.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "attn/base/error.h"
#include "attn/base/parallel.h"
#include "attn/probe/measure.h"

namespace attn::probe {
namespace {

using graph::ValueId;

/// Returns the stream's points in order, the last one at the end.
std::vector<Point> stream_points(const Points& points, bool mid) {
  std::vector<Point> out;
  for (const Block* block : points.last_stack()) {
    const auto add = [&](ValueId value, const char* kind) {
      if (value != graph::kNone) out.push_back(points.find(block->name(kind)));
    };
    if (block->layer == 0) add(block->resid_pre, "resid_pre");
    if (mid) add(block->resid_mid, "resid_mid");
    if (mid) add(block->resid_cross, "resid_cross");
    add(block->resid_post, "resid_post");
  }
  return out;
}

/// Throws Error (bad_input) unless all points have the shape and dtype of `site`, and so can replace it.
void require_alike(const Subject& subject, const Lowered& lowered, ValueId site, std::span<const Point> points) {
  const graph::Value& own = lowered.graph.value(site);
  for (const Point& point : points) {
    const graph::Value& other = lowered.graph.value(point.value);
    if (other.shape == own.shape && other.dtype == own.dtype) continue;
    throw bad_input(
        "{}: {} has the shape {} in {}, but the end of the stream has {} in {}, so the model's end cannot read it",
        subject.loaded().file, point.name, other.shape.str(), name_of(other.dtype), own.shape.str(),
        name_of(own.dtype));
  }
}

/// Keeps the tokens with the largest logits, in order. Few tokens enter.
template <typename T>
std::vector<TokenProbability> largest(std::span<const T> logits, std::size_t count, double log_sum) {
  std::vector<TokenProbability> out;  // its probabilities are logits until the end
  double least = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double own = static_cast<double>(logits[i]);
    if (out.size() == count && own <= least) continue;
    const auto place = std::ranges::find_if(out, [&](const TokenProbability& token) { return token.log_prob < own; });
    out.insert(place, {static_cast<Id>(i), own});
    if (out.size() > count) out.pop_back();
    least = out.back().log_prob;
  }
  for (TokenProbability& token : out) token.log_prob -= log_sum;
  return out;
}

template <typename T>
LensCell cell_of(std::span<const T> logits, const Softmax& sums, const std::optional<Id>& target, std::int64_t top) {
  LensCell out;
  out.top = largest(logits, std::min(static_cast<std::size_t>(top), logits.size()), sums.log_sum);
  out.entropy = sums.entropy;
  if (target && *target < std::ssize(logits)) {  // a tagger's logits are fewer than its tokens
    const T own = logits[static_cast<std::size_t>(*target)];
    out.target = TargetPlace{*target, static_cast<double>(own) - sums.log_sum,
                             std::ranges::count_if(logits, [&](T other) { return other > own; })};
  }
  return out;
}

}  // namespace

Lens lens(const Subject& subject, const Prompt& prompt, const LensOptions& options) {
  Lowered lowered = subject.lower(1, prompt);
  subject.require_logits(lowered);
  if (options.target) require_token(*options.target, lowered.graph.value(lowered.points.logits).shape.back());
  const std::vector<Point> points = stream_points(lowered.points, options.mid);
  const ValueId site = options.norm ? points.back().value : lowered.points.final_norm;
  if (site == graph::kNone)
    throw bad_input("{}: the model has no norm before its unembedding to omit", subject.loaded().file);
  require_alike(subject, lowered, site, points);
  std::vector<ValueId> streams;
  for (const Point& point : points) streams.push_back(point.value);
  const Sweep sweep(subject, std::move(lowered), prompt, {site}, LogitPositions::all_positions, streams);

  Lens out;
  const std::int64_t positions = sweep.logits().shape()[0];
  for (const Point& point : points) out.points.push_back(point.name);
  out.cells.resize(points.size(), std::vector<LensCell>(static_cast<std::size_t>(positions)));
  std::vector<Distribution> last(static_cast<std::size_t>(positions));  // in the precision of the logits
  const auto work = subject.listener().begin("reading points", static_cast<double>(points.size()));
  const auto read = [&](std::size_t point, const Tensor& logits) {
    for_each_part(positions, subject.execution().threads, [&](std::int64_t row) {
      const auto at = static_cast<std::size_t>(row);
      std::optional<Id> target = options.target;
      if (!target && subject.predicts_next() && row + 1 < positions) target = prompt.ids[at + 1];
      with_row(logits, row, [&](auto own) {
        const Softmax sums = softmax(own, row);
        LensCell cell = cell_of(own, sums, target, options.top);
        if (point + 1 == points.size())
          last[at] = {logits, row, logits.dtype() == DType::float64 ? DType::float64 : DType::float32};
        else
          cell.kl_to_final = last[at].divergence_to(own, sums);
        out.cells[point][at] = std::move(cell);
      });
    });
    work->advance();
  };
  auto copies = static_cast<std::int64_t>(points.size());  // the last point first
  if (options.norm) {
    read(points.size() - 1, sweep.logits());
    --copies;
  }
  const auto point_of = [&](std::int64_t copy) { return static_cast<std::size_t>(copies - 1 - copy); };
  sweep.run(
      site, copies,
      [&](std::int64_t copy, const Tensor& place) {
        const Tensor& stream = sweep.value(points[point_of(copy)].value);
        std::memcpy(place.data(), stream.data(), static_cast<std::size_t>(stream.bytes()));
      },
      [&](std::int64_t copy, const Tensor& logits) { read(point_of(copy), logits); });
  return out;
}

}  // namespace attn::probe
