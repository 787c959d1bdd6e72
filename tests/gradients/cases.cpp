#include "cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "../ops/functions.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations, which fill this file

using Cases = std::vector<Case>;
constexpr double kNoBound = std::numeric_limits<double>::infinity();

void add(Cases& cases, Op op, std::vector<Input> inputs) {
  cases.push_back({fmt::format("{} {}", cases.size(), name_of(op)), std::move(op), std::move(inputs)});
}

void add_functions(Cases& cases, Dice& dice) {
  const Shape x{dice.in(1, 3), dice.in(1, 4)};
  add(cases, Unary{UnaryFn::linear}, {{x}});
  for (const Unary& op : functions_with_slopes()) {
    if (op.fn == UnaryFn::reciprocal || op.fn == UnaryFn::tan) continue;  // need other numbers: below
    add(cases, op, {{x}});
  }
  for (const UnaryFn fn : {UnaryFn::log, UnaryFn::log1p, UnaryFn::log2, UnaryFn::log10, UnaryFn::sqrt, UnaryFn::rsqrt,
                           UnaryFn::reciprocal})
    add(cases, Unary{fn}, {{x, Numbers::positive}});
  for (const UnaryFn fn : {UnaryFn::asin, UnaryFn::acos, UnaryFn::atanh, UnaryFn::tan})
    add(cases, Unary{fn}, {{x, Numbers::unit}});
  add(cases, Unary{UnaryFn::acosh}, {{x, Numbers::above}});

  const Shape wide{dice.in(1, 3), dice.in(2, 3), dice.in(1, 4)};
  for (const BinaryFn fn : {BinaryFn::add, BinaryFn::subtract, BinaryFn::multiply, BinaryFn::divide, BinaryFn::power,
                            BinaryFn::maximum, BinaryFn::minimum, BinaryFn::atan2, BinaryFn::mod}) {
    for (const Shape& other : {wide, Shape{wide[1], 1}, Shape{wide[0], 1, 1}, Shape{}}) {
      add(cases, Binary{fn}, {{wide, Numbers::positive}, {other, Numbers::positive}});
      add(cases, Binary{fn}, {{other, Numbers::positive}, {wide, Numbers::positive}});
    }
  }
  add(cases, Select{}, {{{wide[1], 1}, Numbers::mask}, {wide}, {{wide[2]}}});
  add(cases, Cast{DType::float64}, {{wide}});
}

void add_products(Cases& cases, Dice& dice) {
  const Dim b = dice.in(1, 3), t = dice.in(1, 4), d = dice.in(1, 5), m = dice.in(1, 4), n = dice.in(1, 3);
  for (const UnaryFn fn : {UnaryFn::linear, UnaryFn::relu, UnaryFn::gelu}) {
    const Unary activation{fn, 0.0, 0.0, kNoBound};
    add(cases, Linear{1, false, activation, false}, {{{b, t, d}}, {{d, m}}});
    add(cases, Linear{1, true, activation, true}, {{{b, t, d}}, {{d, m, n}}, {{m, n}}, {{b, t, m, n}}});
    add(cases, Linear{2, true, activation, false}, {{{b, d, n}}, {{d, n, m}}, {{m}}});
  }
  add(cases, Linear{1, true}, {{{d}}, {{d}}, {{}}});
  for (const bool transpose_x : {false, true}) {
    for (const bool transpose_y : {false, true}) {
      const MatMul op{transpose_x, transpose_y};
      const auto x = [&](Shape batch) {
        batch.append(transpose_x ? Shape{d, m} : Shape{m, d});
        return Input{batch};
      };
      const auto y = [&](Shape batch) {
        batch.append(transpose_y ? Shape{n, d} : Shape{d, n});
        return Input{batch};
      };
      add(cases, op, {x({b}), y({b})});
      add(cases, op, {x({b}), y({})});
      add(cases, op, {x({}), y({b})});
      add(cases, op, {x({b, 1}), y({t})});
      add(cases, op, {Input{{d}}, y({b})});
      add(cases, op, {x({b}), Input{{d}}});
    }
  }
  add(cases, MatMul{}, {{{d}}, {{d}}});
  add(cases, Einsum{"abc,cde->abde"}, {{{b, t, d}}, {{d, m, n}}});
  add(cases, Einsum{"abc,bd->ad"}, {{{b, t, d}}, {{t, m}}});
  add(cases, Einsum{"aab->b"}, {{{d, d, n}}});
  add(cases, Einsum{"aba,b->"}, {{{d, m, d}}, {{m}}});
  add(cases, Einsum{"ab,bc,c->a"}, {{{b, t}}, {{t, d}}, {{d}}});
  add(cases, Einsum{"ab->ba"}, {{{b, t}}});
}

