#include "attn/run/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "attn/base/parallel.h"

namespace attn::run {
namespace {

std::int64_t cells_along(std::int64_t positions, std::int64_t block) { return (positions + block - 1) / block; }

/// Returns the number of key axes: those over which the softmax of the scores runs.
int key_axes(const graph::Graph& graph, graph::ValueId scores) {
  for (const graph::Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), scores) == node.outputs.end()) continue;
    if (const auto* softmax = std::get_if<graph::Softmax>(&node.op)) return static_cast<int>(softmax->axes.size());
    // Attention over several axes is computed with flattened axes; its scores are reshaped to (B,…,N,T…,S…).
    if (std::holds_alternative<graph::Reshape>(node.op)) {
      const Shape flat = graph.value(node.inputs.front()).shape, full = graph.value(scores).shape;
      std::int64_t keys = 1;
      for (int axes = 1; axes < full.rank(); ++axes) {
        keys *= full[-axes];
        if (keys == flat[-1]) return axes;
      }
    }
  }
  return 1;
}

ScoresLayout layout_of(const Shape& shape, int key_axes) {
  ScoresLayout out;
  const int rank = shape.rank(), before = rank - 2 * key_axes;
  for (int axis = 0; axis < rank; ++axis) {
    // Scores of shape (B, T, S) have no head axis.
    const bool head = axis == before - 1 && before > 1;
    std::int64_t& size = axis >= rank - key_axes ? out.keys
                         : axis >= before        ? out.queries
                         : head                  ? out.heads
                                                 : out.items;
    size *= shape[axis];
  }
  return out;
}

/// Accumulates sums over the queries of a head, row by row.
class HeadSummary {
 public:
  HeadSummary(std::int64_t queries, std::int64_t keys) : square_(queries == keys) {}

  void add_row(std::int64_t query, std::span<const float> weights) {
    double sum = 0, entropy = 0, distance = 0;
    for (std::size_t key = 0; key < weights.size(); ++key) {
      const float weight = weights[key];
      if (weight <= 0.0F) continue;
      sum += weight;
      entropy -= static_cast<double>(weight) * std::log2(weight);
      distance += static_cast<double>(weight) * static_cast<double>(std::abs(query - static_cast<std::int64_t>(key)));
      if (weight > stats_.largest) {
        stats_.largest = weight;
        stats_.query = query;
        stats_.key = static_cast<std::int64_t>(key);
      }
    }
    if (sum <= 0) return;
    ++stats_.queries;
    entropy_ += std::max(0.0, entropy);
    distance_ += distance;
    to_first_ += weights.front();
    if (square_) to_self_ += weights[static_cast<std::size_t>(query)];
    to_keys_.resize(weights.size());
    for (std::size_t key = 0; key < weights.size(); ++key) to_keys_[key] += weights[key];
  }

  [[nodiscard]] HeadStats stats() const {
    HeadStats out;
    out.largest = stats_.largest;
    out.query = stats_.query;
    out.key = stats_.key;
    out.queries = stats_.queries;
    const double count = std::max<double>(1, static_cast<double>(out.queries));
    out.entropy = entropy_ / count;
    out.to_first = to_first_ / count;
    if (square_) out.distance = distance_ / count;
    if (square_) out.to_self = to_self_ / count;
    constexpr std::size_t kTop = 5;
    std::vector<std::int64_t> keys(to_keys_.size());
    std::iota(keys.begin(), keys.end(), 0);
    const auto weight = [&](std::int64_t key) { return to_keys_[static_cast<std::size_t>(key)]; };
    const auto behind = keys.begin() + static_cast<std::ptrdiff_t>(std::min(kTop, keys.size()));
    std::partial_sort(keys.begin(), behind, keys.end(), [&](std::int64_t a, std::int64_t b) {
      return weight(a) != weight(b) ? weight(a) > weight(b) : a < b;
    });
    for (auto key = keys.begin(); key != behind && weight(*key) > 0; ++key)
      out.top_keys.emplace_back(*key, weight(*key) / count);
    return out;
  }

 private:
  bool square_;
  HeadStats stats_;
  double entropy_ = 0, distance_ = 0, to_first_ = 0, to_self_ = 0;
  std::vector<double> to_keys_;
};

