#include "attn/probe/attention.h"

#include <algorithm>
#include <set>

#include "attn/base/error.h"
#include "attn/base/rng.h"

namespace attn::probe {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Returns the columns (1,N,T,T) of a stack's own tokens, from `first` on. Attention may have a column for a sink
/// before them (GPT-OSS), or columns for an encoder's tokens behind them (T5Gemma 2).
Tensor own_columns(const Tensor& pattern, std::int64_t count, std::int64_t first) {
  const std::int64_t columns = pattern.shape()[3], rows = pattern.shape()[1] * count;
  if (columns == count) return pattern;
  Tensor out(pattern.dtype(), {1, pattern.shape()[1], count, count});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t s = 0; s < count; ++s) out.set(row * count + s, pattern.at(row * columns + first + s));
  return out;
}

/// Returns the blocks of a stack with the probabilities (1,N,T,T) of its own tokens.
std::vector<std::pair<int, Tensor>> patterns_of(const Subject& subject, const Prompt& prompt, bool first_stack) {
  const Lowered lowered = subject.lower(1, prompt);
  const std::string stack = (first_stack ? lowered.points.blocks.front() : lowered.points.blocks.back()).stack;
  std::vector<graph::ValueId> ids;
  std::vector<int> layers;
  for (const Block& block : lowered.points.blocks) {
    if (block.stack != stack || block.self.pattern == graph::kNone) continue;
    ids.push_back(block.self.pattern);
    layers.push_back(block.layer);
  }
  if (ids.empty()) throw bad_input("{}: the model has no probabilities of self-attention", subject.loaded().file);
  const std::int64_t count = std::ssize(first_stack && !prompt.encoder.empty() ? prompt.encoder : prompt.ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const Shape& shape = lowered.graph.value(ids[i]).shape; shape[2] != count || shape[3] < count)
      throw bad_input("{}: the attention of layer {} has the shape {}, not a row and a column for each of {} tokens",
                      subject.loaded().file, layers[i], shape.str(), count);
  const Values values = subject.run(lowered, prompt, ids);
  std::vector<std::pair<int, Tensor>> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Tensor& pattern = values.at(ids[i]);
    const std::int64_t first = prompt.encoder.empty() ? pattern.shape()[3] - count : 0;
    out.emplace_back(layers[i], own_columns(pattern, count, first));
  }
  return out;
}

Matrix fused(const Tensor& pattern, Fuse fuse) {
  const std::int64_t heads = pattern.shape()[1], count = pattern.shape()[2];
  Matrix out(static_cast<std::size_t>(count), std::vector<double>(static_cast<std::size_t>(count)));
  for (std::int64_t t = 0; t < count; ++t) {
    auto& row = out[static_cast<std::size_t>(t)];
    double sum = 0;
    for (std::int64_t s = 0; s < count; ++s) {
      double value = pattern.at(t * count + s);
      for (std::int64_t n = 1; n < heads; ++n) {
        const double other = pattern.at((n * count + t) * count + s);
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
using Keys = std::vector<std::vector<std::size_t>>;

Share share_of(const Tensor& pattern, std::int64_t head, const Keys& keys) {
  const std::int64_t count = pattern.shape()[2];
  double sum = 0, all = 0, queries = 0;
  for (std::int64_t t = 0; t < count; ++t) {
    const auto& own = keys[static_cast<std::size_t>(t)];
    for (std::int64_t s = 0; s < count; ++s) all += pattern.at((head * count + t) * count + s);
    for (const std::size_t s : own) sum += pattern.at((head * count + t) * count + static_cast<std::int64_t>(s));
    if (!own.empty()) ++queries;
  }
  return {queries > 0 ? sum / queries : 0, all > 0 ? sum / all : 0};
}

}  // namespace

Rollout rollout(const Subject& subject, const Prompt& prompt, Fuse fuse) {
  Rollout out;
  for (const auto& [layer, pattern] : patterns_of(subject, prompt, true)) {
    Matrix own = fused(pattern, fuse);
    if (!out.matrices.empty()) own = product(own, out.matrices.back());
    out.layers.push_back(layer);
    out.matrices.push_back(std::move(own));
  }
  return out;
}

std::vector<HeadScores> head_scores(const Subject& subject, const Prompt& prompt) {
  const std::size_t count = prompt.ids.size();
  Keys previous(count), duplicate(count), induction(count);
  for (std::size_t t = 0; t < count; ++t) {
    if (t > 0) previous[t].push_back(t - 1);
    for (std::size_t s = 0; s < t; ++s)
      if (prompt.ids[s] == prompt.ids[t]) {
        duplicate[t].push_back(s);
        induction[t].push_back(s + 1);
      }
  }
  std::vector<HeadScores> out;
  for (const auto& [layer, pattern] : patterns_of(subject, prompt, false)) {
    const std::int64_t length = pattern.shape()[2];
    for (std::int64_t head = 0; head < pattern.shape()[1]; ++head) {
      HeadScores scores;
      scores.layer = layer;
      scores.head = static_cast<int>(head);
      scores.previous = share_of(pattern, head, previous);
      scores.duplicate = share_of(pattern, head, duplicate);
      scores.induction = share_of(pattern, head, induction);
      scores.to_key.resize(static_cast<std::size_t>(length));
      for (std::int64_t t = 1; t < length; ++t)
        for (std::int64_t s = 0; s < length; ++s)
          scores.to_key[static_cast<std::size_t>(s)] +=
              pattern.at((head * length + t) * length + s) / static_cast<double>(length - 1);
      scores.first = scores.to_key.front();
      out.push_back(std::move(scores));
    }
  }
  return out;
}

Prompt repeated_prompt(const Subject& subject, std::int64_t length, std::uint64_t seed) {
  if (length < 2) throw bad_usage("a sequence that is repeated has at least 2 tokens, not {}", length);
  const std::int64_t vocabulary = subject.vocabulary().value_or(0);
  for (const auto& positions : {subject.loaded().model.most_positions(), subject.fixed_length()})
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
