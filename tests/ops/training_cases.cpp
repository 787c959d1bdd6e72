// Training operations.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "attn/backends/reference.h"
#include "cases.h"
#include "functions.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations, which fill this file

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

Operand in(Shape shape, DType dtype = DType::float32, Numbers numbers = Numbers::normal) {
  return {std::move(shape), numbers, dtype};
}
Operand mask(Shape shape, Numbers numbers = Numbers::mask) { return {std::move(shape), numbers, DType::boolean}; }
Operand integers(Shape shape, std::int64_t below, DType dtype = DType::int32) {
  return {std::move(shape), Numbers::entries, dtype, false, false, below};
}

void add_slopes(std::vector<Case>& cases) {
  int variant = 0;
  for (const Unary& forward : functions_with_slopes()) {
    const std::string name = fmt::format("slope of {} {}", graph::name_of(forward.fn), ++variant);
    cases.push_back({name, UnaryGrad{forward}, {in({3, 65}), in({3, 65})}});
    cases.push_back({name + " NaN", UnaryGrad{forward}, {in({17}, DType::float32, Numbers::one_nan), in({17})}});
  }
  for (const UnaryFn fn : {UnaryFn::log, UnaryFn::log1p, UnaryFn::log2, UnaryFn::log10, UnaryFn::sqrt, UnaryFn::rsqrt})
    cases.push_back({fmt::format("slope of {}", graph::name_of(fn)),
                     UnaryGrad{{fn}},
                     {in({2, 17}, DType::float32, Numbers::positive), in({2, 17})}});
  for (const UnaryFn fn : {UnaryFn::asin, UnaryFn::acos, UnaryFn::atanh})
    cases.push_back({fmt::format("slope of {}", graph::name_of(fn)),
                     UnaryGrad{{fn}},
                     {in({2, 17}, DType::float32, Numbers::unit), in({2, 17})}});
  for (const DType dtype : kFloats)
    cases.push_back({fmt::format("slope of gelu {}", name_of(dtype)),
                     UnaryGrad{{UnaryFn::gelu}},
                     {in({33}, dtype), in({33}, dtype)}});
  cases.push_back({"slope of nothing", UnaryGrad{{UnaryFn::tanh}}, {in({0, 4}), in({0, 4})}});
}

struct Size {
  Dim B, T, N, K, S, H, V;
};

/// The gradient of `forward` for these sizes, with `further` among its inputs.
Case attention_grad(const std::string& name, const Size& s, Attention forward, const std::vector<Operand>& further,
                    DType dtype = DType::float32) {
  forward.scale = s.H > 0 ? 1.0 / std::sqrt(static_cast<double>(s.H)) : 1.0;
  Case row{fmt::format("attention_grad B{} T{} N{} K{} S{} H{} V{} {}", s.B, s.T, s.N, s.K, s.S, s.H, s.V, name),
           AttentionGrad{forward, forward.bias},
           {in({s.B, s.T, s.N, s.H}, dtype), in({s.B, s.S, s.K, s.H}, dtype), in({s.B, s.S, s.K, s.V}, dtype)}};
  row.inputs.insert(row.inputs.end(), further.begin(), further.end());
  row.inputs.push_back(in({s.B, s.T, s.N, s.V}, dtype));
  row.inputs.push_back(in({s.B, s.N, s.T}, dtype == DType::float64 ? DType::float64 : DType::float32));
  row.inputs.push_back(in({s.B, s.T, s.N, s.V}, dtype));
  if (forward.scores) row.inputs.push_back(in({s.B, s.N, s.T, s.S}, dtype));
  return row;
}

