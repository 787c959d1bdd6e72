#include "attn/probe/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "data_flow.h"

namespace attn::probe {
namespace {

using graph::at;
using graph::kNone;
using graph::Node;
using graph::ValueId;

/// An addition to a stream, and its other operand.
struct Addition {
  ValueId sum = kNone, stream = kNone, part = kNone;
};

/// Finds the blocks of a graph.
class Blocks {
 public:
  explicit Blocks(const graph::Graph& graph) : graph_(graph), flow_(graph) {}

  std::vector<Block> find() {
    for (const Node& node : graph_.nodes)
      if (is_attention(node)) add_attention(node);
    name_stacks();
    return std::move(blocks_);
  }

 private:
  [[nodiscard]] const Shape& shape(ValueId value) const { return graph_.value(value).shape; }
  /// Returns whether the node is attention; in a decode step it reads a KV cache.
  static bool is_attention(const Node& node) { return is_any_of<graph::Attention, graph::CachedAttention>(node); }
  [[nodiscard]] bool is_computed(ValueId value) const {
    return graph_.value(value).kind == graph::ValueKind::computed && !flow_.is_fixed(value);
  }

  /// Returns whether the node is an addition of two computed values of its result's shape.
  [[nodiscard]] bool is_sum(const Node& node) const {
    return is_addition(node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
             return is_computed(id) && shape(id) == shape(node.outputs[0]);
           });
  }

  /// Returns the nodes that read a value, directly or through casts.
  [[nodiscard]] std::vector<const Node*> readers(ValueId value) const {
    std::vector<const Node*> out;
    for (const graph::NodeId id : flow_.readers(value)) {
      const Node& node = graph_.nodes[at(id)];
      if (is_any_of<graph::Cast>(node)) {
        const std::vector<const Node*> behind = readers(node.outputs[0]);
        out.insert(out.end(), behind.begin(), behind.end());
      } else {
        out.push_back(&node);
      }
    }
    return out;
  }

  /// Follows a part through the first reader of each value until it is added to something; nothing if it is not.
  [[nodiscard]] std::optional<Addition> addition_of(ValueId part) const {
    while (const Node* node = flow_.first_reader(part)) {
      if (is_attention(*node)) return std::nullopt;
      if (is_sum(*node)) return Addition{node->outputs[0], node->inputs[node->inputs[0] == part ? 1 : 0], part};
      part = node->outputs[0];
    }
    return std::nullopt;
  }

  /// Returns the addition of something to the stream.
  [[nodiscard]] std::optional<Addition> addition_to(ValueId stream) const {
    for (const Node* node : readers(stream))
      if (is_sum(*node)) {
        const bool first = flow_.without_casts(node->inputs[0]) == flow_.without_casts(stream);
        return Addition{node->outputs[0], stream, node->inputs[first ? 1 : 0]};
      }
    return std::nullopt;
  }

  /// Returns the norm that is the only reader of a sum, as in post-norm blocks; kNone otherwise.
  [[nodiscard]] ValueId only_norm(ValueId sum) const {
    const std::vector<const Node*> all = readers(sum);
    if (all.size() != 1 || !is_any_of<graph::LayerNorm>(*all[0])) return kNone;
    const ValueId norm = all[0]->outputs[0];
    const bool is_cast = flow_.readers(norm).size() == 1 && is_any_of<graph::Cast>(*flow_.first_reader(norm));
    return is_cast ? flow_.first_reader(norm)->outputs[0] : norm;
  }

  [[nodiscard]] std::vector<ValueId> computed_inputs(const Node& node) const {
    std::vector<ValueId> out;
    std::ranges::copy_if(node.inputs, std::back_inserter(out), [&](ValueId id) { return is_computed(id); });
    return out;
  }

  /// Returns the projection that an operand of attention is made from. It has the operand's shape, and only slices and
  /// reshapes lie between it and the product.
  [[nodiscard]] ValueId projection(ValueId operand) const {
    std::vector<ValueId> path = {operand};  // from the operand back to the product
    while (true) {
      const Node* node = flow_.producer(path.back());
      if (node == nullptr) return kNone;
      if (is_product(*node)) break;
      const std::vector<ValueId> computed = computed_inputs(*node);
      if (computed.empty() || is_attention(*node)) return kNone;
      path.push_back(computed.front());
    }
    ValueId out = kNone;
    for (auto value = path.rbegin(); value != path.rend(); ++value) {
      const Node* node = flow_.producer(*value);
      const bool layout = is_any_of<graph::Slice, graph::Reshape, graph::Transpose, graph::Cast>(*node);
      if (!layout && !is_product(*node) && !is_bias(*node)) break;
      if (shape(*value) == shape(operand)) out = *value;
      if (out != kNone && !leads_to_bias(*value)) break;
    }
    return out;
  }

