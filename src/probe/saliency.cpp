#include "attn/probe/saliency.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/base/error.h"
#include "attn/gradients/gradients.h"
#include "attn/open/session.h"
#include "attn/plan/passes.h"
#include "attn/probe/edits.h"
#include "metric_graph.h"
#include "requirements.h"

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

/// The gradients of a batch of embeddings.
class EmbeddingGradients {
 public:
  /// Each row of a batch reads its own embeddings, given as inputs for `embeds`.
  EmbeddingGradients(const Subject& subject, const Prompt& prompt, const std::vector<ValueId>& embeds,
                     const Metric& metric, std::int64_t rows, bool gradients)
      : rows_(rows) {
    Lowered lowered = subject.lower(rows, prompt);
    // The inputs are recognized by the tables that they index, which an embedding given as an input leaves out.
    arrays_ = subject.inputs(lowered.graph, std::vector<Prompt>(static_cast<std::size_t>(rows), prompt));
    graph::Graph graph = std::move(lowered.graph);
    const std::size_t own = graph.inputs.size();
    std::vector<ValueId> inputs;
    for (const ValueId embed : embeds) {
      graph = replace(std::move(graph), embed, "probe/embed");
      inputs.push_back(graph.inputs.back());
    }
    const ValueId sum = append_metric(graph, lowered.points.logits, metric);
    if (gradients) {
      gradients::Differentiated backward = gradients::differentiate(plan::remove_dead(std::move(graph)), sum, inputs);
      graph = std::move(backward.graph);
      graph.outputs.clear();
      for (const ValueId gradient : backward.gradients) {
        if (gradient == graph::kNone) throw bad_input("the score does not depend on the embeddings");
        graph = capture(std::move(graph), gradient, "");
      }
    }
    for (const ValueId input : inputs) arrays_.emplace_back(graph.value(input).dtype, graph.value(input).shape);
    own_ = own;
    session_ = subject.compile(std::move(graph));
  }

  /// Returns the place of the embeddings `which` of a row.
  void set(std::size_t which, std::int64_t row, const Tensor& embed, const Tensor& baseline, double alpha) {
    const Tensor& all = arrays_[own_ + which];
    const std::int64_t size = all.size() / rows_;
    for (std::int64_t i = 0; i < size; ++i)
      all.set(row * size + i, baseline.at(i) + alpha * (embed.at(i) - baseline.at(i)));
  }
  [[nodiscard]] std::vector<NamedTensor> run() {
    session_->run(arrays_);
    return session_->outputs();
  }

 private:
  std::int64_t rows_;
  std::size_t own_ = 0;
  std::vector<Tensor> arrays_;
  std::unique_ptr<run::Session> session_;
};

}  // namespace

