#include "attn/probe/attention.h"

#include <algorithm>
#include <set>

#include "attn/base/error.h"
#include "attn/base/rng.h"

namespace attn::probe {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// The attention probabilities of a block between a stack's own tokens.
struct Pattern {
  int layer = 0;
  Tensor all;              ///< (1,N,T,S)
  std::int64_t first = 0;  ///< column of the first token: GPT-OSS has a sink before them, T5Gemma 2 others behind them

  [[nodiscard]] std::int64_t heads() const { return all.shape()[1]; }
  [[nodiscard]] std::int64_t count() const { return all.shape()[2]; }
  [[nodiscard]] double at(std::int64_t head, std::int64_t t, std::int64_t s) const {
    return all.at((head * count() + t) * all.shape()[3] + first + s);
  }
};

std::vector<Pattern> patterns_of(const Subject& subject, const Prompt& prompt, bool first_stack) {
  const Lowered lowered = subject.lower(1, prompt);
  const std::string stack = (first_stack ? lowered.points.blocks.front() : lowered.points.blocks.back()).stack;
  const std::int64_t count = std::ssize(first_stack && !prompt.encoder.empty() ? prompt.encoder : prompt.ids);
  std::vector<graph::ValueId> ids;
  std::vector<Pattern> out;
  for (const Block& block : lowered.points.blocks) {
    if (block.stack != stack || block.self.pattern == graph::kNone) continue;
    const Shape& shape = lowered.graph.value(block.self.pattern).shape;
    if (shape[2] != count || shape[3] < count)
      throw bad_input("{}: the attention of layer {} has the shape {}, not a row and a column for each of {} tokens",
                      subject.loaded().file, block.layer, shape.str(), count);
    ids.push_back(block.self.pattern);
    out.push_back({block.layer, {}, prompt.encoder.empty() ? shape[3] - count : 0});
  }
  if (ids.empty()) throw bad_input("{}: the model has no probabilities of self-attention", subject.loaded().file);
  const Values values = subject.run(lowered, prompt, ids);
  for (std::size_t i = 0; i < ids.size(); ++i) out[i].all = values.at(ids[i]);
  return out;
}

Matrix fused(const Pattern& pattern, Fuse fuse) {
  const std::int64_t heads = pattern.heads(), count = pattern.count();
  Matrix out(static_cast<std::size_t>(count), std::vector<double>(static_cast<std::size_t>(count)));
  for (std::int64_t t = 0; t < count; ++t) {
    auto& row = out[static_cast<std::size_t>(t)];
    double sum = 0;
    for (std::int64_t s = 0; s < count; ++s) {
      double value = pattern.at(0, t, s);
      for (std::int64_t n = 1; n < heads; ++n) {
        const double other = pattern.at(n, t, s);
        value = fuse == Fuse::mean  ? value + other
                : fuse == Fuse::max ? std::max(value, other)
                                    : std::min(value, other);
      }
      if (fuse == Fuse::mean) value /= static_cast<double>(heads);
      row[static_cast<std::size_t>(s)] = value + (s == t ? 1.0 : 0.0);
      sum += row[static_cast<std::size_t>(s)];
    }
    for (double& value : row) value /= sum;
  }
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.size(), std::vector<double>(b.front().size()));
  std::vector<std::size_t> ends;  // for each row of `b`, the end of its columns that are not 0
  for (const auto& row : b) {
    const auto last = std::find_if(row.rbegin(), row.rend(), [](double value) { return value != 0; });
    ends.push_back(static_cast<std::size_t>(row.rend() - last));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    double* to = out[i].data();
    for (std::size_t k = 0; k < b.size(); ++k) {
      const double factor = a[i][k];
      if (factor == 0) continue;
      const double* from = b[k].data();
      for (std::size_t j = 0; j < ends[k]; ++j) to[j] += factor * from[j];
    }
  }
  return out;
}

/// The keys of each query that a score counts.
using Keys = std::vector<std::vector<std::int64_t>>;

Share share_of(const Pattern& pattern, std::int64_t head, const Keys& keys) {
  double sum = 0, all = 0, queries = 0;
  for (std::int64_t t = 0; t < pattern.count(); ++t) {
    const auto& own = keys[static_cast<std::size_t>(t)];
    for (std::int64_t s = 0; s < pattern.count(); ++s) all += pattern.at(head, t, s);
    for (const std::int64_t s : own) sum += pattern.at(head, t, s);
    if (!own.empty()) ++queries;
  }
  return {queries > 0 ? sum / queries : 0, all > 0 ? sum / all : 0};
}

}  // namespace

Rollout rollout(const Subject& subject, const Prompt& prompt, Fuse fuse) {
  Rollout out;
  for (const Pattern& pattern : patterns_of(subject, prompt, true)) {
    Matrix own = fused(pattern, fuse);
    if (!out.matrices.empty()) own = product(own, out.matrices.back());
    out.layers.push_back(pattern.layer);
    out.matrices.push_back(std::move(own));
  }
  return out;
}

std::vector<HeadScores> head_scores(const Subject& subject, const Prompt& prompt) {
  const std::size_t count = prompt.ids.size();
  Keys previous(count), duplicate(count), induction(count);
  for (std::size_t t = 0; t < count; ++t) {
    if (t > 0) previous[t].push_back(static_cast<std::int64_t>(t) - 1);
    for (std::size_t s = 0; s < t; ++s)
      if (prompt.ids[s] == prompt.ids[t]) {
        duplicate[t].push_back(static_cast<std::int64_t>(s));
        induction[t].push_back(static_cast<std::int64_t>(s) + 1);
      }
  }
  std::vector<HeadScores> out;
  for (const Pattern& pattern : patterns_of(subject, prompt, false))
    for (std::int64_t head = 0; head < pattern.heads(); ++head) {
      HeadScores scores;
      scores.layer = pattern.layer;
      scores.head = static_cast<int>(head);
      scores.previous = share_of(pattern, head, previous);
      scores.duplicate = share_of(pattern, head, duplicate);
      scores.induction = share_of(pattern, head, induction);
      scores.to_key.resize(count);
      for (std::int64_t t = 1; t < pattern.count(); ++t)
        for (std::size_t s = 0; s < count; ++s)
          scores.to_key[s] += pattern.at(head, t, static_cast<std::int64_t>(s)) / static_cast<double>(count - 1);
      scores.first = scores.to_key.front();
      out.push_back(std::move(scores));
    }
  return out;
}

Prompt repeated_prompt(const Subject& subject, std::int64_t length, std::uint64_t seed) {
  if (length < 2) throw bad_usage("a sequence that is repeated has at least 2 tokens, not {}", length);
  const Lowered one = subject.lower(1, {{0}, {0}, {}});
  const std::int64_t vocabulary = one.vocabulary.value_or(0);
  for (const auto& positions : {subject.loaded().model.most_positions(), one.fixed_length})
    if (positions) length = std::min(length, *positions / 2);
  length = std::min(length, vocabulary);
  if (length < 2)
    throw bad_input("{}: the model has too few tokens or positions for a repeated sequence", subject.loaded().file);
  RandomStream stream(seed, "repeated");
  std::set<Id> used;
  Prompt out;
  while (std::ssize(out.ids) < length) {
    const auto id = static_cast<Id>(stream.uniform() * static_cast<double>(vocabulary));
    if (used.insert(id).second) out.ids.push_back(id);
  }
  const std::vector<Id> once = out.ids;
  out.ids.insert(out.ids.end(), once.begin(), once.end());
  if (subject.has_encoder()) out.encoder = out.ids;
  return out;
}

}  // namespace attn::probe