  [[nodiscard]] bool is_bias(const Node& node) const {
    return is_addition(node) && (flow_.is_fixed(node.inputs[0]) || flow_.is_fixed(node.inputs[1]));
  }
  [[nodiscard]] bool leads_to_bias(ValueId value) const {
    return flow_.readers(value).size() == 1 && is_bias(*flow_.first_reader(value));
  }

  /// Returns whether the node multiplies a computed value by weights.
  [[nodiscard]] bool is_product(const Node& node) const {
    return is_contraction(node) && computed_inputs(node).size() == 1;
  }

  [[nodiscard]] AttentionPart part_of(const Node& node) const {
    AttentionPart out;
    out.q = projection(node.inputs[0]);
    out.k = projection(node.inputs[1]);
    out.v = projection(node.inputs[2]);
    out.values = node.inputs[2];
    out.z = node.outputs[0];
    if (const auto* attention = std::get_if<graph::Attention>(&node.op); attention != nullptr && attention->scores)
      out.pattern = node.outputs[1];
    return out;
  }

  /// Returns the input of the last product before a value, which only norms, casts, reshapes and scales follow.
  [[nodiscard]] ValueId last_product_input(ValueId value) const {
    while (const Node* node = flow_.producer(value)) {
      const std::vector<ValueId> computed = computed_inputs(*node);
      if (computed.size() != 1) return kNone;
      if (is_contraction(*node)) return computed.front();
      value = computed.front();
    }
    return kNone;
  }

  void add_attention(const Node& node) {
    std::optional<Addition> sum = addition_of(node.outputs[0]);
    if (!sum) return;
    const std::vector<bool> before = flow_.ancestors(node.inputs[0]);
    AttentionPart part = part_of(node);
    part.out = sum->part;
    if (!before[at(sum->stream)]) return add_parallel(part, *sum, before);
    // The stream either continues the block before, whose next part is this attention, or begins a block.
    const bool continues = !blocks_.empty() && expects_cross_ == sum->sum;
    expects_cross_ = kNone;
    if (!continues) {
      Block block;
      block.resid_pre = sum->stream;
      block.self = part;
      blocks_.push_back(std::move(block));
    } else {
      blocks_.back().cross = part;
    }
    Block& block = blocks_.back();
    ValueId stream = sum->sum;
    if (const ValueId norm = only_norm(stream); norm != kNone) {
      block.post_norm = true;
      stream = norm;
    }
    (continues ? block.resid_cross : block.resid_mid) = stream;
    add_mlp(block, stream);
  }

  void add_mlp(Block& block, ValueId stream) {
    const std::optional<Addition> sum = addition_to(stream);
    if (!sum) {  // a block without an MLP at the end of a stack
      block.resid_post = stream;
      return;
    }
    const std::vector<bool> behind = flow_.descendants(stream), needed = flow_.ancestors(sum->part);
    bool attends = false, crosses = false;
    for (const Node& node : graph_.nodes) {
      if (!is_attention(node) || !needed[at(node.outputs[0])] || !behind[at(node.inputs[0])]) continue;
      attends = true;
      crosses |= !behind[at(node.inputs[1])];
    }
    if (attends) {  // the next part is another attention, of this block if it reads another stack
      (crosses ? expects_cross_ : block.resid_post) = crosses ? sum->sum : stream;
      return;
    }
    if (!behind[at(sum->part)]) block.resid_mid = kNone;  // attention and MLP read the same stream
    finish(block, *sum);
  }

  void add_parallel(const AttentionPart& part, const Addition& joined, const std::vector<bool>& before) {
    const std::optional<Addition> sum = addition_of(joined.sum);
    if (!sum || !before[at(sum->stream)]) return;
    Block block;
    block.self = part;
    block.resid_pre = sum->stream;
    blocks_.push_back(block);
    finish(blocks_.back(), {sum->sum, sum->stream, joined.stream});
  }

  void finish(Block& block, const Addition& sum) {
    block.mlp_out = sum.part;
    block.mlp_post = last_product_input(sum.part);
    block.resid_post = sum.sum;
    if (block.post_norm)
      if (const ValueId norm = only_norm(sum.sum); norm != kNone) block.resid_post = norm;
  }

