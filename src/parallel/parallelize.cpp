#include "attn/parallel/parallelize.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "frame.h"
#include "ring.h"
#include "strategy.h"

namespace attn::parallel {
namespace {

using graph::at;
using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using graph::ValueKind;
using Method = Strategy::Method;

/// Collects, for each value of the model's graph, the layouts in which its readers need it.
class Layouts {
 public:
  Layouts(const Graph& graph, const Strategies& strategies) : of_(graph.values.size()) {
    for (const graph::Output& output : graph.outputs) add(output.value, std::nullopt);
    for (const graph::Scores& scores : graph.scores) add(scores.value, std::nullopt);
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      for (std::size_t i = 0; i < node->outputs.size(); ++i) {
        const ValueId value = node->outputs[i];
        // A whole value may be derived from a shard, or a shard from the whole, but never both. The loop ends when no
        // layout is new.
        for (bool is_new = true; is_new;) {
          is_new = false;
          for (const Layout& layout : std::set<Layout>(of_[at(value)])) {
            const Strategy strategy = strategies.strategy(*node, i, layout);
            if (strategy.how == Method::cut) is_new = add(value, std::nullopt) || is_new;
            if (strategy.how == Method::gather) is_new = add(value, strategy.split) || is_new;
            for (std::size_t k = 0; k < strategy.inputs.size(); ++k) add(node->inputs[k], strategy.inputs[k]);
          }
        }
      }
    }
  }

  [[nodiscard]] const std::set<Layout>& of(ValueId value) const { return of_[at(value)]; }

 private:
  bool add(ValueId value, const Layout& layout) { return of_[at(value)].insert(layout).second; }

  std::vector<std::set<Layout>> of_;
};

/// Builds the graph of one rank.
class Writer {
 public:
  Writer(const Graph& model, Kind kind, int rank, int ranks)
      : model_(model),
        rank_(rank),
        strategies_(model, kind, ranks),
        layouts_(model, strategies_),
        result_{frame_of(model), {}, {}, {}},
        build_(result_.graph) {}

  Parallel run() && {
    for (const ValueId input : model_.inputs) {
      const graph::Value& value = model_.value(input);
      made_[{input, std::nullopt}] = build_.input(value.name, value.dtype, value.shape);
    }
    for (const Node& node : model_.nodes) {
      build_.set_layer(node.layer);
      write(node);
    }
    for (const graph::Output& output : model_.outputs)
      result_.graph.outputs.push_back({output.name, get(output.value, std::nullopt), output.layer});
    for (const graph::Scores& scores : model_.scores)
      result_.graph.scores.push_back({scores.name, get(scores.value, std::nullopt)});
    return std::move(result_);
  }

 private:
  [[nodiscard]] const graph::Value& value(ValueId id) const { return model_.value(id); }

  /// Returns the value of the rank's graph that holds the model's value in this layout.
  ValueId get(ValueId id, const Layout& layout) {
    if (const auto found = made_.find({id, layout}); found != made_.end()) return found->second;
    ValueId made = graph::kNone;
    switch (value(id).kind) {
      case ValueKind::weight:
        made = weight(id, layout, false);
        break;
      case ValueKind::constant:
        made = layout ? cut(get(id, std::nullopt), *layout) : build_.constant(value(id).constant);
        break;
      case ValueKind::state:
        throw bad_usage("a graph with states cannot be sharded");
      default:
        if (!layout) throw internal_error("value {} is needed before it is made", id);
        made = cut(get(id, std::nullopt), *layout);
    }
    made_[{id, layout}] = made;
    return made;
  }

  ValueId weight(ValueId id, const Layout& layout, bool zeros) {
    graph::WeightSpec spec = model_.weights[at(value(id).weight)];
    LocalWeight local{value(id).weight, {}, zeros};
    if (layout) {
      local.splits.push_back(*layout);
      spec.shape[layout->axis] = layout->size(rank_);
      const std::string part = fmt::format("[{}: {}]", layout->axis, fmt::join(layout->sizes, "+"));
      spec.path += part;
      spec.store_path += part;
    }
    if (zeros) {
      spec.path += "[zeros]";
      spec.store_path += "[zeros]";
    }
    const std::size_t before = result_.graph.weights.size();
    const ValueId made = build_.weight(spec);
    if (result_.graph.weights.size() > before) result_.weights.push_back(std::move(local));
    return made;
  }

  /// Slices this rank's shard out of the whole value.
  ValueId cut(ValueId whole, const Split& split) {
    graph::Slice slice;
    slice.ranges.resize(at(build_.shape(whole).rank()));
    slice.ranges[at(split.axis)] = {split.from(rank_), split.from(rank_) + split.size(rank_), 1};
    return build_.apply(slice, {whole});
  }

