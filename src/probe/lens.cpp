#include "attn/probe/lens.h"

#include <algorithm>
#include <cstring>

#include "attn/base/error.h"
#include "attn/base/parallel.h"
#include "attn/probe/measure.h"
#include "requirements.h"

namespace attn::probe {
namespace {

using graph::ValueId;

/// Returns the stream's points in order, the last one at the end. One value may have several names: the end of a block
/// is the beginning of the next.
std::vector<Point> stream_points(const Points& points, bool mid) {
  std::vector<Point> out;
  const auto add = [&](ValueId value, const char* kind) {
    const auto found = std::ranges::find_if(points.named, [&](const Point& point) {
      return point.value == value && point.name.find(kind) != std::string::npos;
    });
    if (value != graph::kNone && found != points.named.end()) out.push_back(*found);
  };
  for (const Block* block : points.last_stack()) {
    if (block->layer == 0) add(block->resid_pre, "resid_pre");
    if (mid) add(block->resid_mid, "resid_mid");
    if (mid) add(block->resid_cross, "resid_cross");
    add(block->resid_post, "resid_post");
  }
  return out;
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
  out.entropy = own.entropy();
  if (target && *target < std::ssize(all)) {  // a tagger's logits are fewer than its tokens
    const double place = all[static_cast<std::size_t>(*target)];
    out.target = TargetPlace{*target, place, std::ranges::count_if(all, [&](double other) { return other > place; })};
  }
  return out;
}

/// The distribution of the last point, in the precision of the logits.
class Final {
 public:
  Final() = default;
  Final(const Distribution& from, DType dtype) : p_(dtype, {std::ssize(from.p)}), log_p_(dtype, {std::ssize(from.p)}) {
    for (std::size_t i = 0; i < from.p.size(); ++i) {
      p_.set(static_cast<std::int64_t>(i), from.p[i]);
      log_p_.set(static_cast<std::int64_t>(i), from.log_p[i]);
    }
  }
  /// Returns KL(this ‖ other), in nats.
  [[nodiscard]] double divergence_to(const Distribution& other) const {
    return p_.dtype() == DType::float32 ? sum<float>(other) : sum<double>(other);
  }

 private:
  template <typename T>
  [[nodiscard]] double sum(const Distribution& other) const {
    const auto p = p_.as<const T>(), log_p = log_p_.as<const T>();
    double out = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (p[i] > 0) out += static_cast<double>(p[i]) * (static_cast<double>(log_p[i]) - other.log_p[i]);
    return out;
  }

  Tensor p_, log_p_;
};

}  // namespace

Lens lens(const Subject& subject, const Prompt& prompt, const LensOptions& options) {
  Lowered lowered = subject.lower(1, prompt);
  require_logits(subject, lowered);
  if (options.target) require_token(lowered, *options.target);
  const std::vector<Point> points = stream_points(lowered.points, options.mid);
  require_alike(subject, lowered, options.norm ? points.back().value : lowered.points.final_norm, points);
  const ValueId site = options.norm ? points.back().value : lowered.points.final_norm;
  if (site == graph::kNone)
    throw bad_input("{}: the model has no norm before its unembedding to omit", subject.loaded().file);
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
        last[at] = Final(own, logits.dtype() == DType::float64 ? DType::float64 : DType::float32);
      else
        cell.kl_to_final = last[at].divergence_to(own);
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