  /// Numbers the layers of each stack. The stream of a block begins where that of the block before ends, even if it is
  /// scaled between; otherwise a stack begins.
  void name_stacks() {
    std::erase_if(blocks_, [](const Block& block) { return block.resid_post == kNone; });
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const bool follows = i > 0 && flow_.ancestors(blocks_[i].resid_pre)[at(blocks_[i - 1].resid_post)];
      if (follows)
        blocks_[i - 1].resid_post = blocks_[i].resid_pre;
      else
        begins.push_back(i);
    }
    for (std::size_t i = 0, stack = 0; i < blocks_.size(); ++i) {
      if (stack + 1 < begins.size() && begins[stack + 1] == i) ++stack;
      blocks_[i].layer = static_cast<int>(i - begins[stack]);
      const bool is_last = stack + 1 == begins.size();
      if (begins.size() > 1)
        blocks_[i].stack = is_last ? "decoder" : begins.size() == 2 ? "encoder" : fmt::format("encoder{}", stack);
    }
  }

  const graph::Graph& graph_;
  DataFlow flow_;
  std::vector<Block> blocks_;
  ValueId expects_cross_ = kNone;  // the sum that a cross-attention of the last block makes
};

/// Returns the input of the product at the end of a graph, behind which there are only elementwise operations.
ValueId unembedding_input(const graph::Graph& graph, const DataFlow& flow, ValueId logits) {
  for (ValueId value = logits; const Node* node = flow.producer(value);) {
    const ValueId varying = flow.only_varying_input(*node);
    if (varying == kNone) return kNone;
    if (is_contraction(*node)) return graph.value(varying).kind == graph::ValueKind::computed ? varying : kNone;
    if (!is_any_of<graph::Unary, graph::Binary, graph::Cast, graph::Reshape>(*node)) return kNone;
    value = varying;
  }
  return kNone;
}

/// Returns the logits: the first output, without a softmax at the end.
ValueId logits_of(const graph::Graph& graph, const DataFlow& flow) {
  if (graph.outputs.empty()) return kNone;
  ValueId value = graph.outputs.front().value;
  while (const Node* node = flow.producer(value)) {
    if (!is_any_of<graph::Softmax>(*node)) break;
    value = node->inputs[0];
  }
  return is_floating(graph.value(value).dtype) ? value : kNone;
}

/// Returns the rows of the token table that the stream begins with.
ValueId embed_of(const graph::Graph& graph, const DataFlow& flow, ValueId tokens, ValueId stream) {
  if (tokens == kNone) return kNone;
  const std::vector<bool> needed = flow.ancestors(stream), from_tokens = flow.descendants(tokens);
  for (const Node& node : graph.nodes) {
    if (!is_any_of<graph::Gather>(node) || !needed[at(node.outputs[0])]) continue;
    const bool table = flow.is_fixed(node.inputs[0]) && graph.value(node.inputs[0]).shape.rank() == 2;
    const graph::Value& indices = graph.value(node.inputs[1]);
    if (table && from_tokens[at(node.inputs[1])] && indices.shape.rank() == 2) {
      // A quantized table is scaled behind the gather; the row is then the product.
      ValueId value = node.outputs[0];
      while (!is_floating(graph.value(value).dtype) && flow.first_reader(value) != nullptr)
        value = flow.first_reader(value)->outputs[0];
      return value;
    }
  }
  return kNone;
}

/// Returns a point of a name, split into series and layer: "z.-1" into "z" and -1.
Point point_named(const std::string& name, ValueId value = kNone) {
  Point out{name, value, name, {}};
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos) out.layer = parse_number<int>(name.substr(dot + 1));
  if (out.layer) out.series = name.substr(0, dot);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, const AttentionPart*>> Block::attentions() const {
  std::vector<std::pair<std::string, const AttentionPart*>> out = {{"", &self}};
  if (cross) out.emplace_back("cross.", &*cross);
  return out;
}

std::string Block::name(const std::string& kind) const {
  return fmt::format("{}{}.{}", stack.empty() ? "" : stack + ".", kind, layer);
}