  void write(const Node& node) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      // First the layouts that are computed, then those that are derived from them by gathering or cutting.
      const std::set<Layout>& layouts = layouts_.of(node.outputs[i]);
      for (const bool derived : {false, true}) {
        for (const Layout& layout : layouts) {
          const Strategy strategy = strategies_.strategy(node, i, layout);
          if ((strategy.how == Method::cut || strategy.how == Method::gather) != derived) continue;
          if (made_.contains({node.outputs[i], layout})) continue;
          make(node, i, layout, strategy);
        }
      }
    }
  }

  void make(const Node& node, std::size_t output, const Layout& layout, const Strategy& strategy) {
    const ValueId id = node.outputs[output];
    switch (strategy.how) {
      case Method::whole:
      case Method::part:
        return of_inputs(node, output, strategy);
      case Method::cut:
        made_[{id, layout}] = cut(get(id, std::nullopt), strategy.split);
        return;
      case Method::gather:
        made_[{id, layout}] =
            build_.apply(graph::AllGather{strategy.split.axis, strategy.split.sizes, rank_}, {get(id, strategy.split)});
        return note(node, strategy.split);
      case Method::row_sum:
        made_[{id, layout}] = row_sum(node, strategy);
        return note(node, strategy.split);
      case Method::sum:
        made_[{id, layout}] = sum(node, output, strategy);
        return note(node, strategy.split);
      case Method::ring:
        made_[{id, layout}] = ring_attention(build_, {std::get<graph::Attention>(node.op), inputs_of(node, strategy),
                                                      strategy.split, *strategy.inputs[1], rank_});
        return note(node, strategy.split);
      case Method::look_up:
        made_[{id, layout}] = look_up(node, strategy);
        return note(node, strategy.split);
    }
  }

  void note(const Node& node, const Split& split) {
    const std::string layer = node.layer == graph::kNone ? "" : model_.layers[at(node.layer)].name;
    result_.shared.push_back({layer, std::string(graph::name_of(node.op)), split.sizes});
  }

  std::vector<ValueId> inputs_of(const Node& node, const Strategy& strategy) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(get(node.inputs[i], strategy.inputs[i]));
    return inputs;
  }

  /// Computes the node itself, on this rank's sizes.
  void of_inputs(const Node& node, std::size_t output, const Strategy& strategy) {
    const bool is_part = strategy.how == Method::part;
    if (is_part && std::holds_alternative<graph::Dropout>(node.op)) {
      made_[{node.outputs[output], strategy.split}] = drop(node, strategy);
      return;
    }
    const std::vector<ValueId> outputs = local(node, output, strategy);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!is_part) {
        made_.try_emplace({node.outputs[i], std::nullopt}, outputs[i]);
      } else if (const auto axis = axis_of_other(model_, node, output, strategy.split.axis, i)) {
        made_.try_emplace({node.outputs[i], Split{*axis, strategy.split.sizes}}, outputs[i]);
      }
    }
  }

  /// Adds the node for these inputs, only once if several of its results are needed.
  const std::vector<ValueId>& local(const Node& node, std::size_t output, const Strategy& strategy) {
    std::vector<ValueId>& outputs = local_[{node.outputs[0], strategy.inputs}];
    if (!outputs.empty() && node.outputs.size() > 1) return outputs;
    std::vector<ValueId> inputs = inputs_of(node, strategy);
    graph::Op op = node.op;
    if (strategy.how == Method::part) fit(op, node, output, strategy, inputs);
    outputs = build_.apply_all(std::move(op), std::move(inputs));
    return outputs;
  }

  /// Adapts the sizes that are stored in the operation.
  void fit(graph::Op& op, const Node& node, std::size_t output, const Strategy& strategy,
           std::vector<ValueId>& inputs) {
    const int axis = strategy.split.axis;
    const Dim size = strategy.split.size(rank_);
    Shape shape = value(node.outputs[output]).shape;
    shape[axis] = size;
    if (auto* reshape = std::get_if<graph::Reshape>(&op)) reshape->shape = shape;
    if (auto* broadcast = std::get_if<graph::Broadcast>(&op)) broadcast->shape = shape;
    if (auto* fill = std::get_if<graph::Fill>(&op)) fill->shape = shape;
    if (auto* scatter = std::get_if<graph::Scatter>(&op)) {
      scatter->shape = shape;
      scatter->ranges[at(axis)] = {};
    }
    if (auto* conv = std::get_if<graph::ConvInputGrad>(&op)) conv->input[axis] = size;
    if (auto* pool = std::get_if<graph::PoolGrad>(&op)) pool->input[axis] = size;
    if (auto* attention = std::get_if<graph::Attention>(&op)) fit_attention(*attention, node, output, strategy, inputs);
  }

  /// Drops elements of a shard. A rank must drop the same elements of its shard as a single rank would, so its mask is
  /// cut out of the whole mask.
  ValueId drop(const Node& node, const Strategy& strategy) {
    const std::vector<ValueId> inputs = inputs_of(node, strategy);
    const auto& op = std::get<graph::Dropout>(node.op);
    const auto key = std::tuple(op.noise.str(), op.rate, op.seed, node.inputs[1], build_.dtype(inputs[0]));
    if (!kept_.contains(key))
      kept_[key] = build_.apply(op, {build_.apply(graph::Fill{op.noise, build_.dtype(inputs[0]), 1.0}, {}), inputs[1]});
    const Shape& whole = value(node.outputs[0]).shape;
    const int axis = axis_below(whole, op.noise, strategy.split.axis);
    ValueId own = kept_.at(key);
    if (axis != graph::kNone && op.noise[axis] != 1) own = cut(own, {axis, strategy.split.sizes});
    return build_.binary(graph::BinaryFn::multiply, inputs[0], own);
  }

  /// All-reduces the ranks' summands to the whole value.
  ValueId sum(const Node& node, std::size_t output, const Strategy& strategy) {
    const auto* reduce = std::get_if<graph::Reduce>(&node.op);
    const bool is_most = reduce != nullptr && reduce->fn == graph::ReduceFn::max;
    ValueId own = local(node, output, strategy)[output];
    // A weighted mean, because ranks have different numbers of rows.
    if (reduce != nullptr && reduce->fn == graph::ReduceFn::mean) {
      const double share = static_cast<double>(strategy.split.size(rank_)) /
                           static_cast<double>(value(node.inputs[0]).shape[strategy.split.axis]);
      own = build_.binary(graph::BinaryFn::multiply, own, build_.scalar_like(own, share));
    }
    return build_.apply(graph::AllReduce{is_most}, {own});
  }

  /// Returns the axis of the scores (B, N, T, S) along which an output of attention is sharded.
  [[nodiscard]] static int axis_of_scores(std::size_t output, int axis) {
    return output != 0 || axis == 0 ? axis : 3 - axis;  // the context is (B, T, N, H)
  }

  void fit_attention(graph::Attention& op, const Node& node, std::size_t output, const Strategy& strategy,
                     std::vector<ValueId>& inputs) {
    const int axis = axis_of_scores(output, strategy.split.axis);
    if (axis == 1 && !strategy.inputs[1]) read_keys_of_heads(node, strategy.split, inputs);
    if (axis == 2) hide_by_position(build_, op, strategy.split, rank_, value(node.inputs[1]).shape[1], 0, inputs);
  }

  /// Selects the keys and values for each of this rank's query heads; a head that several query heads read is repeated.
  void read_keys_of_heads(const Node& node, const Split& split, std::vector<ValueId>& inputs) {
    const Dim group = value(node.inputs[0]).shape[2] / value(node.inputs[1]).shape[2];
    const Tensor heads(DType::int32, {split.size(rank_)});
    for (Dim i = 0; i < heads.size(); ++i)
      heads.as<std::int32_t>()[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>((split.from(rank_) + i) / group);
    const ValueId indices = build_.constant(heads);
    for (const std::size_t i : {1U, 2U}) inputs[i] = build_.apply(graph::Gather{2}, {inputs[i], indices});
  }

  /// Multiplies with this rank's rows of the kernel, and all-reduces the products. The first rank adds the bias; the
  /// activation follows the sum.
  ValueId row_sum(const Node& node, const Strategy& strategy) {
    auto linear = std::get<graph::Linear>(node.op);
    const graph::Unary activation = std::exchange(linear.activation, graph::Unary{});
    std::vector<ValueId> inputs = inputs_of(node, strategy);
    ValueId bias = graph::kNone;
    if (linear.bias) {
      const ValueId given = node.inputs[2];
      if (value(given).kind == ValueKind::weight) {
        if (rank_ != 0) inputs[2] = weight(given, std::nullopt, true);
      } else {
        bias = inputs[2];
        inputs.pop_back();
        linear.bias = false;
      }
    }
    ValueId sum = build_.apply(graph::AllReduce{}, {build_.apply(linear, std::move(inputs))});
    if (bias != graph::kNone) sum = build_.binary(graph::BinaryFn::add, sum, bias);
    return activation.fn == graph::UnaryFn::linear ? sum : build_.apply(activation, {sum});
  }

  /// Looks up the rows that this rank has, with zeros for the others. In the all-reduce, only one summand of each row
  /// is non-zero.
  ValueId look_up(const Node& node, const Strategy& strategy) {
    const Split& split = strategy.split;
    const ValueId table = get(node.inputs[0], split), indices = get(node.inputs[1], std::nullopt);
    const Dim rows = value(node.inputs[0]).shape[0];
    // A Gather from the numbers 0, 1, … checks each index against the whole table, and counts negative indices from the
    // front.
    const ValueId all = build_.apply(graph::Iota{{rows}, DType::int32, 0, 0.0, 1.0}, {});
    const ValueId index = build_.apply(graph::Gather{0}, {all, indices});
    const ValueId own = build_.binary(graph::BinaryFn::subtract, index,
                                      build_.scalar_like(index, static_cast<double>(split.from(rank_))));
    const ValueId zero = build_.scalar_like(own, 0.0);
    const ValueId size = build_.scalar_like(own, static_cast<double>(split.size(rank_)));
    const ValueId has =
        build_.binary(graph::BinaryFn::logical_and, build_.binary(graph::BinaryFn::greater_equal, own, zero),
                      build_.binary(graph::BinaryFn::less, own, size));
    const ValueId found = build_.apply(graph::Gather{0}, {table, build_.apply(graph::Select{}, {has, own, zero})});
    Shape mask = build_.shape(has);
    while (mask.rank() < build_.shape(found).rank()) mask.push_back(1);
    const ValueId own_rows =
        build_.apply(graph::Select{}, {build_.reshape(has, mask), found, build_.scalar_like(found, 0.0)});
    return build_.apply(graph::AllReduce{}, {own_rows});
  }

  const Graph& model_;
  int rank_;
  Strategies strategies_;
  Layouts layouts_;
  Parallel result_;
  Builder build_;
  std::map<std::pair<ValueId, Layout>, ValueId> made_;
  /// keys are the node's first output and the layouts of its inputs
  std::map<std::pair<ValueId, std::vector<Layout>>, std::vector<ValueId>> local_;
  /// The mask of a Dropout by noise shape, rate, seed, count and dtype, so that the backward pass drops the same
  /// elements.
  std::map<std::tuple<std::string, double, std::int64_t, ValueId, DType>, ValueId> kept_;
};

