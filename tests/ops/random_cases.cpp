#include <fmt/format.h>

#include <cmath>

#include "attn/base/rng.h"
#include "generated_cases.h"

namespace attn::test {
namespace {

using namespace attn::graph;

class Dice {
 public:
  explicit Dice(int number) : stream_(7, fmt::format("case {}", number)) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(stream_.uniform() * static_cast<double>(n)); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <typename T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  Dim length() { return one_in(8) ? of<Dim>({511, 512, 513}) : of<Dim>({1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 65}); }
  Dim width() { return of<Dim>({1, 3, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100}); }
  DType dtype() { return of({DType::float32, DType::float32, DType::float32, DType::bfloat16, DType::float16}); }
  Unary activation() {
    return of<Unary>({{UnaryFn::linear},
                      {UnaryFn::relu, 0.0, 0.0, INFINITY},
                      {UnaryFn::gelu},
                      {UnaryFn::tanh},
                      {UnaryFn::silu},
                      {UnaryFn::sigmoid}});
  }

 private:
  RandomStream stream_;
};

struct Made {
  Op op;
  std::vector<Operand> inputs;
};

Made attention(Dice& dice) {
  Attention op;
  const DType dtype = dice.dtype();
  const Dim batch = dice.of<Dim>({1, 2, 3}), queries = dice.length();
  // Long with short, or both similar: the reference loops take T·S·H.
  const Dim keys = dice.one_in(2) ? queries : dice.of<Dim>({1, 7, 8, 9, 17});
  const Dim key_heads = dice.of<Dim>({1, 2, 3}), heads = key_heads * dice.of<Dim>({1, 1, 2});
  const bool is_long = queries > 100;
  const Dim size = is_long ? 8 : dice.width(), value_size = dice.one_in(3) && !is_long ? dice.width() : size;
  const Dim entries = is_long ? 1 : batch, query_heads = is_long ? key_heads : heads;
  op.scale = 1.0 / std::sqrt(static_cast<double>(size));
  op.path = dice.of({AttentionPath::fused, AttentionPath::explicit_});
  op.causal = dice.one_in(3);
  op.scores = dice.one_in(4);
  if (dice.one_in(6)) op.window = dice.of<std::int64_t>({1, 4, 100});
  std::vector<Operand> inputs{{{entries, queries, query_heads, size}, Numbers::normal, dtype, false},
                              {{entries, keys, key_heads, size}, Numbers::normal, dtype, false},
                              {{entries, keys, key_heads, value_size}, Numbers::normal, dtype, false}};
  op.masks = static_cast<int>(dice.below(3));
  for (int i = 0; i < op.masks; ++i) {
    const Shape shape = dice.of<Shape>({{entries, 1, 1, keys},
                                        {entries, query_heads, queries, keys},
                                        {1, 1, queries, keys},
                                        {entries, 1, queries, 1}});
    inputs.push_back({shape, dice.of({Numbers::mask, Numbers::rows_off}), DType::boolean, false});
  }
  return {op, std::move(inputs)};
}

Made linear(Dice& dice) {
  Linear op;
  const DType dtype = dice.dtype();
  const Dim rows = dice.length(), depth = dice.one_in(6) ? dice.length() : dice.width(), width = dice.width();
  op.bias = dice.one_in(2);
  op.activation = dice.activation();
  op.residual = dice.one_in(4);
  std::vector<Operand> inputs{{{dice.of<Dim>({1, 2}), rows, depth}, Numbers::normal, dtype, false},
                              {{depth, width}, Numbers::normal, dtype, dice.one_in(4) ? false : true}};
  if (op.bias) inputs.push_back({{width}, Numbers::normal, dtype, true});
  if (op.residual) inputs.push_back({{inputs[0].shape[0], rows, width}, Numbers::normal, dtype, false});
  return {op, std::move(inputs)};
}

Made matmul(Dice& dice) {
  const MatMul op{dice.one_in(2), dice.one_in(2)};
  const DType dtype = dice.dtype();
  const Dim m = dice.width(), k = dice.length(), n = dice.width();
  const Dim left = dice.of<Dim>({1, 3}), right = dice.of<Dim>({1, 3});
  return {op,
          {{op.transpose_x ? Shape{left, k, m} : Shape{left, m, k}, Numbers::normal, dtype, false},
           {op.transpose_y ? Shape{right, n, k} : Shape{right, k, n}, Numbers::normal, dtype, false}}};
}

Made softmax(Dice& dice) {
  const auto kind = dice.of({SoftmaxKind::softmax, SoftmaxKind::softmax, SoftmaxKind::log_softmax});
  const int axis = static_cast<int>(dice.below(3));
  return {Softmax{kind, {axis}},
          {{{dice.of<Dim>({1, 3}), dice.length(), dice.width()}, Numbers::normal, dice.dtype(), false}}};
}

Made norm(Dice& dice) {
  LayerNorm op;
  op.kind = dice.of({NormKind::layer, NormKind::layer, NormKind::rms, NormKind::rms_layer});
  op.epsilon = dice.of({1e-3, 1e-6, 1e-12});
  op.axes = {2};
  op.scale = !dice.one_in(4);
  op.center = !dice.one_in(4);
  const DType dtype = dice.dtype();
  const Dim width = dice.one_in(4) ? dice.length() : dice.width();
  std::vector<Operand> inputs{{{2, dice.of<Dim>({1, 7, 17}), width}, Numbers::normal, dtype, false}};
  if (op.scale) inputs.push_back({{width}, Numbers::normal, dtype, true});
  if (op.center) inputs.push_back({{width}, Numbers::normal, dtype, true});
  return {op, std::move(inputs)};
}

Made reduce(Dice& dice) {
  Reduce op;
  op.fn = dice.of({ReduceFn::sum, ReduceFn::mean, ReduceFn::max, ReduceFn::min, ReduceFn::logsumexp});
  op.axes = dice.of<std::vector<int>>({{0}, {1}, {2}, {1, 2}, {0, 1}});
  op.keepdims = dice.one_in(2);
  return {op, {{{dice.of<Dim>({1, 3}), dice.length(), dice.width()}, Numbers::normal, dice.dtype(), false}}};
}

Made conv(Dice& dice) {
  Conv op;
  const DType dtype = dice.dtype();
  const Dim channels = dice.width(), filters = dice.width(), window = dice.of<Dim>({1, 2, 3, 5});
  op.strides = {dice.of<std::int64_t>({1, 1, 2})};
  op.dilation = {op.strides[0] == 1 ? dice.of<std::int64_t>({1, 1, 2}) : 1};
  op.padding = dice.of({Padding::valid, Padding::same, Padding::causal});
  op.bias = dice.one_in(2);
  op.activation = dice.activation();
  std::vector<Operand> inputs{{{2, dice.of<Dim>({16, 17, 33}), channels}, Numbers::normal, dtype, false},
                              {{window, channels, filters}, Numbers::normal, dtype, true}};
  if (op.bias) inputs.push_back({{filters}, Numbers::normal, dtype, true});
  return {op, std::move(inputs)};
}

Made rnn(Dice& dice) {
  Rnn op;
  op.cell = dice.of({RnnCell::simple, RnnCell::lstm, RnnCell::gru});
  op.mask = dice.one_in(2);
  op.go_backwards = dice.one_in(3);
  op.return_sequences = dice.one_in(2);
  op.return_state = dice.one_in(2);
  op.reset_after = dice.one_in(2);
  const Dim gates = op.cell == RnnCell::simple ? 1 : op.cell == RnnCell::lstm ? 4 : 3;
  const Dim batch = 2, steps = dice.of<Dim>({1, 7, 9}), depth = dice.width(), units = dice.of<Dim>({1, 7, 8, 17, 32});
  const DType dtype = dice.dtype();
  std::vector<Operand> inputs{{{batch, steps, depth}, Numbers::normal, dtype, false},
                              {{depth, gates * units}, Numbers::unit, dtype, true},
                              {{units, gates * units}, Numbers::unit, dtype, true}};
  const bool two_biases = op.cell == RnnCell::gru && op.reset_after;
  inputs.push_back({two_biases ? Shape{2, gates * units} : Shape{gates * units}, Numbers::unit, dtype, true});
  if (op.mask) inputs.push_back({{batch, steps}, Numbers::mask, DType::boolean, false});
  return {op, std::move(inputs)};
}

}  // namespace

std::vector<Case> random_cases(int first, int last) {
  using Make = Made (*)(Dice&);
  constexpr Make kMakes[] = {attention, attention, attention, linear, linear, matmul, softmax, norm, reduce, conv, rnn};
  std::vector<Case> cases;
  for (int i = first; i < last; ++i) {
    Dice dice(i);
    Made made = kMakes[dice.below(std::size(kMakes))](dice);
    std::string name = fmt::format("random {}: {}", i, graph::name_of(made.op));
    for (const Operand& operand : made.inputs)
      name += fmt::format(" {} {}", name_of(operand.dtype), operand.shape.str());
    cases.push_back({std::move(name), made.op, std::move(made.inputs)});
  }
  return cases;
}

}  // namespace attn::test
