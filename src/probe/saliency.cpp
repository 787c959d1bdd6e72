#include "attn/probe/saliency.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/rows.h"
#include "attn/probe/edits.h"

namespace attn::probe {
namespace {

using graph::ValueId;

/// A point between baseline (0) and input (1), and its weight.
struct Step {
  double alpha = 0, weight = 0;
};

/// Returns the nodes of Gauss–Legendre integration on [0, 1], by Newton's method.
std::vector<Step> gauss_steps(std::int64_t count) {
  std::vector<Step> out;
  const auto n = static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
    for (int turn = 0; turn < 100; ++turn) {
      double before = 0, value = 1;
      for (std::int64_t k = 1; k <= count; ++k) {
        const auto order = static_cast<double>(k);
        const double next = ((2 * order - 1) * x * value - (order - 1) * before) / order;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-16) break;
    }
    out.push_back({(1 - x) / 2, 1 / ((1 - x * x) * slope * slope)});
  }
  return out;
}

std::vector<Step> steps_of(const SaliencyOptions& options) {
  const std::int64_t count = options.steps;
  const auto n = static_cast<double>(count);
  if (options.rule == StepRule::gauss) return gauss_steps(count);
  std::vector<Step> out;
  for (std::int64_t i = 0; i < count; ++i) {
    if (options.rule == StepRule::midpoint) {
      out.push_back({(static_cast<double>(i) + 0.5) / n, 1 / n});
    } else {
      const bool end = i == 0 || i + 1 == count;
      out.push_back({static_cast<double>(i) / (n - 1), (end ? 0.5 : 1.0) / (n - 1)});
    }
  }
  return out;
}

/// The embeddings of a stack's tokens, those of the baseline, and the gradients with respect to them: (1,T,D).
struct Side {
  ValueId value = graph::kNone;
  Tensor own, baseline;
  std::vector<double> gradients;  ///< weighted sum over the steps
};

/// Returns the sides, that of the decoder or only stack at the end.
std::vector<Side> sides_of(const Subject& subject, const Lowered& lowered, const Prompt& prompt) {
  if (lowered.points.embed == graph::kNone)
    throw bad_input("{}: the rows of the token table were not found, so their gradients are unknown",
                    subject.loaded().file);
  std::vector<Side> out;
  for (const auto& [embed, ids] :
       {std::pair(lowered.points.encoder_embed, &prompt.encoder), {lowered.points.embed, &prompt.ids}}) {
    if (embed == graph::kNone) continue;
    const Shape& shape = lowered.graph.value(embed).shape;
    if (shape.rank() != 3 || shape[1] != std::ssize(*ids))
      throw bad_input("{}: the rows of the token table have the shape {}, not one for each of {} tokens",
                      subject.loaded().file, shape.str(), ids->size());
    out.push_back({embed, {}, {}, std::vector<double>(static_cast<std::size_t>(shape.size()))});
  }
  return out;
}

/// A pass over rows of embeddings between the baseline and the input.
class EmbeddedPass {
 public:
  /// The pass has the gradients of the metric as results, or the metric.
  EmbeddedPass(const Subject& subject, const Prompt& prompt, const std::vector<Side>& sides, const Metric& metric,
               std::int64_t rows, bool gradients)
      : sides_(sides) {
    Lowered lowered = subject.lower(rows, prompt);
    // The inputs are recognized by the tables that they index, which an embedding given as an input leaves out.
    arrays_ = subject.inputs(lowered.graph, std::vector<Prompt>(static_cast<std::size_t>(rows), prompt));
    embeds_ = arrays_.size();
    graph::Graph graph = std::move(lowered.graph);
    std::vector<ValueId> inputs;
    for (const Side& side : sides) {
      graph = replace(std::move(graph), side.value);
      inputs.push_back(graph.inputs.back());
      arrays_.emplace_back(graph.value(inputs.back()).dtype, graph.value(inputs.back()).shape);
    }
    const ValueId sum = append_metric(graph, lowered.points.logits, metric);
    if (gradients) {
      gradients::Differentiated backward = gradients_of(std::move(graph), sum, inputs);
      if (std::ranges::find(backward.gradients, graph::kNone) != backward.gradients.end())
        throw bad_input("the score does not depend on the embeddings");
      graph = std::move(backward.graph);
    }
    session_ = subject.compile(std::move(graph));
  }

