#include "attn/probe/patch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "attn/base/error.h"
#include "attn/open/session.h"
#include "attn/probe/edits.h"

namespace attn::probe {
namespace {

using graph::ValueId;

/// A point that is patched, and its division into places.
struct Site {
  Point point;
  Places places = Places::by_position;
  /// For the probabilities of attention, the values that they weight, and the head outputs that result.
  ValueId values = graph::kNone, z = graph::kNone;
  std::int64_t heads = 0, positions = 0;

  [[nodiscard]] std::int64_t count() const {
    return places == Places::by_position ? positions : places == Places::by_head ? heads : heads * positions;
  }
  /// Returns the value that a patch replaces.
  [[nodiscard]] ValueId edited() const { return z == graph::kNone ? point.value : z; }
};

std::vector<Site> sites_of(const Lowered& lowered, const PatchOptions& options) {
  std::vector<Site> out;
  for (Point& point : lowered.points.select(options.points)) {
    Site site;
    const Shape& shape = lowered.graph.value(point.value).shape;
    bool is_z = false;
    for (const Block& block : lowered.points.blocks)
      for (const auto& [prefix, part] : block.attentions()) {
        is_z |= part->z == point.value;
        if (part->pattern != point.value) continue;
        site.values = part->values;
        site.z = part->z;
      }
    if (site.z != graph::kNone) {
      site.places = Places::by_head;
      site.heads = shape[1];
      site.positions = shape[2];
    } else if (shape.rank() == 4) {
      site.places = is_z ? options.heads : Places::by_head;
      site.heads = shape[2];
      site.positions = shape[1];
    } else if (shape.rank() == 3) {
      site.positions = shape[1];
    } else {
      throw bad_usage("{} has no positions or heads to patch", point.name);
    }
    site.point = std::move(point);
    out.push_back(std::move(site));
  }
  return out;
}

/// Describes place `index` of a site.
PatchedPlace place_of(const Site& site, std::int64_t index) {
  PatchedPlace out;
  out.point = site.point.name;
  out.layer = site.point.layer.value_or(0);
  if (site.places == Places::by_position) out.position = index;
  if (site.places == Places::by_head) out.head = index;
  if (site.places == Places::by_head_and_position) {
    out.head = index / site.positions;
    out.position = index % site.positions;
  }
  return out;
}

/// Calls `visit` for each run of elements of the edited value that belong to a place, with its first index and length.
template <typename Visit>
void for_each_run(const Shape& shape, const PatchedPlace& place, Visit visit) {
  const std::int64_t width = shape.back();
  const std::int64_t heads = shape.rank() == 4 ? shape[2] : 1;
  for (std::int64_t position = 0; position < shape[1]; ++position)
    for (std::int64_t head = 0; head < heads; ++head) {
      if (place.position && *place.position != position) continue;
      if (place.head && *place.head != head) continue;
      visit((position * heads + head) * width, width);
    }
}

/// Returns pattern × values, the head outputs (1,T,N,H) of probabilities (1,N,T,S).
Tensor weighted(const Tensor& pattern, const Tensor& values, const Shape& shape) {
  Tensor out(values.dtype(), shape);
  const std::int64_t positions = shape[1], heads = shape[2], size = shape[3], keys = pattern.shape()[3];
  const std::int64_t own = values.shape()[2];
  for (std::int64_t t = 0; t < positions; ++t)
    for (std::int64_t n = 0; n < heads; ++n)
      for (std::int64_t h = 0; h < size; ++h) {
        double sum = 0;
        for (std::int64_t s = 0; s < keys; ++s)
          sum += pattern.at((n * positions + t) * keys + s) * values.at((s * own + n * own / heads) * size + h);
        out.set((t * heads + n) * size + h, sum);
      }
  return out;
}

void require_same_lengths(const Prompt& clean, const Prompt& corrupt) {
  if (clean.ids.size() != corrupt.ids.size() || clean.encoder.size() != corrupt.encoder.size())
    throw bad_usage("the clean prompt has {} tokens and the corrupted one {}: patching needs prompts of equal length",
                    clean.encoder.empty() ? clean.ids.size() : clean.encoder.size(),
                    corrupt.encoder.empty() ? corrupt.ids.size() : corrupt.encoder.size());
}

/// Returns the clean run's best token against the token whose logit the corrupted run raises most.
Metric usual_metric(const Tensor& clean, const Tensor& corrupt) {
  const std::int64_t width = clean.shape().back(), last = clean.size() - width;
  Metric out{best_token(clean), 0};
  double most = -INFINITY;
  for (std::int64_t i = 0; i < width; ++i) {
    const double raised = corrupt.at(last + i) - clean.at(last + i);
    if (i == out.token || raised <= most) continue;
    most = raised;
    out.versus = static_cast<Id>(i);
  }
  return out;
}

/// Patches of one pair of prompts.
class Patching {
 public:
  Patching(const Subject& subject, const Prompt& clean, const Prompt& corrupt, const PatchOptions& options)
      : subject_(subject), corrupt_(corrupt), lowered_(subject.lower(1, corrupt)) {
    subject.require_logits(lowered_);
    if (options.estimates) subject.require_gradients(lowered_);
    sites_ = sites_of(lowered_, options);
    std::set<ValueId> values = {lowered_.points.logits};
    for (const Site& site : sites_) {
      values.insert({site.point.value, site.edited()});
      if (site.values != graph::kNone) values.insert(site.values);
      edited_.push_back(site.edited());
    }
    const std::vector<ValueId> all(values.begin(), values.end());
    of_clean_ = subject.run(lowered_, clean, all);
    of_corrupt_ = subject.run(lowered_, corrupt, all);
    const Tensor& clean_logits = of_clean_.at(lowered_.points.logits);
    const Tensor& corrupt_logits = of_corrupt_.at(lowered_.points.logits);
    out_.metric =
        metric_or_best(options.metric ? *options.metric : usual_metric(clean_logits, corrupt_logits), clean_logits);
    out_.clean = value_of(out_.metric, clean_logits);
    out_.corrupt = value_of(out_.metric, corrupt_logits);
    for (std::size_t i = 0; i < sites_.size(); ++i)
      for (std::int64_t index = 0; index < sites_[i].count(); ++index) {
        out_.places.push_back(place_of(sites_[i], index));
        site_of_.push_back(i);
      }
  }

