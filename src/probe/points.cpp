#include "attn/probe/points.h"

#include <fmt/format.h>

#include <algorithm>

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
  out.blocks = find_blocks(graph);
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