  /// Sets the embeddings of a row: the baseline for an `alpha` of 0, the input for 1.
  void set(std::int64_t row, double alpha) {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const Side& side = sides_[i];
      for (std::int64_t j = 0; j < side.own.size(); ++j)
        arrays_[embeds_ + i].set(row * side.own.size() + j,
                                 side.baseline.at(j) + alpha * (side.own.at(j) - side.baseline.at(j)));
    }
  }
  [[nodiscard]] std::vector<NamedTensor> run() {
    session_->run(arrays_);
    return session_->outputs();
  }

 private:
  const std::vector<Side>& sides_;
  std::size_t embeds_ = 0;  // the index of the first array of embeddings
  std::vector<Tensor> arrays_;
  std::unique_ptr<run::Session> session_;
};

/// Adds the gradients at all steps to the sides.
void add_gradients(const Subject& subject, const Prompt& prompt, const Metric& metric, const std::vector<Step>& steps,
                   std::vector<Side>& sides) {
  const auto count = static_cast<std::int64_t>(steps.size());
  const std::int64_t rows = std::min<std::int64_t>(count, 8);
  EmbeddedPass pass(subject, prompt, sides, metric, rows, true);
  const auto work = subject.listener().begin("differentiating", static_cast<double>(count));
  for (std::int64_t first = 0; first < count; first += rows) {
    const std::int64_t filled = std::min(rows, count - first);
    for (std::int64_t row = 0; row < rows; ++row)
      pass.set(row, steps[static_cast<std::size_t>(first + std::min(row, filled - 1))].alpha);
    const std::vector<NamedTensor> results = pass.run();
    for (std::size_t i = 0; i < sides.size(); ++i) {
      std::vector<double>& sums = sides[i].gradients;
      for (std::int64_t row = 0; row < filled; ++row)
        for (std::size_t j = 0; j < sums.size(); ++j)
          sums[j] += steps[static_cast<std::size_t>(first + row)].weight *
                     results[i].tensor.at(row * std::ssize(sums) + static_cast<std::int64_t>(j));
    }
    work->advance(static_cast<double>(filled));
  }
}

}  // namespace

Saliency saliency(const Subject& subject, const Prompt& prompt, const SaliencyOptions& options) {
  const Lowered lowered = subject.lower(1, prompt);
  subject.require_logits(lowered);
  subject.require_gradients(lowered);
  std::vector<Side> sides = sides_of(subject, lowered, prompt);
  std::vector<ValueId> ids = {lowered.points.logits};
  for (const Side& side : sides) ids.push_back(side.value);
  const Values own = subject.run(lowered, prompt, ids);
  const Tensor& logits = own.at(lowered.points.logits);

  Saliency out;
  out.metric = metric_or_best(options.metric, logits);
  const bool integrates = options.method == SaliencyMethod::integrated;
  Values baseline;
  if (integrates && options.baseline) {
    Prompt other = prompt;
    std::ranges::fill(other.ids, *options.baseline);
    std::ranges::fill(other.encoder, *options.baseline);
    baseline = subject.run(lowered, other, std::span(ids).subspan(1));
  }
  for (Side& side : sides) {
    side.own = own.at(side.value);
    side.baseline = baseline.empty() ? Tensor(side.own.dtype(), side.own.shape()) : baseline.at(side.value);
  }
  add_gradients(subject, prompt, out.metric, integrates ? steps_of(options) : std::vector<Step>{{1.0, 1.0}}, sides);
  double total = 0;
  for (const Side& side : sides) {
    const std::int64_t width = side.own.shape().back(), count = side.own.size() / width;
    std::vector<TokenSaliency>& tokens = &side == &sides.back() ? out.tokens : out.encoder;
    out.gradient = Tensor(DType::float64, {count, width});
    const bool is_gradient = options.method == SaliencyMethod::gradient;
    for (std::int64_t at = 0; at < side.own.size(); ++at) {
      const double gradient = side.gradients[static_cast<std::size_t>(at)];
      out.gradient.set(at, is_gradient ? gradient : (side.own.at(at) - side.baseline.at(at)) * gradient);
    }
    for (std::int64_t t = 0; t < count; ++t) {
      const Tensor token = rows_view(out.gradient, t, 1);
      const auto all = token.as<double>();
      const double norm = std::sqrt(std::inner_product(all.begin(), all.end(), all.begin(), 0.0));
      tokens.push_back({is_gradient ? norm : std::accumulate(all.begin(), all.end(), 0.0), norm});
      total += tokens.back().value;
    }
  }
  out.score = value_of(out.metric, logits);
  if (integrates) {
    EmbeddedPass pass(subject, prompt, sides, out.metric, 1, false);
    pass.set(0, 0.0);
    out.baseline_score = pass.run().front().tensor.at(0);
    out.gap = total - (out.score - *out.baseline_score);
  }
  return out;
}

}  // namespace attn::probe