  void estimate() {
    graph::Graph graph = lowered_.graph;
    const ValueId metric = append_metric(graph, lowered_.points.logits, out_.metric);
    gradients::Differentiated backward = gradients_of(std::move(graph), metric, edited_);
    const std::vector<Tensor> arrays = subject_.inputs(backward.graph, {&corrupt_, 1});
    const auto session = subject_.compile(std::move(backward.graph));
    open::run_session(*session, arrays, subject_.listener());
    const std::vector<NamedTensor> results = session->outputs();
    std::size_t output = 0;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      const bool has_gradient = backward.gradients[i] != graph::kNone;
      const Tensor source = replacement(sites_[i]), &own = of_corrupt_.at(edited_[i]);
      for (std::size_t place = 0; place < out_.places.size(); ++place) {
        if (site_of_[place] != i) continue;
        double sum = 0;
        const auto add = [&](std::int64_t first, std::int64_t count) {
          const Tensor& gradient = results[output].tensor;
          for (std::int64_t at = first; at < first + count; ++at) sum += (source.at(at) - own.at(at)) * gradient.at(at);
        };
        if (has_gradient) for_each_run(own.shape(), out_.places[place], add);
        out_.places[place].estimate = sum;
      }
      if (has_gradient) ++output;
    }
  }

  /// Runs the patches of these places.
  void run(const std::vector<std::size_t>& places) {
    const Sweep sweep(subject_, lowered_, corrupt_, edited_, LogitPositions::last_position);
    const auto work = subject_.listener().begin("patching", static_cast<double>(places.size()));
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      std::vector<std::size_t> own;
      for (const std::size_t place : places)
        if (site_of_[place] == i) own.push_back(place);
      if (own.empty()) continue;
      const Site& site = sites_[i];
      const Tensor source = replacement(site);
      sweep.run(
          site.edited(), static_cast<std::int64_t>(own.size()),
          [&](std::int64_t copy, const Tensor& value) {
            const std::int64_t bytes = bytes_of(value.dtype());
            for_each_run(value.shape(), out_.places[own[static_cast<std::size_t>(copy)]],
                         [&](std::int64_t first, std::int64_t count) {
                           std::memcpy(value.data() + first * bytes, source.data() + first * bytes,
                                       static_cast<std::size_t>(count * bytes));
                         });
          },
          [&](std::int64_t copy, const Tensor& logits) {
            out_.places[own[static_cast<std::size_t>(copy)]].value = value_of(out_.metric, logits);
            work->advance();
          });
    }
  }

  [[nodiscard]] Patched& result() { return out_; }

 private:
  /// Returns the whole value that patches take their elements of.
  [[nodiscard]] Tensor replacement(const Site& site) const {
    if (site.z == graph::kNone) return of_clean_.at(site.point.value);
    return weighted(of_clean_.at(site.point.value), of_corrupt_.at(site.values), of_corrupt_.at(site.z).shape());
  }

  const Subject& subject_;
  const Prompt& corrupt_;
  Lowered lowered_;
  std::vector<Site> sites_;
  std::vector<ValueId> edited_;
  std::vector<std::size_t> site_of_;  // the site of each place
  Values of_clean_, of_corrupt_;
  Patched out_;
};

}  // namespace

std::optional<double> Patched::normalized(double value) const {
  const double gap = clean - corrupt;
  if (std::abs(gap) < 1e-6) return std::nullopt;
  return (value - corrupt) / gap;
}

Patched patch(const Subject& subject, const Prompt& clean, const Prompt& corrupt, const PatchOptions& options) {
  require_same_lengths(clean, corrupt);
  Patching patching(subject, clean, corrupt, options);
  Patched& out = patching.result();
  if (options.estimates) patching.estimate();
  std::vector<std::size_t> order(out.places.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (!options.exact) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::abs(out.places[a].estimate.value_or(0)) > std::abs(out.places[b].estimate.value_or(0));
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(options.confirm)));
  }
  if (!order.empty()) patching.run(order);
  return std::move(out);
}

}  // namespace attn::probe
