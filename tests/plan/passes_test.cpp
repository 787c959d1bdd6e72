#include "attn/plan/passes.h"

#include <doctest/doctest.h>

#include "graphs.h"

using namespace attn;
using namespace attn::graph;
using namespace attn::plan;

namespace {

// Checks a pass's result: it must be valid, and keep the types and names of outputs.
Graph checked(const Graph& before, Graph after) {
  verify(before);
  verify(after);
  REQUIRE(before.inputs == after.inputs);
  REQUIRE(before.outputs.size() == after.outputs.size());
  for (std::size_t i = 0; i < before.outputs.size(); ++i) {
    const Value& was = before.value(before.outputs[i].value);
    const Value& is = after.value(after.outputs[i].value);
    CHECK(before.outputs[i].name == after.outputs[i].name);
    CHECK(was.dtype == is.dtype);
    CHECK(was.shape == is.shape);
  }
  return after;
}

bool any_function(const Unary&) { return true; }

}  // namespace

TEST_CASE("remove_dead: nodes that no output needs are removed, also from their layer's outputs") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 3});
  begin_layer(build, "used");
  const ValueId y = build.unary(UnaryFn::relu, x);
  end_layer(build, y);
  begin_layer(build, "unused");
  end_layer(build, build.unary(UnaryFn::tanh, build.unary(UnaryFn::exponential, x)));
  output(build, y);
  const Graph after = checked(graph, remove_dead(graph));
  CHECK(print(after) == "%0 = input x float32 (2, 3)\n%1 = relu(%0) float32 (2, 3)  # used\noutput_0 = %1\n");
  CHECK(after.layers[0].outputs == std::vector<ValueId>{y});
  CHECK(after.layers[1].outputs.empty());
}

TEST_CASE("remove_dead: attention computes probabilities only for readers") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {1, 5, 2, 4});
  Attention attention;
  attention.scores = true;
  const auto attended = build.apply_all(attention, {x, x, x});
  output(build, attended[0]);
  CHECK_FALSE(std::get<Attention>(checked(graph, remove_dead(graph)).nodes[0].op).scores);
  graph.scores.push_back({"attention", attended[1]});
  CHECK(std::get<Attention>(checked(graph, remove_dead(graph)).nodes[0].op).scores);
}

TEST_CASE("fold_identities: casts, reshapes and transposes without effect are removed") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float16, {2, 3, 4});
  const ValueId wide = build.cast(x, DType::float32);
  const ValueId back = build.cast(wide, DType::float16);
  const ValueId turned = build.transpose(build.transpose(back, {1, 2, 0}), {2, 0, 1});
  const ValueId flat = build.reshape(build.reshape(turned, {6, 4}), {2, 3, 4});
  output(build, build.unary(UnaryFn::relu, flat));
  output(build, flat);
  const Graph after = checked(graph, fold_identities(graph));
  CHECK(print(after) ==
        "%0 = input x float16 (2, 3, 4)\n%7 = relu(%0) float16 (2, 3, 4)\noutput_0 = %7\noutput_1 = %0\n");
}

TEST_CASE("fold_identities: equal casts or reshapes of one value are computed once") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 3});
  const auto form = [&](Shape shape) { return build.cast(build.reshape(x, std::move(shape)), DType::bfloat16); };
  output(build, build.unary(UnaryFn::relu, form({2, 1, 3})));
  output(build, build.unary(UnaryFn::tanh, form({2, 1, 3})));
  output(build, form({6}));
  const Graph after = checked(graph, fold_identities(graph));
  CHECK(after.nodes.size() == 6);
  CHECK(after.nodes[2].inputs == after.nodes[3].inputs);
}

namespace {

/// x, normalized in float32 and rounded back, as Keras does it.
Graph norm_of_halves(DType half, DType back, bool others_read) {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", half, {2, 3});
  const ValueId gamma = build.weight({"gamma", "gamma", {3}, DType::float32, true, {}});
  const ValueId norm =
      build.apply(LayerNorm{NormKind::layer, {1}, 1e-3, true, false}, {build.cast(x, DType::float32), gamma});
  output(build, build.cast(norm, back));
  if (others_read) output(build, norm);
  return graph;
}

}  // namespace