Saliency saliency(const Subject& subject, const Prompt& prompt, const SaliencyOptions& options) {
  const Lowered lowered = subject.lower(1, prompt);
  require_logits(subject, lowered);
  require_gradients(subject, lowered);
  std::vector<ValueId> embeds;
  if (lowered.points.encoder_embed != graph::kNone) embeds.push_back(lowered.points.encoder_embed);
  if (lowered.points.embed == graph::kNone)
    throw bad_input("{}: the rows of the token table were not found, so their gradients are unknown",
                    subject.loaded().file);
  embeds.push_back(lowered.points.embed);
  for (const ValueId embed : embeds) {
    const Shape& shape = lowered.graph.value(embed).shape;
    const std::vector<Id>& ids = embed == lowered.points.embed ? prompt.ids : prompt.encoder;
    if (shape.rank() != 3 || shape[1] != std::ssize(ids))
      throw bad_input("{}: the rows of the token table have the shape {}, not one for each of {} tokens",
                      subject.loaded().file, shape.str(), ids.size());
  }
  std::vector<ValueId> ids = embeds;
  ids.push_back(lowered.points.logits);
  const Values own = subject.run(lowered, prompt, ids);
  const Tensor& logits = own.at(lowered.points.logits);
  const std::int64_t rows_of_logits = logits.size() / logits.shape().back();

  Saliency out;
  out.metric = options.metric.value_or(Metric{best_token(logits, rows_of_logits - 1), {}});
  require_tokens(lowered, out.metric);
  const bool integrates = options.method == SaliencyMethod::integrated;
  Values baseline;
  for (const ValueId embed : embeds) baseline.emplace(embed, Tensor(own.at(embed).dtype(), own.at(embed).shape()));
  if (integrates && options.baseline) {
    Prompt other = prompt;
    std::ranges::fill(other.ids, *options.baseline);
    std::ranges::fill(other.encoder, *options.baseline);
    baseline = subject.run(lowered, other, embeds);
  }
  const std::vector<Step> steps = integrates ? steps_of(options) : std::vector<Step>{{1.0, 1.0}};
  const auto count = static_cast<std::int64_t>(steps.size());
  const std::int64_t rows = std::min<std::int64_t>(count, 8);
  std::vector<std::vector<double>> sums;
  for (const ValueId embed : embeds) sums.emplace_back(static_cast<std::size_t>(own.at(embed).size()));
  {
    EmbeddingGradients gradients(subject, prompt, embeds, out.metric, rows, true);
    const auto work = subject.listener().begin("differentiating", static_cast<double>(count));
    for (std::int64_t first = 0; first < count; first += rows) {
      const std::int64_t filled = std::min(rows, count - first);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::size_t i = 0; i < embeds.size(); ++i)
          gradients.set(i, row, own.at(embeds[i]), baseline.at(embeds[i]),
                        steps[static_cast<std::size_t>(first + std::min(row, filled - 1))].alpha);
      const std::vector<NamedTensor> results = gradients.run();
      for (std::size_t i = 0; i < embeds.size(); ++i)
        for (std::int64_t row = 0; row < filled; ++row)
          for (std::size_t j = 0; j < sums[i].size(); ++j)
            sums[i][j] += steps[static_cast<std::size_t>(first + row)].weight *
                          results[i].tensor.at(row * std::ssize(sums[i]) + static_cast<std::int64_t>(j));
      work->advance(static_cast<double>(filled));
    }
  }
  double total = 0;
  for (std::size_t i = 0; i < embeds.size(); ++i) {
    const Tensor &embed = own.at(embeds[i]), &from = baseline.at(embeds[i]);
    const std::int64_t width = embed.shape().back();
    std::vector<TokenSaliency>& tokens = i + 1 == embeds.size() ? out.tokens : out.encoder;
    Tensor each(DType::float64, {embed.size() / width, width});
    for (std::int64_t at = 0; at < embed.size(); ++at) {
      const double gradient = sums[i][static_cast<std::size_t>(at)];
      each.set(at, options.method == SaliencyMethod::gradient ? gradient : (embed.at(at) - from.at(at)) * gradient);
    }
    for (std::int64_t t = 0; t < embed.size() / width; ++t) {
      TokenSaliency token;
      for (std::int64_t j = 0; j < width; ++j) {
        token.value += each.at(t * width + j);
        token.norm += each.at(t * width + j) * each.at(t * width + j);
      }
      token.norm = std::sqrt(token.norm);
      if (options.method == SaliencyMethod::gradient) token.value = token.norm;
      total += token.value;
      tokens.push_back(token);
    }
    out.gradient = each;
  }
  const std::int64_t width = logits.shape().back();
  out.score = value_of(out.metric, logits.reshaped({rows_of_logits, width}));
  if (integrates) {
    EmbeddingGradients at_baseline(subject, prompt, embeds, out.metric, 1, false);
    for (std::size_t i = 0; i < embeds.size(); ++i)
      at_baseline.set(i, 0, own.at(embeds[i]), baseline.at(embeds[i]), 0.0);
    out.baseline_score = at_baseline.run().front().tensor.at(0);
    out.gap = total - (out.score - *out.baseline_score);
  }
  return out;
}

}  // namespace attn::probe