/// Throws Error if an attention layer has fewer heads than there are ranks, and names the layer with the fewest.
void expect_heads(const Graph& model, int ranks) {
  for (const Node& node : model.nodes) {
    if (!std::holds_alternative<graph::Attention>(node.op)) continue;
    const Dim heads = model.value(node.inputs[0]).shape[2];
    if (heads >= ranks) continue;
    const std::string layer = node.layer == graph::kNone ? "attention" : model.layers[at(node.layer)].name;
    throw bad_usage("the layer '{}' has {}, which cannot be split over {} ranks: {} works", printable(layer),
                    fmt::format("{} head{}", heads, heads == 1 ? "" : "s"), ranks,
                    heads == 1 ? "only 1" : fmt::format("any number from 1 to {}", heads))
        .about("parallel");
  }
}

}  // namespace

Parallel parallelize(const Graph& graph, Kind kind, int rank, int ranks) {
  if (kind == Kind::tensor) expect_heads(graph, ranks);
  Parallel result = Writer(graph, kind, rank, ranks).run();
  if (result.shared.empty() && ranks > 1) {
    const char* what = kind == Kind::data     ? "its batch has fewer rows than ranks, or its rows depend on each other"
                       : kind == Kind::tensor ? "it has no attention, no feed-forward network and no large table"
                                              : "its sequences are shorter than the number of ranks";
    throw bad_usage("nothing of this model can be sharded over {} ranks by {}: {}", ranks, name_of(kind), what)
        .about("parallel");
  }
  return result;
}