void add_attention(std::vector<Case>& cases) {
  Attention causal, window, soft, scores, masked, hidden, biased, all;
  causal.causal = true;
  window.window = 3;
  soft.soft_cap = 2.0;
  scores.scores = true;
  masked.masks = 1;
  hidden = masked;
  hidden.path = AttentionPath::explicit_;
  biased.bias = true;
  all.causal = all.bias = all.scores = true;
  all.masks = 1;
  all.soft_cap = 1.5;
  for (const Size& s : {Size{2, 5, 2, 2, 7, 4, 4}, Size{1, 17, 4, 2, 33, 16, 8}, Size{2, 9, 6, 1, 9, 5, 3},
                        Size{1, 1, 1, 1, 1, 1, 1}, Size{0, 3, 2, 2, 3, 4, 4}, Size{1, 3, 2, 2, 3, 4, 0}}) {
    for (const auto& [name, op] : {std::pair("plain", Attention{}),
                                   {"causal", causal},
                                   {"window", window},
                                   {"soft cap", soft},
                                   {"scores", scores}})
      cases.push_back(attention_grad(name, s, op, {}));
    for (const auto& [name, op] : {std::pair("masked", masked), {"masked explicit", hidden}}) {
      cases.push_back(attention_grad(name, s, op, {mask({s.B, 1, s.T, s.S})}));
      cases.push_back(attention_grad(std::string(name) + ", rows off", s, op, {mask({s.T, s.S}, Numbers::rows_off)}));
      cases.push_back(attention_grad(std::string(name) + ", all off", s, op, {mask({1, s.S}, Numbers::all_false)}));
    }
    cases.push_back(attention_grad("bias of all", s, biased, {in({s.B, s.N, s.T, s.S})}));
    cases.push_back(attention_grad("bias of heads and keys", s, biased, {in({s.N, 1, s.S})}));
    for (const DType dtype : kFloats)
      cases.push_back(attention_grad(fmt::format("all at once {}", name_of(dtype)), s, all,
                                     {in({1, s.N, s.T, s.S}, dtype), mask({s.B, 1, 1, s.S})}, dtype));
  }
}

void add_lse(std::vector<Case>& cases) {
  Attention op;
  op.lse = true;
  op.scale = 0.25;
  const auto add = [&](const std::string& name, const std::vector<Operand>& masks, DType dtype) {
    op.masks = static_cast<int>(masks.size());
    Case row{"attention with lse " + name,
             op,
             {in({2, 17, 4, 16}, dtype), in({2, 33, 2, 16}, dtype), in({2, 33, 2, 8}, dtype)}};
    row.inputs.insert(row.inputs.end(), masks.begin(), masks.end());
    cases.push_back(std::move(row));
  };
  for (const DType dtype : kFloats) {
    const std::string name(name_of(dtype));
    op.path = AttentionPath::fused;
    op.scores = op.causal = false;
    add(name, {}, dtype);
    add(name + " rows off", {mask({17, 33}, Numbers::rows_off)}, dtype);
    op.path = AttentionPath::explicit_;
    add(name + " rows off, explicit", {mask({17, 33}, Numbers::rows_off)}, dtype);
    op.scores = op.causal = true;
    add(name + " causal and scores", {}, dtype);
  }
}