void add_attention(Cases& cases, Dice& dice) {
  const Dim b = dice.in(1, 2), t = dice.in(1, 4), s = dice.in(2, 5), k = dice.in(1, 2), n = k * dice.in(1, 2),
            h = dice.in(1, 4), v = dice.in(1, 3);
  const std::vector<Input> plain{{{b, t, n, h}}, {{b, s, k, h}}, {{b, s, k, v}}};
  const auto with = [&](std::vector<Input> further) {
    std::vector<Input> inputs = plain;
    inputs.insert(inputs.end(), further.begin(), further.end());
    return inputs;
  };
  for (const AttentionPath path : {AttentionPath::fused, AttentionPath::explicit_}) {
    Attention op;
    op.path = path;
    op.scale = 1.0 / std::sqrt(static_cast<double>(h));
    add(cases, op, plain);
    op.scores = true;
    add(cases, op, plain);
    op.causal = true;
    add(cases, op, plain);
    op.soft_cap = 1.5;
    op.bias = true;
    op.masks = 1;
    add(cases, op, with({{{n, 1, s}}, {{b, 1, 1, s}, Numbers::mask}}));
    op.scores = op.causal = false;
    op.window = 2;
    op.masks = 2;
    add(cases, op, with({{{b, n, t, s}}, {{t, s}, Numbers::mask}, {{b, 1, 1, s}, Numbers::mask}}));
  }
  const Shape x{dice.in(1, 2), dice.in(2, 5), dice.in(2, 3)};
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax, SoftmaxKind::sparsemax})
    for (const std::vector<int>& axes : {std::vector{2}, {1}, {1, 2}}) add(cases, Softmax{kind, axes}, {{x}});
}

void add_norms(Cases& cases, Dice& dice) {
  const Shape x{dice.in(2, 3), dice.in(2, 3), dice.in(2, 5)};
  for (const NormKind kind : {NormKind::layer, NormKind::rms, NormKind::rms_layer}) {
    for (const std::vector<int>& axes : {std::vector{2}, {1, 2}}) {
      const Shape sizes = axes.size() == 1 ? Shape{x[2]} : Shape{x[1], x[2]};
      add(cases, LayerNorm{kind, axes, 1e-3, true, true}, {{x}, {sizes}, {sizes}});
      add(cases, LayerNorm{kind, axes, 1e-3, false, true}, {{x}, {sizes}});
      add(cases, LayerNorm{kind, axes, 1e-3, true, false}, {{x}, {sizes}});
    }
  }
  for (const int axis : {-1, 1}) {
    const Shape c{x[axis]};
    add(cases, BatchNorm{axis, 1e-3, true, true}, {{x}, {c}, {c, Numbers::positive}, {c}, {c}});
    add(cases, BatchNorm{axis, 1e-3, false, true}, {{x}, {c}, {c, Numbers::positive}, {c}});
    add(cases, BatchNorm{axis, 1e-3, false, false}, {{x}, {c}, {c, Numbers::positive}});
    add(cases, BatchNormTraining{axis, 1e-3, true, true, false}, {{x}, {c}, {c}});
    add(cases, BatchNormTraining{axis, 1e-3, true, true, true}, {{x}, {c}, {c}, {x.slice(0, 2), Numbers::mask}});
    add(cases, BatchNormTraining{axis, 1e-3, false, false, false}, {{x}});
  }
}