std::vector<Tensor> local_weights(const Parallel& parallel, std::span<const Tensor> weights, int rank) {
  std::vector<Tensor> result;
  for (const LocalWeight& local : parallel.weights) {
    Tensor tensor = weights[at(local.weight)];
    if (local.zeros) tensor = Tensor(tensor.dtype(), tensor.shape());
    for (const Split& split : local.splits) {
      Shape shape = tensor.shape();
      const Dim whole = shape[split.axis];
      shape[split.axis] = split.size(rank);
      const std::int64_t inner = shape.slice(split.axis + 1, shape.rank()).size() * bytes_of(tensor.dtype());
      const std::int64_t outer = shape.slice(0, split.axis).size();
      std::byte* from = tensor.data() + split.from(rank) * inner;
      if (outer == 1) {
        tensor = {tensor.dtype(), shape, std::shared_ptr<std::byte>(tensor.owner(), from)};
        continue;
      }
      const Tensor part(tensor.dtype(), shape);
      const std::int64_t run = split.size(rank) * inner;
      for (std::int64_t i = 0; i < outer && run > 0; ++i)
        std::memcpy(part.data() + i * run, from + i * whole * inner, static_cast<std::size_t>(run));
      tensor = part;
    }
    result.push_back(std::move(tensor));
  }
  return result;
}

}  // namespace attn::parallel