void add_norms(std::vector<Case>& cases) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms, NormKind::rms_layer}) {
    for (const auto& [x, axes] : {std::pair(Shape{2, 17, 65}, std::vector{2}),
                                  {Shape{5, 1}, {1}},
                                  {Shape{5, 0}, {1}},
                                  {Shape{0, 16}, {1}},
                                  {Shape{17, 5}, {0}},
                                  {Shape{3, 4, 5}, {1, 2}},
                                  {Shape{3, 4, 5}, {0, 2}},
                                  {Shape{2, 1033}, {1}}}) {
      Shape sizes;
      for (const int axis : axes) sizes.push_back(x[axis]);
      for (const bool scale : {true, false}) {
        for (const bool center : {true, false}) {
          Case row{fmt::format("layer_norm_grad {} {} of {}{}{}", static_cast<int>(kind), x.str(), sizes.str(),
                               scale ? " gamma" : "", center ? " beta" : ""),
                   LayerNormGrad{{kind, axes, 1e-3, scale, center}},
                   {in(x)}};
          if (scale) row.inputs.push_back(in(sizes));
          row.inputs.push_back(in(x));
          cases.push_back(std::move(row));
        }
      }
    }
  }
  for (const DType dtype : kFloats)
    cases.push_back({fmt::format("layer_norm_grad {}", name_of(dtype)),
                     LayerNormGrad{{NormKind::layer, {1}, 1e-3}},
                     {in({3, 65}, dtype), in({65}, dtype), in({3, 65}, dtype)}});
  for (const int axis : {-1, 1, 0}) {
    for (const bool masked : {false, true}) {
      const Shape x{2, 17, 5}, c{x[axis]};
      const std::string name = fmt::format("axis {}{}", axis, masked ? " masked" : "");
      for (const bool scale : {true, false}) {
        const BatchNormTraining op{axis, 1e-3, scale, scale, masked};
        Case row{"batch_norm_training " + name + (scale ? "" : " plain"), op, {in(x)}};
        Case grad{"batch_norm_grad " + name + (scale ? "" : " plain"), BatchNormGrad{op}, {in(x)}};
        if (scale) {
          row.inputs.insert(row.inputs.end(), 2, in(c));
          grad.inputs.push_back(in(c));
        }
        if (masked) {
          row.inputs.push_back(mask({2, 17}));
          grad.inputs.push_back(mask({2, 17}));
        }
        for (const Operand& operand : {in(c), in(c, DType::float32, Numbers::positive), in(x)})
          grad.inputs.push_back(operand);
        cases.push_back(std::move(row));
        cases.push_back(std::move(grad));
      }
    }
  }
  for (const bool masked : {false, true}) {  // many blocks of rows
    const Shape x{9, 65, 33}, c{33};
    Case row{masked ? "batch_norm_training long, masked" : "batch_norm_training long",
             BatchNormTraining{-1, 1e-3, true, true, masked},
             {in(x), in(c), in(c)}};
    Case grad{masked ? "batch_norm_grad long, masked" : "batch_norm_grad long",
              BatchNormGrad{{-1, 1e-3, true, true, masked}},
              {in(x), in(c)}};
    if (masked) row.inputs.push_back(mask({9, 65}));
    if (masked) grad.inputs.push_back(mask({9, 65}));
    for (const Operand& operand : {in(c), in(c, DType::float32, Numbers::positive), in(x)})
      grad.inputs.push_back(operand);
    cases.push_back(std::move(row));
    cases.push_back(std::move(grad));
  }
  for (const DType dtype : kFloats) {
    cases.push_back({fmt::format("batch_norm_training {}", name_of(dtype)),
                     BatchNormTraining{1, 1e-3, true, true},
                     {in({4, 3, 17}, dtype), in({3}, dtype), in({3}, dtype)}});
    cases.push_back(
        {fmt::format("batch_norm {} that moves", name_of(dtype)),
         BatchNorm{-1, 1e-3},
         {in({4, 17}, dtype), in({17}, dtype), in({17}, dtype, Numbers::positive), in({17}, dtype), in({17}, dtype)}});
  }
  cases.push_back({"batch_norm_training, all masked",
                   BatchNormTraining{-1, 1e-3, false, false, true},
                   {in({2, 3, 4}), mask({2, 3}, Numbers::all_false)}});
}

void add_scatters(std::vector<Case>& cases) {
  const auto scatter = [&](const std::string& name, Shape shape, std::vector<Range> ranges, Shape x,
                           DType dtype = DType::float32) {
    cases.push_back({"scatter " + name, Scatter{std::move(shape), std::move(ranges)}, {in(std::move(x), dtype)}});
  };
  scatter("every second", {3, 17}, {{}, {1, 16, 2}}, {3, 8});
  scatter("backwards", {2, 5}, {{}, {{}, {}, -2}}, {2, 3});
  scatter("one row", {4, 3, 2}, {{2, 3}, {}, {1, 2}}, {1, 3, 1});
  scatter("nothing", {4, 3}, {{2, 2}, {}}, {0, 3});
  scatter("int32", {7}, {{0, 7, 3}}, {3}, DType::int32);
  scatter("bfloat16", {7}, {{0, 7, 3}}, {3}, DType::bfloat16);
}

