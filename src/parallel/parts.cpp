#include "attn/parallel/parts.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/parallel/buckets.h"
#include "frame.h"

namespace attn::parallel {
namespace {

using graph::at;
using graph::BinaryFn;
using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::ValueId;

/// A subtree of the sum: the parts from `from` on, at most `span` of them, a power of two.
struct Block {
  int from = 0, span = 1;
  friend bool operator==(const Block&, const Block&) = default;

  [[nodiscard]] Block left() const { return {from, span / 2}; }
  [[nodiscard]] Block right() const { return {from + span / 2, span / 2}; }
};

Block root_of(int parts) { return {0, static_cast<int>(std::bit_ceil(static_cast<unsigned>(parts)))}; }

/// Collects the largest subtrees within [from, to), in order.
void collect(const Block& block, int from, int to, int parts, std::vector<Block>& found) {
  const int end = std::min(block.from + block.span, parts);
  if (block.from >= end || end <= from || block.from >= to) return;
  if (block.from >= from && end <= to) {
    found.push_back(block);
    return;
  }
  collect(block.left(), from, to, parts, found);
  collect(block.right(), from, to, parts, found);
}

/// Joins the graphs of a rank's parts into one graph. They have the same nodes with different sizes.
class Joining {
 public:
  Joining(const Graph& model, int parts, int rank, int ranks)
      : parts_(parts), rank_(rank), ranks_(ranks), result_{frame_of(model), {}, {}, {}}, build_(result_.graph) {
    const Split split{0, shares(parts, ranks)};
    for (int other = 0; other < ranks; ++other) {
      const int from = static_cast<int>(split.from(other));
      blocks_.emplace_back();
      collect(root_of(parts), from, from + static_cast<int>(split.size(other)), parts, blocks_.back());
    }
    first_ = static_cast<int>(split.from(rank));
    // A rank without parts still takes part in the collectives. It uses the graph of the last part for their sizes.
    const int own = static_cast<int>(split.size(rank));
    is_idle_ = own == 0;
    for (int i = 0; i < std::max(own, 1); ++i) {
      const int part = is_idle_ ? parts - 1 : first_ + i;
      Parallel local = parallelize(model, Kind::data, part, parts);
      local.graph = bucket_sums(std::move(local.graph), std::numeric_limits<std::int64_t>::max());
      if (i == 0) {
        result_.shared = local.shared;
        result_.left_whole = local.left_whole;
      }
      now_.emplace_back(local.graph.values.size(), kNone);
      locals_.push_back(std::move(local));
    }
  }

  Parallel run() && {
    bring_in_inputs();
    const Graph& first = locals_[0].graph;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < first.nodes.size(); ++i) {
      if (!graph::is_collective(first.nodes[i].op)) continue;
      combine(begin, i);
      begin = i + 1;
    }
    for (std::size_t part = 0; part < locals_.size(); ++part) copy(part, begin, first.nodes.size());
    for (const graph::Output& output : first.outputs)
      result_.graph.outputs.push_back({output.name, get(0, output.value), output.layer});
    for (const graph::Scores& scores : first.scores)
      result_.graph.scores.push_back({scores.name, get(0, scores.value)});
    return std::move(result_);
  }

 private:
  void bring_in_inputs() {
    for (const ValueId input : locals_[0].graph.inputs) {
      const graph::Value& value = locals_[0].graph.value(input);
      now_[0][at(input)] = build_.input(value.name, value.dtype, value.shape);
    }
    for (std::size_t part = 1; part < locals_.size(); ++part)
      for (std::size_t i = 0; i < locals_[part].graph.inputs.size(); ++i)
        now_[part][at(locals_[part].graph.inputs[i])] = result_.graph.inputs[i];
  }

  /// Returns the value in the joint graph that replaces value `id` of a part's graph.
  ValueId get(std::size_t part, ValueId id) {
    ValueId& now = now_[part][at(id)];
    if (now != kNone) return now;
    const graph::Value& value = locals_[part].graph.value(id);
    if (value.kind == graph::ValueKind::constant) {
      now = build_.constant(value.constant);
    } else if (value.kind == graph::ValueKind::weight) {
      const LocalWeight& local = locals_[part].weights[at(value.weight)];
      if (local.zeros || !local.splits.empty())
        throw bad_usage("the weight '{}' has rows of the batch, which parts of it cannot share", value.name);
      const std::size_t before = result_.graph.weights.size();
      now = build_.weight(locals_[part].graph.weights[at(value.weight)]);
      if (result_.graph.weights.size() > before) result_.weights.push_back(local);
    } else {
      throw internal_error("value {} of a part is needed before it is made", id);
    }
    return now;
  }

  /// Copies nodes [begin, end) of a part.
  void copy(std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Node& node = locals_[part].graph.nodes[i];
      std::vector<ValueId> inputs;
      for (const ValueId id : node.inputs) inputs.push_back(get(part, id));
      build_.set_layer(node.layer);
      const std::vector<ValueId> outputs = build_.apply_all(node.op, std::move(inputs));
      for (std::size_t k = 0; k < outputs.size(); ++k) now_[part][at(node.outputs[k])] = outputs[k];
    }
  }

  /// Adds the nodes of all parts from `begin` up to the collective at `index`, and the collective.
  void combine(std::size_t begin, std::size_t index) {
    const graph::Op& op = locals_[0].graph.nodes[index].op;
    ValueId met = kNone;
    if (const auto* sum = std::get_if<graph::AllReduce>(&op)) {
      met = sum_of(begin, index, sum->maximum ? BinaryFn::maximum : BinaryFn::add);
    } else if (const auto* gather = std::get_if<graph::AllGather>(&op)) {
      met = gather_of(begin, index, *gather);
    } else {
      throw internal_error("parts of a batch cannot run the collective {}", graph::name_of(op));
    }
    for (std::size_t part = 0; part < locals_.size(); ++part)
      now_[part][at(locals_[part].graph.nodes[index].outputs[0])] = met;
  }