TEST_CASE("narrow_norms: a normalization between casts reads half precision") {
  const Graph bfloat16 = norm_of_halves(DType::bfloat16, DType::bfloat16, false);
  CHECK(print(checked(bfloat16, narrow_norms(bfloat16))) ==
        "%0 = input x bfloat16 (2, 3)\n%4 = layer_norm(%0, gamma, axes=(1,), epsilon=0.001) "
        "bfloat16 (2, 3)\noutput_0 = %4\n");
  for (const Graph& kept :
       {norm_of_halves(DType::bfloat16, DType::float16, false), norm_of_halves(DType::bfloat16, DType::bfloat16, true),
        norm_of_halves(DType::float32, DType::bfloat16, false)})
    CHECK(print(checked(kept, narrow_norms(kept))) == print(kept));
}

TEST_CASE("fold_identities: a cast through a narrower dtype stays, because it rounds") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2});
  output(build, build.cast(build.cast(x, DType::bfloat16), DType::float32));
  CHECK(checked(graph, fold_identities(graph)).nodes.size() == 2);
}

TEST_CASE("fold_identities: consecutive transposes or reshapes become one") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 3, 4});
  output(build, build.transpose(build.transpose(x, {1, 2, 0}), {1, 2, 0}));
  output(build, build.reshape(build.reshape(x, {6, 4}), {kUnknown, 2}));
  const Graph after = checked(graph, fold_identities(graph));
  CHECK(print(after) ==
        "%0 = input x float32 (2, 3, 4)\n"
        "%2 = transpose(%0, permutation=(2, 0, 1)) float32 (4, 2, 3)\n"
        "%4 = reshape(%0) float32 (12, 2)\n"
        "output_0 = %2\n"
        "output_1 = %4\n");
}

TEST_CASE("fuse_activation: a dense layer absorbs a function that is its only reader") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 8});
  begin_layer(build, "dense");
  const ValueId dense = build.apply(Linear{}, {x, weight(build, "kernel", {8, 4})});
  end_layer(build, dense);
  begin_layer(build, "gelu");
  const ValueId y = build.unary(UnaryFn::gelu, dense);
  end_layer(build, y);
  output(build, y);

  const Graph after = checked(graph, fuse_activation(graph, any_function));
  REQUIRE(after.nodes.size() == 1);
  CHECK(std::get<Linear>(after.nodes[0].op).activation.fn == UnaryFn::gelu);
  CHECK(after.nodes[0].layer == 0);
  CHECK(after.layers[0].outputs.empty());
  CHECK(after.layers[1].outputs == std::vector<ValueId>{y});

  const auto nothing = [](const Unary&) { return false; };
  CHECK(checked(graph, fuse_activation(graph, nothing)).nodes.size() == 2);
  output(build, dense);
  CHECK(checked(graph, fuse_activation(graph, any_function)).nodes.size() == 2);
}

TEST_CASE("fuse_activation: a convolution absorbs a function, unless the function returns bool") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 10, 3});
  const ValueId kernel = weight(build, "kernel", {3, 3, 4});
  const Conv conv{{1}, {1}, Padding::same};
  output(build, build.unary(UnaryFn::relu, build.apply(conv, {x, kernel})));
  output(build, build.unary(UnaryFn::isnan, build.apply(conv, {x, kernel})));
  const Graph after = checked(graph, fuse_activation(graph, any_function));
  REQUIRE(after.nodes.size() == 3);
  CHECK(std::get<Conv>(after.nodes[0].op).activation.fn == UnaryFn::relu);
  CHECK(std::get<Conv>(after.nodes[1].op).activation.fn == UnaryFn::linear);
}

