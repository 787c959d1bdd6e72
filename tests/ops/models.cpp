#include "models.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "attn/base/rng.h"

namespace attn::test {
namespace {

using namespace attn::graph;

class Blocks {
 public:
  Blocks(Builder& builder, const EncoderSize& size) : builder_(builder), size_(size) {}

  ValueId block(int index, ValueId x) {
    name_ = fmt::format("block_{}", index);
    x = normalized("norm_1", builder_.binary(BinaryFn::add, x, self_attention(x)));
    const ValueId inner = dense("ffn_1", x, size_.D, size_.F);
    const ValueId active = builder_.unary(size_.activation, inner, 0.0, 0.0, std::numeric_limits<double>::infinity());
    return normalized("norm_2", builder_.binary(BinaryFn::add, x, dense("ffn_2", active, size_.F, size_.D)));
  }

  ValueId head(ValueId x) {
    name_ = "head";
    return builder_.apply(Softmax{SoftmaxKind::softmax, {2}}, {dense("dense", x, size_.D, size_.D)});
  }

 private:
  ValueId weight(const std::string& name, Shape shape) {
    const std::string path = name_ + "/" + name;
    return builder_.weight({path, path, std::move(shape), size_.dtype, true, {}});
  }

  /// x·kernel + bias over the last `contracted` axes of x.
  ValueId linear(const std::string& name, ValueId x, Shape kernel, int contracted, const std::string& equation) {
    const Shape units = kernel.slice(contracted, kernel.rank());
    const ValueId kernel_id = weight(name + "/kernel", std::move(kernel));
    const ValueId bias_id = weight(name + "/bias", units);
    if (size_.einsum) return builder_.binary(BinaryFn::add, builder_.apply(Einsum{equation}, {x, kernel_id}), bias_id);
    Linear op;
    op.contracted = contracted;
    op.bias = true;
    return builder_.apply(op, {x, kernel_id, bias_id});
  }

  ValueId dense(const std::string& name, ValueId x, Dim from, Dim to) {
    return linear(name, x, {from, to}, 1, "abc,cd->abd");
  }

  ValueId heads(const std::string& name, ValueId x) {
    return linear(name, x, {size_.D, size_.N, size_.H}, 1, "abc,cde->abde");
  }

  ValueId self_attention(ValueId x) {
    Attention op;
    op.scale = 1.0 / std::sqrt(static_cast<double>(size_.H));
    op.path = AttentionPath::explicit_;
    const ValueId context = builder_.apply(op, {heads("query", x), heads("key", x), heads("value", x)});
    return linear("output", context, {size_.N, size_.H, size_.D}, 2, "abcd,cde->abe");
  }

  ValueId normalized(const std::string& name, ValueId x) {
    return builder_.apply(LayerNorm{NormKind::layer, {2}, 1e-6},
                          {x, weight(name + "/gamma", {size_.D}), weight(name + "/beta", {size_.D})});
  }

  Builder& builder_;
  EncoderSize size_;
  std::string name_;
};

Tensor draw(const std::string& name, DType dtype, const Shape& shape, double scale) {
  RandomStream stream(0, name);
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, scale * stream.normal());
  return tensor;
}

}  // namespace

Graph encoder(const EncoderSize& size) {
  Graph graph;
  graph.name = "encoder";
  Builder builder(graph);
  Blocks blocks(builder, size);
  ValueId x = builder.input("x", size.dtype, {size.B, size.T, size.D});
  for (int i = 0; i < size.L; ++i) x = blocks.block(i, x);
  graph.outputs.push_back({"output_0", blocks.head(x)});
  return graph;
}

std::vector<Tensor> draw_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    inputs.push_back(draw(value.name, value.dtype, value.shape, 1.0));
  }
  return inputs;
}

std::vector<Tensor> draw_weights(const Graph& graph) {
  std::vector<Tensor> weights;
  for (const WeightSpec& spec : graph.weights) {
    const double scale = spec.shape.rank() > 1 ? 1.0 / std::sqrt(static_cast<double>(spec.shape[0])) : 1.0;
    weights.push_back(draw(spec.path, spec.dtype, spec.shape, scale));
  }
  return weights;
}

}  // namespace attn::test