void add_reductions(Cases& cases, Dice& dice) {
  const Shape x{dice.in(1, 3), dice.in(2, 4), dice.in(1, 3)};
  for (const ReduceFn fn :
       {ReduceFn::sum, ReduceFn::mean, ReduceFn::max, ReduceFn::min, ReduceFn::prod, ReduceFn::logsumexp})
    for (const std::vector<int>& axes : {std::vector<int>{}, {1}, {0, 2}, {0, 1, 2}})
      for (const bool keepdims : {false, true}) add(cases, Reduce{fn, axes, keepdims}, {{x}});
  for (const bool product : {false, true})
    for (const bool reverse : {false, true})
      for (const bool exclusive : {false, true}) add(cases, Cumulate{product, 1, reverse, exclusive}, {{x}});
}

void add_layout(Cases& cases, Dice& dice) {
  const Shape x{dice.in(1, 3), dice.in(5, 7), dice.in(3, 4)};
  add(cases, Reshape{{x[2], x[0] * x[1]}}, {{x}});
  add(cases, Transpose{{2, 0, 1}}, {{x}});
  add(cases, Broadcast{{2, x[0], x[1], x[2]}}, {{{x[1], 1}}});
  add(cases, Concat{1}, {{{2, 1, 3}}, {{2, x[1], 3}}, {{2, 2, 3}}});
  add(cases, Slice{{{}, {1, 4}, {-2, {}}}}, {{x}});
  add(cases, Slice{{{}, {{}, {}, -2}, {0, 3, 2}}}, {{x}});
  add(cases, Slice{{{}, {1, 1}, {}}}, {{x}});
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::symmetric, PadMode::edge})
    add(cases, Pad{mode, {0, 3, 2}, {0, 2, 1}, 0.5}, {{x}});
  add(cases, Gather{0}, {{{4, 3}}, {{2, 3}, Numbers::indices, 4}});
  add(cases, Gather{1}, {{x}, {{4}, Numbers::indices, x[1]}});
  add(cases, Scatter{x, {{}, {1, 6, 2}, {{}, {}, -1}}}, {{{x[0], x[1] > 5 ? 3 : 2, x[2]}}});
  add(cases, ScatterAdd{0, 4}, {{{2, 3, 2}}, {{2, 3}, Numbers::indices, 4}});
}

/// Convolutions and pools over one, two and three axes, with matching windows, strides, dilations and groups.
void add_drawn_windows(Cases& cases, Dice& dice) {
  for (int spatial = 1; spatial <= 3; ++spatial) {
    Conv conv;
    Pool pool;
    const Dim groups = dice.in(1, 2), inputs = groups * dice.in(1, 2), filters = groups * dice.in(1, 2);
    Shape x{dice.in(1, 2)}, kernel;
    const bool strided = dice.coin();  // Keras has strides or dilations, not both
    for (int axis = 0; axis < spatial; ++axis) {
      conv.strides.push_back(strided ? dice.in(1, 3) : 1);
      conv.dilation.push_back(strided ? 1 : dice.in(1, 2));
      kernel.push_back(dice.in(1, 3));
      pool.window.push_back(dice.in(1, 3));
      pool.strides.push_back(dice.in(1, 3));
      const Dim reach = conv.dilation.back() * (kernel.back() - 1);
      x.push_back(std::max(reach + dice.in(1, spatial == 3 ? 2 : 4), pool.window.back()));
    }
    x.push_back(inputs);
    kernel.push_back(inputs / groups);
    kernel.push_back(filters);
    conv.groups = groups;
    conv.bias = dice.coin();
    conv.padding = spatial == 1 ? dice.of({Padding::valid, Padding::same, Padding::causal})
                                : dice.of({Padding::valid, Padding::same});
    std::vector<Input> operands{{x}, {kernel}};
    if (conv.bias) operands.push_back({{filters}});
    add(cases, conv, operands);
    pool.padding = dice.of({Padding::valid, Padding::same});
    for (const bool average : {false, true}) {
      pool.average = average;
      add(cases, pool, {{x}});
    }
  }
}