void add_windows(std::vector<Case>& cases) {
  struct Windows {
    std::string name;
    Shape x, kernel;
    Conv op;
  };
  for (const Windows& w : {Windows{"1-d", {2, 9, 3}, {3, 3, 4}, {{1}, {1}}},
                           {"same, stride", {2, 7, 3}, {3, 3, 4}, {{2}, {1}, Padding::same}},
                           {"causal, dilated", {1, 9, 2}, {2, 2, 3}, {{1}, {2}, Padding::causal}},
                           {"2-d", {2, 7, 6, 3}, {3, 2, 3, 5}, {{2, 1}, {1, 1}, Padding::same}},
                           {"patches", {1, 8, 8, 3}, {4, 4, 3, 6}, {{4, 4}, {1, 1}}},
                           {"groups", {2, 5, 5, 4}, {3, 3, 2, 6}, {{1, 1}, {1, 1}, Padding::same, 2}},
                           {"depthwise", {1, 6, 5, 3}, {3, 3, 1, 3}, {{1, 1}, {1, 1}, Padding::same, 3}},
                           {"3-d", {1, 4, 5, 3, 2}, {2, 2, 2, 2, 3}, {{1, 2, 1}, {1, 1, 1}}},
                           {"no samples", {0, 9, 3}, {3, 3, 4}, {{1}, {1}}}}) {
    const Shape y = infer(w.op, std::vector<TensorType>{{DType::float32, w.x}, {DType::float32, w.kernel}})[0].shape;
    cases.push_back({"conv_input_grad " + w.name, ConvInputGrad{w.op, w.x}, {in(w.kernel), in(y)}});
    cases.push_back({"conv_kernel_grad " + w.name, ConvKernelGrad{w.op, w.kernel}, {in(w.x), in(y)}});
  }
  for (const bool average : {false, true}) {
    for (const Padding padding : {Padding::valid, Padding::same}) {
      for (const auto& [x, op] : {std::pair(Shape{2, 9, 3}, Pool{average, {2}, {1}, padding}),
                                  {Shape{1, 7, 6, 2}, {average, {3, 2}, {2, 2}, padding}},
                                  {Shape{1, 4, 5, 3, 2}, {average, {2, 2, 2}, {1, 2, 1}, padding}}}) {
        const Shape y = infer(op, std::vector<TensorType>{{DType::float32, x}})[0].shape;
        Case row{fmt::format("{} pool_grad {} {}", average ? "average" : "max", static_cast<int>(padding), x.str()),
                 PoolGrad{op, x},
                 {}};
        if (!average) row.inputs.push_back(in(x));
        row.inputs.push_back(in(y));
        cases.push_back(std::move(row));
      }
    }
  }
  for (const bool average : {false, true}) {  // overlapping windows, and channels of more than one register
    const Pool op{average, {3, 3}, {2, 2}, Padding::same};
    Case row{fmt::format("{} pool_grad of 33 channels", average ? "average" : "max"), PoolGrad{op, {3, 9, 8, 33}}, {}};
    if (!average) row.inputs.push_back(in({3, 9, 8, 33}));
    row.inputs.push_back(in({3, 5, 4, 33}));
    cases.push_back(std::move(row));
    cases.push_back({fmt::format("{} pool with gaps", average ? "average" : "max"),
                     Pool{average, {2, 1}, {3, 4}, Padding::valid},
                     {in({2, 11, 9, 5})}});
    Case gaps{fmt::format("{} pool_grad with gaps", average ? "average" : "max"),
              PoolGrad{{average, {2, 1}, {3, 4}, Padding::valid}, {2, 11, 9, 5}},
              {}};
    if (!average) gaps.inputs.push_back(in({2, 11, 9, 5}));
    gaps.inputs.push_back(in({2, 4, 3, 5}));
    cases.push_back(std::move(gaps));
  }
  const Pool pool{false, {3}, {1}, Padding::same};
  cases.push_back({"max pool_grad with ties",
                   PoolGrad{pool, {1, 33, 2}},
                   {integers({1, 33, 2}, 3, DType::float32), in({1, 33, 2})}});
  cases.push_back({"max pool_grad NaN",
                   PoolGrad{pool, {1, 33, 2}},
                   {in({1, 33, 2}, DType::float32, Numbers::one_nan), in({1, 33, 2})}});
}

