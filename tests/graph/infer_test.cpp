#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "attn/base/error.h"
#include "attn/graph/graph.h"

using namespace attn;
using namespace attn::graph;

namespace {

constexpr Dim kU = kUnknown;

TensorType f32(Shape shape) { return {DType::float32, std::move(shape)}; }
TensorType f16(Shape shape) { return {DType::float16, std::move(shape)}; }
TensorType i32(Shape shape) { return {DType::int32, std::move(shape)}; }
TensorType boolean(Shape shape) { return {DType::boolean, std::move(shape)}; }

struct Case {
  Op op;
  std::vector<TensorType> inputs;
  std::string expected;  ///< "float32 (2, 3); …", or the message of the Error
};

std::string result_of(const Case& row) {
  try {
    std::string text;
    for (const TensorType& type : infer(row.op, row.inputs)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", attn::name_of(type.dtype), type.shape.str());
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

void check_all(const std::vector<Case>& rows) {
  for (const Case& row : rows) {
    CAPTURE(graph::name_of(row.op));
    CHECK(result_of(row) == row.expected);
  }
}

constexpr auto kNothing = std::nullopt;

Range range(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) {
  return {start, stop, step};
}

}  // namespace

TEST_CASE("infer: functions of numbers keep the dtype or give bool") {
  check_all({
      {Unary{UnaryFn::gelu}, {f16({2, 3})}, "float16 (2, 3)"},
      {Unary{UnaryFn::gelu}, {i32({2, 3})}, "gelu needs floating-point numbers, its input is int32"},
      {Unary{UnaryFn::negative}, {i32({kU, 3})}, "int32 (None, 3)"},
      {Unary{UnaryFn::negative}, {boolean({3})}, "negative needs numbers, its input is bool"},
      {Unary{UnaryFn::isnan}, {f32({})}, "bool ()"},
      {Unary{UnaryFn::logical_not}, {f32({2})}, "the input of logical_not must be bool, it is float32"},
      {Cast{DType::bfloat16}, {boolean({kU})}, "bfloat16 (None,)"},
  });
}

TEST_CASE("infer: two numbers broadcast as in NumPy") {
  check_all({
      {Binary{BinaryFn::add}, {f32({5, 3}), f32({1, 3})}, "float32 (5, 3)"},
      {Binary{BinaryFn::add}, {f32({}), f32({kU, 1, 4})}, "float32 (None, 1, 4)"},
      {Binary{BinaryFn::less}, {f32({kU, 1}), f32({1, 7})}, "bool (None, 7)"},
      {Binary{BinaryFn::add}, {f32({kU, 3}), f32({8, 3})}, "float32 (8, 3)"},
      {Binary{BinaryFn::add}, {f32({2, 3}), f32({4, 3})}, "the shapes (2, 3) and (4, 3) do not broadcast"},
      {Binary{BinaryFn::add}, {f32({2}), f16({2})}, "its inputs are float32 and float16, and they must have one dtype"},
      {Binary{BinaryFn::divide}, {i32({2}), i32({2})}, "divide needs floating-point numbers, its input is int32"},
      {Binary{BinaryFn::logical_and}, {boolean({2, 1}), boolean({2})}, "bool (2, 2)"},
      {Select{}, {boolean({2, 1}), f32({3}), f32({})}, "float32 (2, 3)"},
      {Select{}, {f32({2}), f32({2}), f32({2})}, "the condition must be bool, it is float32"},
  });
}

TEST_CASE("infer: a dense map replaces the axes it contracts") {
  const Unary gelu{UnaryFn::gelu};
  check_all({
      {Linear{}, {f32({kU, 50, 512}), f32({512, 64})}, "float32 (None, 50, 64)"},
      {Linear{}, {f32({2, 32}), f32({64, 8})}, "the last axis of x is 32, the kernel expects 64"},
      {Linear{1, true, gelu, true}, {f32({2, 4}), f32({4, 8, 3}), f32({8, 3}), f32({2, 8, 3})}, "float32 (2, 8, 3)"},
      {Linear{2}, {f32({2, 5, 8, 64}), f32({8, 64, 512})}, "float32 (2, 5, 512)"},
      {Linear{2}, {f32({2, 8, 32}), f32({8, 64, 512})}, "the last 2 axes of x are (8, 32), the kernel expects (8, 64)"},
      {Linear{1, true}, {f32({2, 4}), f32({4, 8}), f32({7})}, "the shape of the bias is (7,), where (8,) is expected"},
      {Linear{1, false, {}, true},
       {f32({2, 4}), f32({4, 8}), f32({1, 8})},
       "the shape of the residual is (1, 8), where (2, 8) is expected"},
      {Linear{3}, {f32({2, 4}), f32({4, 8})}, "3 axes of x (2, 4) cannot be contracted with the kernel (4, 8)"},
  });
}

TEST_CASE("infer: matmul follows NumPy, vectors included") {
  check_all({
      {MatMul{}, {f32({2, 3}), f32({3, 4})}, "float32 (2, 4)"},
      {MatMul{true, true}, {f32({5, 3, 2}), f32({1, 4, 3})}, "float32 (5, 2, 4)"},
      {MatMul{}, {f32({3}), f32({5, 3, 4})}, "float32 (5, 4)"},
      {MatMul{}, {f32({5, 2, 3}), f32({3})}, "float32 (5, 2)"},
      {MatMul{}, {f32({3}), f32({3})}, "float32 ()"},
      {MatMul{}, {f32({kU, kU, 3}), f32({7, 3, kU})}, "float32 (7, None, None)"},
      {MatMul{}, {f32({2, 3}), f32({4, 3})}, "matmul of (2, 3) and (4, 3): the inner axes are 3 and 4"},
      {MatMul{},
       {f32({2, 2, 3}), f32({3, 3, 4})},
       "matmul of (2, 2, 3) and (3, 3, 4): the batch axes do not broadcast"},
      {MatMul{}, {f32({}), f32({3})}, "matmul of () and (3,): both sides need axes"},
  });
}

TEST_CASE("infer: einsum sizes every letter once") {
  check_all({
      {Einsum{"abc,cde->abde"}, {f32({kU, 50, 512}), f32({512, 8, 64})}, "float32 (None, 50, 8, 64)"},
      {Einsum{"aecd, abcd -> acbe"}, {f32({2, 7, 8, 64}), f32({2, 5, 8, 64})}, "float32 (2, 8, 5, 7)"},
      {Einsum{"ii->i"}, {f32({3, 3})}, "float32 (3,)"},
      {Einsum{"ij->"}, {f32({3, 4})}, "float32 ()"},
      {Einsum{"ab,bc->ac"}, {f32({2, 3}), f32({4, 5})}, "'b' of the equation 'ab,bc->ac' is both 3 and 4"},
      {Einsum{"ab,bc->ac"},
       {f32({2, 3}), f32({3, 4, 5})},
       "the equation 'ab,bc->ac' names 2 axes of input 1, which has the shape (3, 4, 5)"},
      {Einsum{"ab,bc"}, {f32({2, 3}), f32({3, 4})}, "the equation 'ab,bc' has no '->'"},
      {Einsum{"...b->b"}, {f32({3})}, "the equation '...b->b' has '.' where a letter belongs"},
      {Einsum{"ab->aa"}, {f32({2, 3})}, "the output of the equation 'ab->aa' repeats 'a'"},
      {Einsum{"ab->c"}, {f32({2, 3})}, "no input of the equation 'ab->c' has 'c'"},
  });
}

TEST_CASE("infer: attention returns one context per query head, and probabilities if requested") {
  const Attention plain;
  Attention masked;
  masked.masks = 1;
  masked.scores = true;
  const TensorType query = f32({kU, 5, 8, 64}), key = f32({kU, 7, 2, 64}), value = f32({kU, 7, 2, 32});
  check_all({
      {plain, {query, key, value}, "float32 (None, 5, 8, 32)"},
      {masked, {query, key, value, boolean({kU, 1, 1, 7})}, "float32 (None, 5, 8, 32); float32 (None, 8, 5, 7)"},
      {masked, {query, key, value, boolean({5, 7})}, "float32 (None, 5, 8, 32); float32 (None, 8, 5, 7)"},
      {masked,
       {query, key, value, boolean({kU, 1, 1, 6})},
       "the attention mask (None, 1, 1, 6) does not broadcast to the scores (batch, heads, T, S) = (None, 8, 5, 7)"},
      {masked,
       {f32({2, 1, 8, 64}), f32({2, 7, 2, 64}), f32({2, 7, 2, 32}), boolean({4, 7})},
       "the attention mask (4, 7) does not broadcast to the scores (batch, heads, T, S) = (2, 8, 1, 7)"},
      {masked, {query, key, value, f32({5, 7})}, "an attention mask must be bool, it is float32"},
      {plain, {query, f32({kU, 7, 2, 32}), value}, "a head of the query has 64 numbers and one of the key 32"},
      {plain, {query, key, f32({kU, 6, 2, 32})}, "the key has 7 positions and the value 6"},
      {plain, {query, f32({kU, 7, 3, 64}), f32({kU, 7, 3, 64})}, "8 query heads cannot share 3 key heads evenly"},
      {plain, {f32({2, 5, 8}), key, value}, "the query must have 4 axes, its shape is (2, 5, 8)"},
  });
}

TEST_CASE("infer: softmax and normalizations keep the shape and check their axes") {
  const LayerNorm norm{NormKind::layer, {1, 2}};
  check_all({
      {Softmax{SoftmaxKind::softmax, {3, 1}}, {f32({1, 2, 3, 4})}, "float32 (1, 2, 3, 4)"},
      {Softmax{SoftmaxKind::softmax, {2}}, {f32({1, 2})}, "axis 2 is outside of its input, which has 2 axes"},
      {Softmax{SoftmaxKind::sparsemax, {}}, {f32({1, 2})}, "sparsemax has no axis"},
      {Softmax{SoftmaxKind::softmax, {0, 0}}, {f32({1, 2})}, "axis 0 comes after axis 0, and axes must ascend"},
      {norm, {f32({kU, 4, 8}), f32({4, 8}), f32({4, 8})}, "float32 (None, 4, 8)"},
      {norm, {f32({kU, 4, 8}), f32({8}), f32({4, 8})}, "the shape of gamma is (8,), where (4, 8) is expected"},
      {LayerNorm{NormKind::rms, {1}, 1e-6, true, false}, {f16({2, 8}), f16({8})}, "float16 (2, 8)"},
      {BatchNorm{-1, 1e-3, false, false}, {f32({2, 5, 8}), f32({8}), f32({8})}, "float32 (2, 5, 8)"},
      {BatchNorm{1, 1e-3, false, false},
       {f32({2, 5, 8}), f32({5}), f32({8})},
       "the shape of the moving variance is (8,), where (5,) is expected"},
  });
}

TEST_CASE("infer: a reduction drops its axes or leaves 1") {
  check_all({
      {Reduce{ReduceFn::mean, {1}}, {f32({kU, 5, 8})}, "float32 (None, 8)"},
      {Reduce{ReduceFn::sum, {0, 2}, true}, {i32({2, 5, 8})}, "int32 (1, 5, 1)"},
      {Reduce{ReduceFn::max, {}}, {f32({2, 5})}, "float32 (2, 5)"},
      {Reduce{ReduceFn::max, {0}}, {f32({0, 5})}, "max over axis 0 of (0, 5) has no elements"},
      {Reduce{ReduceFn::argmax, {1}}, {f32({2, 5})}, "int32 (2,)"},
      {Reduce{ReduceFn::argmax, {0, 1}}, {f32({2, 5})}, "argmax takes one axis, not 2"},
      {Reduce{ReduceFn::any, {1}}, {f32({2, 5})}, "the input of any must be bool, it is float32"},
      {Reduce{ReduceFn::sum, {1, 0}}, {f32({2, 5})}, "axis 0 comes after axis 1, and axes must ascend"},
      {Cumulate{false, 1}, {i32({2, 5})}, "int32 (2, 5)"},
      {Cumulate{false, 2}, {i32({2, 5})}, "axis 2 is outside of its input, which has 2 axes"},
  });
}

TEST_CASE("infer: a reshape computes its open axis if the element count is known") {
  check_all({
      {Reshape{{kU, 6}}, {f32({4, 3, 2})}, "float32 (4, 6)"},
      {Reshape{{}}, {f32({1, 1})}, "float32 ()"},
      {Reshape{{kU, 8, 64}}, {f32({kU, 512})}, "float32 (None, 8, 64)"},
      {Reshape{{kU, kU, 64}}, {f32({kU, 512})}, "float32 (None, None, 64)"},
      {Reshape{{kU, kU}}, {f32({2, 2})}, "the target (None, None) leaves more than one axis open"},
      {Reshape{{5}}, {f32({2, 2})}, "4 elements of (2, 2) cannot take the shape (5,)"},
      {Reshape{{kU, 3}}, {f32({2, 2})}, "4 elements of (2, 2) cannot take the shape (None, 3)"},
      {Reshape{{kU, 0}}, {f32({0, 2})}, "0 elements of (0, 2) cannot take the shape (None, 0)"},
      {Reshape{{-2}}, {f32({2, 2})}, "a shape has the dimension -2"},
  });
}

TEST_CASE("infer: moving data keeps unknown sizes unknown") {
  check_all({
      {Transpose{{0, 2, 1}}, {f32({kU, 5, 8})}, "float32 (None, 8, 5)"},
      {Transpose{{0, 0, 1}}, {f32({2, 5, 8})}, "(0, 0, 1) is no permutation of the axes of (2, 5, 8)"},
      {Broadcast{{4, 2, 3}}, {f32({2, 1})}, "float32 (4, 2, 3)"},
      {Broadcast{{kU, kU, 3}}, {f32({2, 1, 3})}, "float32 (2, None, 3)"},
      {Broadcast{{4}}, {f32({2})}, "(2,) does not broadcast to (4,)"},
      {Broadcast{{4}}, {f32({1, 4})}, "(1, 4) does not broadcast to (4,)"},
      {Concat{1}, {f32({kU, 2}), f32({3, 4})}, "float32 (3, 6)"},
      {Concat{0}, {f32({kU, 2}), f32({3, 2})}, "float32 (None, 2)"},
      {Concat{0}, {f32({1, 2}), f32({3, 4})}, "(1, 2) and (3, 4) cannot be concatenated along axis 0"},
      {Concat{0}, {f32({Dim{1} << 62}), f32({1})}, "a dimension of 4611686018427387904 + 1 is too large"},
      {Gather{0}, {f32({100, 8}), i32({kU, 5})}, "float32 (None, 5, 8)"},
      {Gather{1}, {f32({2, 100, 8}), i32({})}, "float32 (2, 8)"},
      {Gather{0}, {f32({100, 8}), f32({5})}, "indices must be integers, they are float32"},
      {Iota{{2, 3}, DType::int32, 1}, {}, "int32 (2, 3)"},
      {Iota{{}, DType::int32, 0}, {}, "axis 0 is outside of its input, which has 0 axes"},
      {Fill{{kU, 3}, DType::boolean, 1.0}, {}, "bool (None, 3)"},
  });
}

TEST_CASE("infer: a slice follows Python, and the size of a sliced unknown axis is unknown") {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const auto slice = [](Range r) { return Slice{{r}}; };
  check_all({
      {slice(range(kNothing, kNothing)), {f32({10})}, "float32 (10,)"},
      {slice(range(2, 7, 2)), {f32({10})}, "float32 (3,)"},
      {slice(range(-3, kNothing)), {f32({10})}, "float32 (3,)"},
      {slice(range(kNothing, kNothing, -1)), {f32({10})}, "float32 (10,)"},
      {slice(range(7, 2, -2)), {f32({10})}, "float32 (3,)"},
      {slice(range(-100, 100)), {f32({10})}, "float32 (10,)"},
      {slice(range(8, 3)), {f32({10})}, "float32 (0,)"},
      {slice(range(least, most, most)), {f32({10})}, "float32 (1,)"},
      {slice(range(most, least, least)), {f32({10})}, "float32 (1,)"},
      {slice(range(kNothing, 1)), {f32({kU})}, "float32 (None,)"},
      {slice(range(kNothing, 1)), {f32({0})}, "float32 (0,)"},
      {slice(range(kNothing, kNothing, 0)), {f32({kU})}, "the step of a slice is 0"},
      {slice(range(0, 1)), {f32({2, 3})}, "1 ranges do not fit (2, 3), which has 2 axes"},
  });
}

TEST_CASE("infer: padding lengthens each axis up to the limit of its mode") {
  const auto pad = [](PadMode mode, std::int64_t before, std::int64_t after) { return Pad{mode, {before}, {after}}; };
  check_all({
      {pad(PadMode::constant, 2, 3), {f32({4})}, "float32 (9,)"},
      {pad(PadMode::constant, 2, 3), {f32({kU})}, "float32 (None,)"},
      {pad(PadMode::constant, -1, 0), {f32({4})}, "the padding of axis 0 is negative"},
      {pad(PadMode::reflect, 3, 0), {f32({4})}, "float32 (7,)"},
      {pad(PadMode::reflect, 4, 0), {f32({4})}, "axis 0 of (4,) is too short for a padding of 4"},
      {pad(PadMode::symmetric, 4, 4), {f32({4})}, "float32 (12,)"},
      {pad(PadMode::edge, 0, 1), {f32({0})}, "axis 0 of (0,) is too short for a padding of 1"},
      {pad(PadMode::edge, 0, 0), {f32({0})}, "float32 (0,)"},
  });
}

TEST_CASE("infer: windows give Keras's output sizes") {
  const auto conv = [](Padding padding, std::int64_t stride, std::int64_t dilation, std::int64_t groups = 1) {
    return Conv{{stride}, {dilation}, padding, groups};
  };
  const TensorType kernel = f32({3, 4, 8});
  check_all({
      {conv(Padding::valid, 1, 1), {f32({kU, 10, 4}), kernel}, "float32 (None, 8, 8)"},
      {conv(Padding::valid, 2, 2), {f32({kU, 10, 4}), kernel}, "float32 (None, 3, 8)"},
      {conv(Padding::same, 3, 1), {f32({2, 10, 4}), kernel}, "float32 (2, 4, 8)"},
      {conv(Padding::causal, 1, 4), {f32({2, 10, 4}), kernel}, "float32 (2, 10, 8)"},
      {conv(Padding::same, 1, 1), {f32({2, kU, 4}), kernel}, "float32 (2, None, 8)"},
      {conv(Padding::valid, 1, 1), {f32({2, 2, 4}), kernel}, "a window over 3 cells does not fit into 2"},
      {conv(Padding::valid, 1, 1),
       {f32({2, 5, 6}), kernel},
       "x has 6 channels in each of 1 groups, the kernel expects 4"},
      {conv(Padding::valid, 1, 1, 2), {f32({2, 5, 8}), kernel}, "float32 (2, 3, 8)"},
      {conv(Padding::valid, 1, 1, 3), {f32({2, 5, 8}), kernel}, "8 channels cannot be split into 3 groups"},
      {conv(Padding::valid, 0, 1), {f32({2, 5, 4}), kernel}, "strides must be at least 1, one is 0"},
      {Conv{{1, 2}, {1, 1}, Padding::same}, {f32({1, 5, 6, 3}), f32({3, 3, 3, 7})}, "float32 (1, 5, 3, 7)"},
      {Pool{true, {2, 2}, {2, 2}}, {f32({1, 5, 6, 3})}, "float32 (1, 2, 3, 3)"},
      {Pool{false, {2}, {2}, Padding::same}, {i32({kU, 5, 3})}, "int32 (None, 3, 3)"},
      {Pool{false, {2}, {2}},
       {f32({2, 3})},
       "x must have a batch axis, 1 to 3 spatial axes and a channel axis, its shape is (2, 3)"},
  });
}

TEST_CASE("infer: a recurrent layer returns its outputs, then its states") {
  Rnn lstm;
  lstm.return_sequences = lstm.return_state = true;
  Rnn gru;
  gru.cell = RnnCell::gru;
  gru.mask = gru.initial_state = true;
  const TensorType x = f32({kU, 5, 3});
  check_all({
      {lstm, {x, f32({3, 16}), f32({4, 16}), f32({16})}, "float32 (None, 5, 4); float32 (None, 4); float32 (None, 4)"},
      {gru, {x, f32({3, 12}), f32({4, 12}), f32({2, 12}), boolean({kU, 5}), f32({kU, 4})}, "float32 (None, 4)"},
      {lstm,
       {x, f32({3, 16}), f32({4, 12}), f32({16})},
       "the shape of the recurrent kernel is (4, 12), where (4, 16) is expected"},
      {lstm,
       {x, f32({2, 16}), f32({4, 16}), f32({16})},
       "the shape of the kernel is (2, 16), where (3, 16) is expected"},
  });
}

TEST_CASE("infer: a wrong number of inputs is an internal error") {
  try {
    static_cast<void>(infer(Select{}, std::vector<TensorType>{}));
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::internal);
  }
}