TEST_CASE("fuse_residual: a dense layer absorbs an addition on either side") {
  for (const bool left : {true, false}) {
    Graph graph;
    Builder build(graph);
    const ValueId x = build.input("x", DType::float32, {2, 8});
    const ValueId dense =
        build.apply(Linear{1, true}, {x, weight(build, "kernel", {8, 8}), weight(build, "bias", {8})});
    const ValueId sum = left ? build.binary(BinaryFn::add, dense, x) : build.binary(BinaryFn::add, x, dense);
    output(build, sum);
    const Graph after = checked(graph, fuse_residual(graph));
    REQUIRE(after.nodes.size() == 1);
    CHECK(std::get<Linear>(after.nodes[0].op).residual);
    CHECK(after.nodes[0].inputs.back() == x);
    CHECK(after.outputs[0].value == sum);
  }
}

namespace {

ValueId byte_weight(Builder& build, const std::string& name, Shape shape) {
  WeightSpec spec;
  spec.path = spec.store_path = name;
  spec.shape = std::move(shape);
  spec.dtype = DType::int8;
  return build.weight(spec);
}

}  // namespace

TEST_CASE("fuse_residual: an integer dense map absorbs an addition") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 8});
  QuantizedLinear op;
  op.units = {8};
  const ValueId dense = build.apply(op, {x, byte_weight(build, "kernel", {8, 8}), weight(build, "scale", {8})});
  output(build, build.binary(BinaryFn::add, x, dense));
  const Graph after = checked(graph, fuse_residual(graph));
  REQUIRE(after.nodes.size() == 1);
  CHECK(std::get<QuantizedLinear>(after.nodes[0].op).residual);
  CHECK(after.nodes[0].inputs.back() == x);
}

TEST_CASE("fuse_residual: the later of two dense layers absorbs their addition") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 8});
  const ValueId first = build.apply(Linear{}, {x, weight(build, "a", {8, 8})});
  const ValueId second = build.apply(Linear{}, {x, weight(build, "b", {8, 8})});
  const ValueId third = build.apply(Linear{}, {x, weight(build, "c", {8, 8})});
  output(build, build.binary(BinaryFn::add, build.binary(BinaryFn::add, first, second), third));
  const Graph after = checked(graph, fuse_residual(graph));
  REQUIRE(after.nodes.size() == 3);
  CHECK(after.nodes[1].inputs.back() == first);
  CHECK(after.nodes[2].inputs.back() == after.nodes[1].outputs[0]);
}

TEST_CASE("fuse_residual: an addition stays if a summand is broadcast or comes later, or if others read the product") {
  const auto left_alone = [](const auto& add_to) {
    Graph graph;
    Builder build(graph);
    const ValueId x = build.input("x", DType::float32, {2, 8});
    const ValueId dense = build.apply(Linear{}, {x, weight(build, "kernel", {8, 8})});
    output(build, add_to(build, x, dense));
    const Graph after = checked(graph, fuse_residual(graph));
    return after.nodes.size() == graph.nodes.size();
  };
  CHECK(left_alone([](Builder& build, ValueId, ValueId dense) {
    return build.binary(BinaryFn::add, dense, weight(build, "row", {8}));
  }));
  CHECK(left_alone([](Builder& build, ValueId x, ValueId dense) {
    return build.binary(BinaryFn::add, dense, build.unary(UnaryFn::relu, x));
  }));
  CHECK(left_alone([](Builder& build, ValueId, ValueId dense) { return build.binary(BinaryFn::add, dense, dense); }));
  CHECK(left_alone([](Builder& build, ValueId x, ValueId dense) {
    output(build, dense);
    return build.binary(BinaryFn::add, dense, x);
  }));
}

namespace {

std::string simplified(const std::string& equation, const Shape& x, const Shape& y, bool y_is_weight) {
  Graph graph;
  Builder build(graph);
  const ValueId left = build.input("x", DType::float32, x);
  const ValueId right = y_is_weight ? weight(build, "w", y) : build.input("y", DType::float32, y);
  output(build, build.apply(Einsum{equation}, {left, right}));
  const Graph after = checked(graph, simplify_einsum(graph));
  std::string names;
  for (const Node& node : after.nodes) {
    if (!names.empty()) names += ' ';
    names += graph::name_of(node.op);
    if (const auto* matmul = std::get_if<MatMul>(&node.op)) {
      if (matmul->transpose_x) names += "_x";
      if (matmul->transpose_y) names += "_y";
    }
  }
  return names;
}

}  // namespace