void add_rnns(std::vector<Case>& cases) {
  for (const RnnCell cell : {RnnCell::simple, RnnCell::lstm, RnnCell::gru}) {
    for (const bool reset_after : {true, false}) {
      if (!reset_after && cell != RnnCell::gru) continue;
      const Dim gates = cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1;
      const auto add = [&](const std::string& what, Dim B, Dim T, Dim D, Dim U, Rnn op) {
        op.cell = cell;
        op.reset_after = reset_after;
        const bool two = cell == RnnCell::gru && reset_after;
        Case row{fmt::format("rnn_grad {}{} {}", static_cast<int>(cell), reset_after ? "" : " reset before", what),
                 RnnGrad{op},
                 {in({B, T, D}), in({D, gates * U}), in({U, gates * U})}};
        const std::size_t states = cell == RnnCell::lstm ? 2 : 1;
        if (op.bias) row.inputs.push_back(in(two ? Shape{2, gates * U} : Shape{gates * U}));
        if (op.mask) row.inputs.push_back(mask({B, T}));
        if (op.initial_state) row.inputs.insert(row.inputs.end(), states, in({B, U}));
        row.inputs.push_back(in(op.return_sequences ? Shape{B, T, U} : Shape{B, U}));
        if (op.return_state) row.inputs.insert(row.inputs.end(), states, in({B, U}));
        cases.push_back(std::move(row));
      };
      Rnn all, masked, zeroed, backwards, plain;
      all.return_sequences = all.return_state = true;
      masked = all;
      masked.mask = masked.initial_state = true;
      zeroed = masked;
      zeroed.zero_output_for_mask = zeroed.go_backwards = true;
      backwards.go_backwards = backwards.mask = true;
      backwards.recurrent_activation = {UnaryFn::hard_sigmoid};
      plain.bias = false;
      add("sequences and states", 2, 5, 3, 4, all);
      add("masked from a state", 3, 4, 5, 3, masked);
      add("masked backwards zeroed", 2, 5, 3, 3, zeroed);
      add("backwards, the last output", 2, 5, 3, 2, backwards);
      add("without bias", 1, 7, 3, 5, plain);
      add("no steps", 2, 0, 3, 5, all);
      add("no samples", 0, 4, 3, 5, all);
    }
  }
}

void add_delta_rules(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, Dim B, Dim T, Dim H, Dim K, Dim V) {
    const auto unit = [&](Shape shape) { return in(std::move(shape), DType::float32, Numbers::unit); };
    const Shape keys{B, T, H, K}, values{B, T, H, V}, state{B, H, V, K};
    cases.push_back(
        {"delta_rule_grad " + what,
         DeltaRuleGrad{},
         {in(keys), unit(keys), unit(keys), in(values), unit(keys), unit(keys), unit(state), in(values), in(state)}});
  };
  add("of several heads", 2, 5, 3, 4, 6);
  add("of one number", 1, 3, 1, 1, 1);
  add("of no steps", 2, 0, 2, 3, 4);
}

