// Attention weights of the heads of each layer, reduced to a size that can be displayed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// The axes of a layer's scores: (items…, heads?, queries…, keys…).
struct ScoresLayout {
  std::int64_t items = 1;  ///< size of the batch
  std::int64_t heads = 1;
  std::int64_t queries = 1, keys = 1;
};

/// Returns the layouts of all scores of a graph, in the order of graph.scores.
[[nodiscard]] std::vector<ScoresLayout> scores_layouts(const graph::Graph& graph);

/// Means are over the queries that attend to at least one key and that the mask does not hide. A query of padding is
/// excluded because it may have no weight, or the same for every key. All means are 0 if no query is left.
struct HeadStats {
  double entropy = 0;  ///< mean entropy of a query's weights, in bits: 0 for one key, log2(S) for equal weights
  std::optional<double> distance;   ///< mean of |query − key|, weighted, if both count the same positions (T = S)
  double to_first = 0;              ///< weight of the first key
  std::optional<double> to_self;    ///< weight of the query's own position, if T = S
  double largest = 0;               ///< largest weight
  std::int64_t query = 0, key = 0;  ///< position of the largest weight
  std::int64_t queries = 0;         ///< queries that the means include
  std::vector<std::pair<std::int64_t, double>> top_keys;  ///< the keys of largest mean weight, up to five
};

/// The map of one head, in cells of `block` queries × `block` keys.
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
  std::int64_t non_finite = 0;  ///< number of weights that are not finite; they count as 0
  std::int64_t hidden = 0;      ///< queries that the mask hides
  std::vector<HeadMap> heads;
};

/// Limits for the size of a map.
struct MapOptions {
  std::int64_t item = 0;        ///< index in the batch
  std::optional<int> head;      ///< only this one
  std::int64_t most_cells = 0;  ///< total over all heads
  std::int64_t most_rows = 0;   ///< limit of rows, and of columns, of each head
  int threads = 1;
};

/// Returns the smallest block that satisfies all limits; the same for all layers.
[[nodiscard]] std::int64_t block_for(const std::vector<ScoresLayout>& layouts, const MapOptions& options);

/// Returns the maps of one item. `scores` and `layouts` belong to the same graph; `indices` number the layers. `hidden`
/// lists the masked queries of each layer, or is empty.
[[nodiscard]] std::vector<LayerMap> attention_maps(const std::vector<NamedTensor>& scores,
                                                   const std::vector<ScoresLayout>& layouts,
                                                   const std::vector<int>& indices, const MapOptions& options,
                                                   const std::vector<std::vector<bool>>& hidden = {});

}  // namespace attn::run
