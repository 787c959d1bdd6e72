#include "attn/probe/lens.h"

#include <algorithm>
#include <cstring>
#include <variant>

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

LensCell cell_of(const Distribution& own, const std::optional<Id>& target, std::int64_t top) {
  LensCell out;
  const std::vector<double>& all = own.log_p;
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(top, std::ssize(all)));
  for (std::size_t i = 0; i < all.size(); ++i) {  // keeps the best in order; few tokens enter
    if (out.top.size() == count && all[i] <= out.top.back().log_prob) continue;
    const auto place = std::ranges::find_if(out.top, [&](const auto& token) { return token.log_prob < all[i]; });
    out.top.insert(place, {static_cast<Id>(i), all[i]});
    if (out.top.size() > count) out.top.pop_back();
  }
  out.entropy = entropy(own);
  if (target && *target < std::ssize(all)) {  // a tagger's logits are fewer than its tokens
    const double place = all[static_cast<std::size_t>(*target)];
    out.target = TargetPlace{*target, place, std::ranges::count_if(all, [&](double other) { return other > place; })};
  }
  return out;
}

/// The distribution of the last point, in the precision of the logits.
using Final = std::variant<Distribution, DistributionOf<float>>;

Final final_of(const Distribution& from, DType logits) {
  if (logits == DType::float64) return from;
  return DistributionOf<float>{{from.p.begin(), from.p.end()}, {from.log_p.begin(), from.log_p.end()}};
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
  std::vector<Final> last(static_cast<std::size_t>(positions));
  const auto work = subject.listener().begin("reading points", static_cast<double>(points.size()));
  const auto read = [&](std::size_t point, const Tensor& logits) {
    for_each_part(positions, subject.execution().threads, [&](std::int64_t row) {
      const auto at = static_cast<std::size_t>(row);
      std::optional<Id> target = options.target;
      if (!target && subject.predicts_next() && row + 1 < positions) target = prompt.ids[at + 1];
      const Distribution own = distribution(logits, row);
      LensCell cell = cell_of(own, target, options.top);
      if (point + 1 == points.size())
        last[at] = final_of(own, logits.dtype());
      else
        cell.kl_to_final = std::visit([&](const auto& all) { return divergence(all, own); }, last[at]);
      out.cells[point][at] = std::move(cell);
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