void add_losses(std::vector<Case>& cases) {
  for (const DType dtype : kFloats) {
    for (const Shape& rows : {Shape{17}, Shape{2, 5}, Shape{}, Shape{0}}) {
      Shape logits = rows;
      logits.push_back(9);
      const std::string name = fmt::format("{} {}", name_of(dtype), logits.str());
      cases.push_back(
          {"cross entropy by labels " + name, SoftmaxCrossEntropy{}, {in(logits, dtype), integers(rows, 9)}});
      cases.push_back({"cross entropy by probabilities " + name,
                       SoftmaxCrossEntropy{},
                       {in(logits, dtype), in(logits, dtype, Numbers::positive)}});
      cases.push_back({"cross entropy gradient by labels " + name,
                       SoftmaxCrossEntropyGrad{},
                       {in(logits, dtype), integers(rows, 9), in(rows, dtype)}});
      cases.push_back({"cross entropy gradient by probabilities " + name,
                       SoftmaxCrossEntropyGrad{},
                       {in(logits, dtype), in(logits, dtype, Numbers::positive), in(rows, dtype)}});
    }
    const Operand count{{}, Numbers::count, DType::int64, false, false, 3};
    cases.push_back(
        {fmt::format("dropout {}", name_of(dtype)), Dropout{0.3, 1234, {3, 17, 5}}, {in({3, 17, 5}, dtype), count}});
    cases.push_back({fmt::format("dropout of whole rows {}", name_of(dtype)),
                     Dropout{0.5, -7, {3, 1, 5}},
                     {in({3, 17, 5}, dtype), count}});
  }
  cases.push_back({"dropout of nothing",
                   Dropout{0.5, 1, {0, 5}},
                   {in({0, 5}), {{}, Numbers::count, DType::int64, false, false, 0}}});
}

/// Products of two inputs: of one block of rows and of several, and of a depth in sections.
void add_products(std::vector<Case>& cases) {
  struct Product {
    Dim rows, depth, width;
  };
  for (const Product& s :
       {Product{1, 1, 1}, Product{3, 5, 7}, Product{17, 33, 64}, Product{100, 1030, 40}, Product{260, 20, 75}}) {
    const std::string name = fmt::format("{} x {} x {}", s.rows, s.depth, s.width);
    const Operand x = in({s.rows, s.depth}), kernel = in({s.depth, s.width}), bias = in({s.width});
    const Operand residual = in({s.rows, s.width});
    cases.push_back({"linear by what moves " + name, Linear{}, {x, kernel}});
    cases.push_back({"linear by what moves, relu " + name,
                     Linear{1, true, {UnaryFn::relu, 0.0, 0.0, std::numeric_limits<double>::infinity()}},
                     {x, kernel, bias}});
    cases.push_back({"linear by what moves, gelu and residual " + name,
                     Linear{1, true, {UnaryFn::gelu}, true},
                     {x, kernel, bias, residual}});
    cases.push_back({"linear by what moves, residual " + name, Linear{1, false, {}, true}, {x, kernel, residual}});
    for (const bool tx : {false, true}) {
      for (const bool ty : {false, true}) {
        cases.push_back({fmt::format("matmul of what moves {}{}{}", name, tx ? " tx" : "", ty ? " ty" : ""),
                         MatMul{tx, ty},
                         {tx ? in({s.depth, s.rows}) : x, ty ? in({s.width, s.depth}) : kernel}});
      }
    }
  }
  cases.push_back({"sums of long columns", Reduce{ReduceFn::sum, {0}}, {in({1000, 33})}});
  cases.push_back({"means of long columns", Reduce{ReduceFn::mean, {1}}, {in({2, 1000, 17})}});
  cases.push_back({"sum of all of many", Reduce{ReduceFn::sum, {0, 1}}, {in({200, 130})}});
}

}  // namespace

std::vector<Case> training_cases() {
  std::vector<Case> cases;
  add_products(cases);
  add_slopes(cases);
  add_lse(cases);
  add_attention(cases);
  add_norms(cases);
  add_scatters(cases);
  add_windows(cases);
  add_rnns(cases);
  add_delta_rules(cases);
  add_losses(cases);
  return cases;
}

void complete(const Op& op, std::vector<Tensor>& tensors) {
  const auto* grad = std::get_if<AttentionGrad>(&op);
  if (grad == nullptr) return;
  Attention forward = grad->forward;
  forward.lse = true;
  const std::size_t given = 3U + (forward.bias ? 1U : 0U) + static_cast<std::size_t>(forward.masks);
  const std::vector<Tensor> inputs(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(given));
  std::vector<Tensor> outputs{tensors[given]};
  if (forward.scores) outputs.emplace_back(tensors[given + 3].dtype(), tensors[given + 3].shape());
  outputs.push_back(tensors[given + 1]);
  backends::evaluate({forward, {}, {}, kNone}, {}, inputs, outputs);
}

}  // namespace attn::test