TEST_CASE("simplify_einsum: a product with a weight becomes a dense map") {
  CHECK(simplified("abc,cde->abde", {2, 5, 16}, {16, 4, 8}, true) == "linear");       // MultiHeadAttention's query
  CHECK(simplified("abcd,cde->abe", {2, 5, 4, 8}, {4, 8, 16}, true) == "linear");     // MultiHeadAttention's output
  CHECK(simplified("abc,dc->abd", {2, 5, 16}, {7, 16}, true) == "transpose linear");  // a transposed kernel
  CHECK(simplified("abc,cd->adb", {2, 5, 16}, {16, 7}, true) == "linear transpose");
  CHECK(simplified("abc,c->ab", {2, 5, 16}, {16}, true) == "linear");
}

TEST_CASE("simplify_einsum: a product of activations becomes a batched matmul") {
  CHECK(simplified("abc,acd->abd", {2, 5, 16}, {2, 16, 7}, false) == "matmul");
  CHECK(simplified("abc,adc->abd", {2, 5, 16}, {2, 7, 16}, false) == "matmul_y");
  CHECK(simplified("acb,acd->abd", {2, 16, 5}, {2, 16, 7}, false) == "matmul_x");
  CHECK(simplified("abc,adc->adb", {2, 5, 16}, {2, 7, 16}, false) == "matmul_y");  // the operands are swapped
  // MultiHeadAttention's scores of key and query, and its context.
  CHECK(simplified("aecd,abcd->acbe", {2, 7, 4, 8}, {2, 5, 4, 8}, false) == "transpose transpose matmul");
  CHECK(simplified("acbe,aecd->abcd", {2, 4, 5, 7}, {2, 7, 4, 8}, false) == "transpose matmul transpose");
  CHECK(simplified("abc,cde->abde", {2, 5, 16}, {16, 4, 8}, false) == "reshape reshape matmul reshape");
}

TEST_CASE("simplify_einsum: an einsum that is not a matrix product stays") {
  CHECK(simplified("ab,b->ab", {2, 3}, {3}, true) == "einsum");
  CHECK(simplified("ab,ab->a", {2, 3}, {2, 3}, false) == "einsum");
  CHECK(simplified("abc,cd->ad", {2, 5, 3}, {3, 4}, true) == "einsum");
  CHECK(simplified("aab,bc->ac", {2, 2, 3}, {3, 4}, true) == "einsum");
  CHECK(simplified("abc,cd->abd", {kUnknown, 5, 3}, {3, 4}, true) == "einsum");
}

TEST_CASE("simplify_conv: a convolution over disjoint patches becomes a dense map") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 6, 8, 3});
  const ValueId kernel = weight(build, "kernel", {3, 2, 3, 5});
  const ValueId bias = weight(build, "bias", {5});
  Conv conv;
  conv.strides = {3, 2};
  conv.dilation = {1, 1};
  conv.bias = true;
  output(build, build.apply(conv, {x, kernel, bias}));
  const Graph after = checked(graph, simplify_conv(graph));
  REQUIRE(after.nodes.size() == 3);
  const auto* linear = std::get_if<Linear>(&after.nodes[2].op);
  REQUIRE(linear != nullptr);
  CHECK(linear->contracted == 3);
  CHECK(after.value(after.nodes[2].inputs[0]).shape == Shape{2, 2, 4, 3, 2, 3});
}