void add_windows(Cases& cases, Dice& dice) {
  const Dim b = dice.in(1, 2), c = 2 * dice.in(1, 2), f = 2 * dice.in(1, 2);
  const Unary tanh{UnaryFn::tanh};
  add_drawn_windows(cases, dice);
  add(cases, Conv{{2}, {1}, Padding::same, 1, true, tanh}, {{{b, 6, c}}, {{3, c, f}}, {{f}}});
  add(cases, Conv{{1}, {2}, Padding::causal, 2, false, {}}, {{{b, 7, c}}, {{2, c / 2, f}}});
  add(cases, Conv{{2, 1}, {1, 1}, Padding::valid, 1, true, {}}, {{{b, 5, 4, c}}, {{3, 2, c, f}}, {{f}}});
  add(cases, Conv{{1, 1, 1}, {1, 1, 1}, Padding::valid, 1, false, {}}, {{{b, 3, 3, 3, c}}, {{2, 2, 2, c, f}}});
  for (const bool average : {false, true}) {
    add(cases, Pool{average, {2}, {2}, Padding::valid}, {{{b, 6, c}}});
    add(cases, Pool{average, {3, 2}, {2, 1}, Padding::same}, {{{b, 5, 4, c}}});
  }
}

void add_recurrences(Cases& cases, Dice& dice) {
  for (const RnnCell cell : {RnnCell::simple, RnnCell::lstm, RnnCell::gru}) {
    const Dim gates = cell == RnnCell::simple ? 1 : cell == RnnCell::lstm ? 4 : 3;
    const Dim b = dice.in(1, 3), t = dice.in(1, 5), d = dice.in(1, 3), u = dice.in(1, 3);
    const auto add_one = [&](Rnn op) {
      op.cell = cell;
      const bool two = cell == RnnCell::gru && op.reset_after;
      std::vector<Input> inputs{{{b, t, d}}, {{d, gates * u}}, {{u, gates * u}}};
      if (op.bias) inputs.push_back({two ? Shape{2, gates * u} : Shape{gates * u}});
      if (op.mask) inputs.push_back({{b, t}, Numbers::mask});
      if (op.initial_state) inputs.insert(inputs.end(), cell == RnnCell::lstm ? 2 : 1, {{b, u}});
      add(cases, op, inputs);
    };
    for (const bool all : {false, true}) {
      Rnn op;
      op.mask = op.initial_state = op.return_state = op.return_sequences = op.go_backwards = all;
      op.reset_after = !all;
      add_one(op);
    }
    Rnn drawn;
    drawn.activation = dice.of({Unary{UnaryFn::tanh}, Unary{UnaryFn::softsign}, Unary{UnaryFn::linear}});
    drawn.recurrent_activation = dice.of({Unary{UnaryFn::sigmoid}, Unary{UnaryFn::tanh}});
    drawn.bias = dice.coin();
    drawn.mask = dice.coin();
    drawn.initial_state = dice.coin();
    drawn.reset_after = dice.coin();
    drawn.go_backwards = dice.coin();
    drawn.return_sequences = dice.coin();
    drawn.return_state = dice.coin();
    drawn.zero_output_for_mask = drawn.mask && drawn.return_sequences && dice.coin();
    add_one(drawn);
  }
}

void add_delta_rule(Cases& cases, Dice& dice) {
  const Dim b = dice.in(1, 3), t = dice.in(1, 4), h = dice.in(1, 3), k = dice.in(1, 4), v = dice.in(1, 4);
  const Shape keys{b, t, h, k};
  const Input unit{keys, Numbers::unit};
  add(cases, DeltaRule{}, {{keys}, unit, unit, {{b, t, h, v}}, unit, unit, {{b, h, v, k}}});
}

void add_loss(Cases& cases, Dice& dice) {
  const Dim b = dice.in(1, 3), c = dice.in(2, 4);
  add(cases, SoftmaxCrossEntropy{}, {{{b, 2, c}}, {{b, 2}, Numbers::labels, c}});
  add(cases, SoftmaxCrossEntropy{}, {{{b, c}}, {{b, c}, Numbers::positive}});
  add(cases, Dropout{0.4, 7, {1, c}}, {{{b, c}}, {{}, Numbers::counter}});
}

}  // namespace

Cases gradient_cases(Dice& dice) {
  Cases cases;
  add_functions(cases, dice);
  add_products(cases, dice);
  add_attention(cases, dice);
  add_norms(cases, dice);
  add_reductions(cases, dice);
  add_layout(cases, dice);
  add_windows(cases, dice);
  add_recurrences(cases, dice);
  add_delta_rule(cases, dice);
  add_loss(cases, dice);
  return cases;
}

}  // namespace attn::test