  /// Adds a part's nodes up to the collective, and returns the part's operand of the collective.
  ValueId given(std::size_t part, std::size_t begin, std::size_t index) {
    copy(part, begin, index);
    build_.set_layer(locals_[part].graph.nodes[index].layer);
    return get(part, locals_[part].graph.nodes[index].inputs[0]);
  }

  ValueId sum_of(std::size_t begin, std::size_t index, BinaryFn fn) {
    struct Pending {
      Block block;
      ValueId row = kNone;
    };
    std::vector<Pending> pending;
    Shape shape;
    DType dtype = DType::float32;
    for (std::size_t part = 0; part < locals_.size(); ++part) {
      const ValueId own = given(part, begin, index);
      shape = build_.shape(own);
      dtype = build_.dtype(own);
      pending.push_back({{first_ + static_cast<int>(part), 1}, row_of(own)});
      // Two sibling subtrees are added as soon as both exist, so that few are held at a time.
      for (bool joins = true; joins;) {
        joins = false;
        const Block last = pending.back().block;
        const Block above{last.from / (2 * last.span) * 2 * last.span, 2 * last.span};
        if (above.span > root_of(parts_).span) break;
        if (last == above.right() && pending.size() > 1 && pending[pending.size() - 2].block == above.left()) {
          const ValueId right = pending.back().row;
          pending.pop_back();
          pending.back() = {above, build_.binary(fn, pending.back().row, right)};
          joins = true;
        } else if (last == above.left() && above.right().from >= parts_) {
          pending.back().block = above;  // the block has no right sibling
          joins = true;
        }
      }
    }
    std::vector<ValueId> rows;
    if (!is_idle_)
      for (const Pending& each : pending) rows.push_back(each.row);
    const ValueId together = exchange(rows, build_.shape(pending[0].row)[1], build_.dtype(pending[0].row));
    std::vector<Block> all;
    for (const std::vector<Block>& blocks : blocks_) all.insert(all.end(), blocks.begin(), blocks.end());
    return build_.cast(build_.reshape(tree(root_of(parts_), all, together, fn), shape), dtype);
  }

  /// Returns a part's operand as a flat array in float32 or wider, so that sums are not rounded to half precision. The
  /// Concat prevents that its producer is fused with the addition: only ranks with both parts could do so, and might
  /// round differently.
  ValueId row_of(ValueId own) {
    const DType dtype = build_.dtype(own);
    const bool is_half = dtype == DType::float16 || dtype == DType::bfloat16;
    const ValueId wide = is_half ? build_.cast(own, DType::float32) : own;
    return build_.apply(graph::Concat{0}, {build_.reshape(wide, {1, build_.shape(wide).size()})});
  }

  ValueId row(ValueId rows, Dim index) {
    graph::Slice slice;
    slice.ranges.resize(2);
    slice.ranges[0] = {index, index + 1, 1};
    return build_.apply(slice, {rows});
  }

  /// Exchanges this rank's subtrees with those of the other ranks.
  ValueId exchange(const std::vector<ValueId>& rows, Dim size, DType dtype) {
    ValueId own = kNone;
    if (rows.empty()) {
      own = build_.constant(Tensor(dtype, {0, size}));
    } else {
      own = rows.size() == 1 ? rows[0] : build_.apply(graph::Concat{0}, rows);
    }
    if (ranks_ == 1) return own;
    graph::AllGather gather{0, {}, rank_};
    for (const std::vector<Block>& blocks : blocks_) gather.sizes.push_back(static_cast<Dim>(blocks.size()));
    return build_.apply(gather, {own});
  }

  ValueId tree(const Block& block, const std::vector<Block>& all, ValueId rows, BinaryFn fn) {
    if (block.from >= parts_) return kNone;
    if (const auto found = std::ranges::find(all, block); found != all.end())
      return all.size() == 1 ? rows : row(rows, found - all.begin());
    const ValueId left = tree(block.left(), all, rows, fn), right = tree(block.right(), all, rows, fn);
    return right == kNone ? left : build_.binary(fn, left, right);
  }

  ValueId gather_of(std::size_t begin, std::size_t index, const graph::AllGather& op) {
    std::vector<ValueId> rows;
    for (std::size_t part = 0; part < locals_.size(); ++part) rows.push_back(given(part, begin, index));
    ValueId own = rows.size() == 1 ? rows[0] : build_.apply(graph::Concat{op.axis}, rows);
    if (is_idle_) {
      Shape none = build_.shape(own);
      none[op.axis] = 0;
      own = build_.constant(Tensor(build_.dtype(own), none));
    }
    if (ranks_ == 1) return own;
    const Split split{0, shares(parts_, ranks_)};
    graph::AllGather gather{op.axis, {}, rank_};
    for (int other = 0; other < ranks_; ++other) {
      const auto from = op.sizes.begin() + split.from(other);
      gather.sizes.push_back(std::accumulate(from, from + split.size(other), Dim{0}));
    }
    return build_.apply(gather, {own});
  }

  int parts_, rank_, ranks_;
  int first_ = 0;
  bool is_idle_ = false;
  std::vector<std::vector<Block>> blocks_;  // the subtrees of each rank
  std::vector<Parallel> locals_;
  std::vector<std::vector<ValueId>> now_;  // [part][value of the part's graph]
  Parallel result_;
  graph::Builder build_;
};

}  // namespace

Parallel share_parts(const Graph& graph, int parts, int rank, int ranks) {
  return Joining(graph, parts, rank, ranks).run();
}

}  // namespace attn::parallel
