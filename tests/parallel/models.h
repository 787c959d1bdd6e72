// A decoder or encoder block in the form that layers lower to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attn/base/rng.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::parallel {

struct Model {
  graph::Graph graph;
  std::vector<Tensor> weights, inputs;
};

struct BlockSizes {
  Dim batch = 2, length = 6, heads = 2, key_heads = 2, feed_forward = 64, head_size = 3, width = 16, vocabulary = 40;
  bool masked = false, causal = false;
  Dim window = 0;  ///< 0: none
};

/// Token embedding, attention and a feed-forward network, with residuals and norms.
inline Model block(const BlockSizes& s) {
  using namespace graph;
  Model model;
  Builder b(model.graph);
  for (const char* name : {"embedding", "attention", "feed_forward"})
    model.graph.layers.push_back({name, name, {}, kNone});
  const auto weight = [&](const std::string& name, const Shape& shape) {
    WeightSpec spec;
    spec.path = spec.store_path = name;
    spec.shape = shape;
    const Tensor tensor(DType::float32, shape);
    RandomStream stream(7, name);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, 0.3 * stream.normal());
    model.weights.push_back(tensor);
    return b.weight(spec);
  };
  const auto norm = [&](ValueId x, const std::string& name) {
    LayerNorm op;
    op.axes = {2};
    return b.apply(op, {x, weight(name + "/gamma", {s.width}), weight(name + "/beta", {s.width})});
  };

  const ValueId tokens = b.input("tokens", DType::int32, {s.batch, s.length});
  b.set_layer(0);
  ValueId x = b.apply(Gather{0}, {weight("embedding", {s.vocabulary, s.width}), tokens});
  x = b.binary(BinaryFn::add, x, weight("positions", {s.length, s.width}));

  b.set_layer(1);
  const auto project = [&](const std::string& name, Dim heads) {
    return b.apply(Linear{1, true, {}, false}, {x, weight(name + "/kernel", {s.width, heads, s.head_size}),
                                                weight(name + "/bias", {heads, s.head_size})});
  };
  Attention attention;
  attention.scale = 0.5;
  attention.causal = s.causal;
  if (s.window > 0) attention.window = s.window;
  std::vector<ValueId> operands = {project("query", s.heads), project("key", s.key_heads),
                                   project("value", s.key_heads)};
  if (s.masked) {  // padding is token 0
    const ValueId mask = b.binary(BinaryFn::not_equal, tokens, b.scalar_like(tokens, 0));
    operands.push_back(b.reshape(mask, {s.batch, 1, 1, s.length}));
    attention.masks = 1;
  }
  const ValueId context = b.apply(attention, operands);
  const ValueId attended =
      b.apply(Linear{2, true, {}, false},
              {context, weight("output/kernel", {s.heads, s.head_size, s.width}), weight("output/bias", {s.width})});
  x = norm(b.binary(BinaryFn::add, x, attended), "norm1");

  b.set_layer(2);
  const ValueId wide =
      b.apply(Linear{1, true, Unary{UnaryFn::gelu}, false},
              {x, weight("ff1/kernel", {s.width, s.feed_forward}), weight("ff1/bias", {s.feed_forward})});
  const ValueId narrow =
      b.apply(Linear{1, true, Unary{UnaryFn::tanh}, false},
              {wide, weight("ff2/kernel", {s.feed_forward, s.width}), weight("ff2/bias", {s.width})});
  x = norm(b.binary(BinaryFn::add, x, narrow), "norm2");
  model.graph.outputs.push_back({"output_0", x});

  const Tensor ids(DType::int32, {s.batch, s.length});
  // The second row ends in padding, and the last one is all padding.
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const std::int64_t row = i / s.length, column = i % s.length;
    const bool is_padding = s.masked && ((row == 1 && column > 2) || (row == s.batch - 1 && row > 1));
    ids.set(i, is_padding ? 0 : static_cast<double>(1 + (i * 7) % (s.vocabulary - 1)));
  }
  model.inputs = {ids};
  return model;
}

}  // namespace attn::parallel