void Points::rename(ValueId from, ValueId to) {
  const auto change = [&](ValueId& value) { value = value == from ? to : value; };
  for (Block& block : blocks) {
    for (ValueId* value :
         {&block.resid_pre, &block.resid_mid, &block.resid_cross, &block.resid_post, &block.mlp_post, &block.mlp_out})
      change(*value);
    for (AttentionPart* part : {&block.self, block.cross ? &*block.cross : &block.self})
      for (ValueId* value : {&part->q, &part->k, &part->v, &part->values, &part->pattern, &part->z, &part->out})
        change(*value);
  }
  for (ValueId* value : {&embed, &encoder_embed, &final_norm, &logits}) change(*value);
  for (Point& point : named) change(point.value);
}

std::vector<const Block*> Points::last_stack() const {
  std::vector<const Block*> out;
  for (const Block& block : blocks)
    if (block.stack == blocks.back().stack) out.push_back(&block);
  return out;
}

const Point& Points::find(const std::string& name) const {
  // A name without a stack means the decoder's, and a step of a decoder that reads no encoder has one stack.
  const std::string stack = "decoder.";
  for (std::string each : {name, stack + name, name.starts_with(stack) ? name.substr(stack.size()) : name}) {
    if (const Point wanted = point_named(each); wanted.layer.value_or(0) < 0) {
      const auto layers = std::ranges::count(named, wanted.series, &Point::series);
      each = fmt::format("{}.{}", wanted.series, layers + *wanted.layer);
    }
    if (const auto found = std::ranges::find(named, each, &Point::name); found != named.end()) return *found;
  }
  std::vector<std::string> names;
  for (const Point& point : named) names.push_back(point.name);
  throw bad_usage("the model has no point '{}'{}; attn probe MODEL --list shows all of them", printable(name),
                  did_you_mean(name, std::span<const std::string>(names)));
}

std::vector<Point> Points::select(const std::string& list) const {
  std::vector<Point> out;
  const auto add = [&](const Point& point) {
    if (std::ranges::find(out, point.name, &Point::name) == out.end()) out.push_back(point);
  };
  for (const std::string& name : split(list, ',')) {
    bool found = false;
    const auto add_layers = [&](const auto& is_wanted) {
      for (const Point& point : named)
        if (point.layer && is_wanted(point.series)) {
          add(point);
          found = true;
        }
    };
    add_layers([&](const std::string& series) { return series == name; });
    if (!found) add_layers([&](const std::string& series) { return series.ends_with("." + name); });
    if (!found) add(find(name));
  }
  return out;
}

Points find_points(const graph::Graph& graph, ValueId tokens, ValueId encoder_tokens, bool has_logits) {
  Points out;
  const DataFlow flow(graph);
  out.blocks = Blocks(graph).find();
  if (has_logits) out.logits = logits_of(graph, flow);
  if (out.logits != kNone) {
    const ValueId input = unembedding_input(graph, flow, out.logits);
    if (input == kNone)
      out.logits = kNone;
    else if (graph.value(input).shape.rank() == 3)
      out.final_norm = input;
  }
  const auto add = [&](const std::string& name, ValueId value) {
    if (value != kNone) out.named.push_back(point_named(name, value));
  };
  const auto add_attention = [&](const AttentionPart& part, const auto& name) {
    add(name("q"), part.q);
    add(name("k"), part.k);
    add(name("v"), part.v);
    add(name("pattern"), part.pattern);
    add(name("z"), part.z);
    add(name("attn_out"), part.out);
  };
  if (!out.blocks.empty()) {
    out.embed = embed_of(graph, flow, tokens, out.last_stack().front()->resid_pre);
    out.encoder_embed = embed_of(graph, flow, encoder_tokens, out.blocks.front().resid_pre);
  }
  if (out.encoder_embed == kNone) add("embed", out.embed);
  for (const Block& block : out.blocks) {
    if (out.encoder_embed != kNone && block.layer == 0)
      add(block.stack + ".embed", block.stack == out.blocks.back().stack ? out.embed : out.encoder_embed);
    add(block.name("resid_pre"), block.resid_pre);
    add_attention(block.self, [&](const char* kind) { return block.name(kind); });
    add(block.name("resid_mid"), block.resid_mid);
    if (block.cross)
      add_attention(*block.cross, [&](const char* kind) { return fmt::format("cross.{}.{}", kind, block.layer); });
    add(block.name("resid_cross"), block.resid_cross);
    add(block.name("mlp_post"), block.mlp_post);
    add(block.name("mlp_out"), block.mlp_out);
    add(block.name("resid_post"), block.resid_post);
  }
  add("final_norm", out.final_norm);
  add("logits", out.logits);
  return out;
}

}  // namespace attn::probe