/// Fills in one head from its weights (queries, keys), which begin at element `first` of the scores. Returns the number
/// of weights that are not finite.
std::int64_t map_head(const Tensor& scores, std::int64_t first, const LayerMap& layer, const std::vector<bool>& hidden,
                      HeadMap& head) {
  HeadSummary summary(layer.queries, layer.keys);
  head.cells.assign(static_cast<std::size_t>(layer.rows * layer.columns), 0.0F);
  std::vector<float> row(static_cast<std::size_t>(layer.keys));
  std::vector<double> sums(static_cast<std::size_t>(layer.columns));
  const auto block = static_cast<std::size_t>(layer.block);
  std::int64_t non_finite = 0;
  for (std::int64_t query = 0; query < layer.queries; ++query) {
    const std::int64_t at = first + query * layer.keys;
    if (scores.dtype() == DType::float32) {
      const auto weights = scores.as<float>().subspan(static_cast<std::size_t>(at), row.size());
      std::copy(weights.begin(), weights.end(), row.begin());
    } else {
      for (std::int64_t key = 0; key < layer.keys; ++key)
        row[static_cast<std::size_t>(key)] = static_cast<float>(scores.at(at + key));
    }
    for (float& weight : row) {
      if (std::isfinite(weight)) continue;
      ++non_finite;
      weight = 0.0F;
    }
    if (hidden.empty() || !hidden[static_cast<std::size_t>(query)]) summary.add_row(query, row);
    for (std::size_t column = 0, key = 0; column < sums.size(); ++column)
      for (const std::size_t behind = std::min(row.size(), key + block); key < behind; ++key) sums[column] += row[key];
    const std::int64_t map_row = query / layer.block;
    const bool last = query + 1 == layer.queries || (query + 1) % layer.block == 0;
    if (!last) continue;
    const std::int64_t rows = query + 1 - map_row * layer.block;
    for (std::size_t column = 0; column < sums.size(); ++column) {
      const std::size_t keys = std::min(block, row.size() - column * block);
      head.cells[static_cast<std::size_t>(map_row * layer.columns) + column] =
          static_cast<float>(sums[column] / static_cast<double>(rows * static_cast<std::int64_t>(keys)));
    }
    std::fill(sums.begin(), sums.end(), 0.0);
  }
  head.stats = summary.stats();
  return non_finite;
}

}  // namespace

std::vector<ScoresLayout> scores_layouts(const graph::Graph& graph) {
  std::vector<ScoresLayout> out;
  for (const graph::Scores& scores : graph.scores)
    out.push_back(layout_of(graph.value(scores.value).shape, key_axes(graph, scores.value)));
  return out;
}

std::int64_t block_for(const std::vector<ScoresLayout>& layouts, const MapOptions& options) {
  std::int64_t longest = 1;
  for (const ScoresLayout& layout : layouts) longest = std::max({longest, layout.queries, layout.keys});
  const auto fits = [&](std::int64_t block) {
    std::int64_t cells = 0;
    for (const ScoresLayout& layout : layouts) {
      const std::int64_t rows = cells_along(layout.queries, block), columns = cells_along(layout.keys, block);
      if (std::max(rows, columns) > options.most_rows) return false;
      cells += rows * columns * (options.head ? 1 : layout.heads);
      if (cells > options.most_cells) return false;
    }
    return true;
  };
  std::int64_t block = 1;
  while (block < longest && !fits(block)) ++block;
  return block;
}

std::vector<LayerMap> attention_maps(const std::vector<NamedTensor>& scores, const std::vector<ScoresLayout>& layouts,
                                     const std::vector<int>& indices, const MapOptions& options,
                                     const std::vector<std::vector<bool>>& hidden) {
  const auto hidden_in = [&](std::size_t layer) -> const std::vector<bool>& {
    static const std::vector<bool> kNone;
    return layer < hidden.size() ? hidden[layer] : kNone;
  };
  const std::int64_t block = block_for(layouts, options);
  std::vector<LayerMap> out;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ScoresLayout& layout = layouts[i];
    LayerMap layer;
    layer.name = scores[i].name;
    layer.index = indices[i];
    layer.queries = layout.queries;
    layer.keys = layout.keys;
    layer.block = block;
    layer.rows = cells_along(layout.queries, block);
    layer.columns = cells_along(layout.keys, block);
    layer.hidden = std::count(hidden_in(i).begin(), hidden_in(i).end(), true);
    for (std::int64_t head = 0; head < layout.heads; ++head) {
      if (options.head && *options.head != head) continue;
      layer.heads.emplace_back();
      layer.heads.back().head = static_cast<int>(head);
    }
    out.push_back(std::move(layer));
  }

  struct Job {
    std::size_t layer, head;
  };
  std::vector<Job> jobs;
  for (std::size_t layer = 0; layer < out.size(); ++layer)
    for (std::size_t head = 0; head < out[layer].heads.size(); ++head) jobs.push_back({layer, head});
  std::vector<std::int64_t> non_finite(jobs.size());
  for_each_part(static_cast<std::int64_t>(jobs.size()), options.threads, [&](std::int64_t part) {
    const auto job = static_cast<std::size_t>(part);
    const ScoresLayout& layout = layouts[jobs[job].layer];
    LayerMap& layer = out[jobs[job].layer];
    HeadMap& head = layer.heads[jobs[job].head];
    const std::int64_t first = (options.item * layout.heads + head.head) * layout.queries * layout.keys;
    non_finite[job] = map_head(scores[jobs[job].layer].tensor, first, layer, hidden_in(jobs[job].layer), head);
  });
  for (std::size_t job = 0; job < jobs.size(); ++job) out[jobs[job].layer].non_finite += non_finite[job];
  return out;
}

}  // namespace attn::run