TEST_CASE("simplify_conv: convolutions with overlap, a remainder or groups stay") {
  const auto stays = [](Shape x, Shape kernel, std::int64_t stride, std::int64_t groups) {
    Graph graph;
    Builder build(graph);
    const ValueId input = build.input("x", DType::float32, std::move(x));
    Conv conv;
    conv.strides = {stride};
    conv.dilation = {1};
    conv.groups = groups;
    output(build, build.apply(conv, {input, weight(build, "kernel", std::move(kernel))}));
    const Graph after = checked(graph, simplify_conv(graph));
    return after.nodes.size() == 1 && std::holds_alternative<Conv>(after.nodes[0].op);
  };
  CHECK_FALSE(stays({1, 8, 4}, {2, 4, 6}, 2, 1));
  CHECK_FALSE(stays({1, 8, 4}, {1, 4, 6}, 1, 1));
  CHECK(stays({1, 8, 4}, {2, 4, 6}, 1, 1));
  CHECK(stays({1, 9, 4}, {2, 4, 6}, 2, 1));
  CHECK(stays({1, 8, 4}, {2, 2, 6}, 2, 2));
}

TEST_CASE(
    "pack_projections: query, key and value projections of one value become one product, also with fewer key heads") {
  for (const Dim keys : {Dim{4}, Dim{2}}) {
    Graph graph;
    Builder build(graph);
    const ValueId x = build.input("x", DType::float32, {2, 5, 12});
    const auto project = [&](const std::string& name, Dim heads) {
      return build.apply(Linear{1, true},
                         {x, weight(build, name, {12, heads, 3}), weight(build, name + "_b", {heads, 3})});
    };
    const ValueId query = project("query", 4), key = project("key", keys), value = project("value", keys);
    output(build, build.apply(Attention{}, {query, key, value}));
    const Graph after = checked(graph, pack_projections(graph));
    REQUIRE(after.nodes.size() == 4);  // two Concats of weights, the product, the attention
    CHECK(after.value(after.nodes[2].outputs[0]).shape == Shape{2, 5, 4 + 2 * keys, 3});
    CHECK(std::get<Attention>(after.nodes[3].op).packed_heads == keys);
  }
}

TEST_CASE("pack_projections: int8 projections with a scale per column are packed if all three are quantized alike") {
  for (const bool alike : {true, false}) {
    Graph graph;
    Builder build(graph);
    const ValueId x = build.input("x", DType::float32, {2, 5, 12});
    const auto project = [&](const std::string& name, Dim heads, bool quantizes) {
      QuantizedLinear op;
      op.units = {heads, 3};
      op.bias = true;
      if (quantizes) op.inputs = IntegerRange{};
      return build.apply(op, {x, byte_weight(build, name, {12, heads, 3}), weight(build, name + "_scale", {heads, 3}),
                              weight(build, name + "_b", {heads, 3})});
    };
    const ValueId query = project("query", 4, true), key = project("key", 2, true), value = project("value", 2, alike);
    output(build, build.apply(Attention{}, {query, key, value}));
    const Graph after = checked(graph, pack_projections(graph));
    if (!alike) {
      CHECK(print(after) == print(graph));
      continue;
    }
    REQUIRE(after.nodes.size() == 5);  // three Concats of weights, the product, the attention
    CHECK(std::get<QuantizedLinear>(after.nodes[3].op).units == Shape{8, 3});
    CHECK(after.value(after.nodes[3].outputs[0]).shape == Shape{2, 5, 8, 3});
    CHECK(std::get<Attention>(after.nodes[4].op).packed_heads == 2);
  }
}

TEST_CASE("pack_projections: projections of two values, or with other readers, stay separate") {
  for (const bool shared : {false, true}) {
    Graph graph;
    Builder build(graph);
    const ValueId x = build.input("x", DType::float32, {2, 5, 12});
    const ValueId y = shared ? x : build.input("y", DType::float32, {2, 5, 12});
    const ValueId query = build.apply(Linear{}, {x, weight(build, "query", {12, 4, 3})});
    const ValueId key = build.apply(Linear{}, {y, weight(build, "key", {12, 4, 3})});
    const ValueId value = build.apply(Linear{}, {y, weight(build, "value", {12, 4, 3})});
    output(build, build.apply(Attention{}, {query, key, value}));
    if (shared) output(build, value);
    CHECK(print(checked(graph, pack_projections(graph))) == print(graph));
  }
}
