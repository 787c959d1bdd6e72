// What the heads of attention layers attended to, made small enough to look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// How the scores of a layer are read: (items…, heads?, queries…, keys…).
struct ScoresLayout {
  std::int64_t items = 1;  ///< of the batch
  std::int64_t heads = 1;
  std::int64_t queries = 1, keys = 1;
};

/// The layouts of all scores that a graph gives, in the order of graph.scores.
[[nodiscard]] std::vector<ScoresLayout> scores_layouts(const graph::Graph& graph);

/// Means are over the queries that attend to anything and that a mask does not hide: those of padding may have no
/// weight at all, or the same for every key. Without such a query all are 0.
struct HeadStats {
  double entropy = 0;               ///< of a query's weights, in bits: 0 for one key, log2(S) for all alike
  std::optional<double> distance;   ///< |query − key| by weight, where both count the same positions (T = S)
  double to_first = 0;              ///< weight of the first key
  std::optional<double> to_self;    ///< weight of the query's own position, where T = S
  double largest = 0;               ///< weight
  std::int64_t query = 0, key = 0;  ///< where it is
  std::int64_t queries = 0;         ///< that count
  std::vector<std::pair<std::int64_t, double>> top_keys;  ///< those of the largest mean weight above 0, up to five
};

/// One head, in cells of `block` queries by `block` keys.
struct HeadMap {
  int head = 0;
  HeadStats stats;
  std::vector<float> cells;  ///< (rows, columns): the mean weight of a block
};

struct LayerMap {
  std::string name;
  int index = 0;  ///< among the attention layers
  std::int64_t queries = 0, keys = 0;
  std::int64_t block = 1, rows = 0, columns = 0;
  std::int64_t non_finite = 0;  ///< weights, which count as 0
  std::int64_t hidden = 0;      ///< queries that a mask hides
  std::vector<HeadMap> heads;
};

/// Sizes of cells for a picture.
struct MapOptions {
  std::int64_t item = 0;        ///< which of the batch
  std::optional<int> head;      ///< only this one
  std::int64_t most_cells = 0;  ///< of all heads together
  std::int64_t most_rows = 0;   ///< and columns, of each head
  int threads = 1;
};

/// The smallest block, one for all layers, with which no limit is passed.
[[nodiscard]] std::int64_t block_for(const std::vector<ScoresLayout>& layouts, const MapOptions& options);

/// The maps of one item. `scores` and `layouts` are those of the same graph; `indices` number the layers. `hidden` are
/// the queries of each that a mask hides, or nothing.
[[nodiscard]] std::vector<LayerMap> attention_maps(const std::vector<NamedTensor>& scores,
                                                   const std::vector<ScoresLayout>& layouts,
                                                   const std::vector<int>& indices, const MapOptions& options,
                                                   const std::vector<std::vector<bool>>& hidden = {});

}  // namespace attn::run
