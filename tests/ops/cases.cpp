#include "cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "attn/base/rng.h"
#include "functions.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations, which fill this file

constexpr double kInf = std::numeric_limits<double>::infinity();

Operand in(Shape shape, Numbers numbers = Numbers::normal, DType dtype = DType::float32) {
  return {std::move(shape), numbers, dtype, false};
}
Operand weight(Shape shape, Numbers numbers = Numbers::normal, DType dtype = DType::float32) {
  return {std::move(shape), numbers, dtype, true};
}
Operand mask(Shape shape, Numbers numbers = Numbers::mask) {
  return {std::move(shape), numbers, DType::boolean, false};
}

Unary relu() { return {UnaryFn::relu, 0.0, 0.0, kInf}; }

void add_elementwise(std::vector<Case>& cases) {
  std::vector<Unary> functions = functions_with_slopes();
  for (const Unary& more : {Unary{UnaryFn::elu, 0.5}, Unary{UnaryFn::hard_sigmoid, 2.5}}) functions.push_back(more);
  for (const UnaryFn fn : {UnaryFn::floor, UnaryFn::ceil, UnaryFn::round, UnaryFn::trunc, UnaryFn::sign,
                           UnaryFn::float8_e4m3fn, UnaryFn::isnan, UnaryFn::isinf, UnaryFn::isfinite})
    functions.push_back({fn});
  int variant = 0;
  for (const Unary& op : functions) {
    const std::string name = fmt::format("{} {}", graph::name_of(op.fn), ++variant);
    cases.push_back({name + " (3, 65)", op, {in({3, 65})}});
    cases.push_back({name + " large", op, {in({17}, Numbers::large)}});
    cases.push_back({name + " tiny", op, {in({17}, Numbers::tiny)}});
    cases.push_back({name + " NaN", op, {in({33}, Numbers::one_nan)}});
    cases.push_back({name + " infinities", op, {in({33}, Numbers::infinities)}});
    cases.push_back({name + " empty", op, {in({0, 4})}});
  }
  for (const UnaryFn fn :
       {UnaryFn::log, UnaryFn::log1p, UnaryFn::log2, UnaryFn::log10, UnaryFn::sqrt, UnaryFn::rsqrt}) {
    cases.push_back({fmt::format("{} (2, 17)", graph::name_of(fn)), Unary{fn}, {in({2, 17}, Numbers::positive)}});
    cases.push_back({fmt::format("{} of negatives", graph::name_of(fn)), Unary{fn}, {in({17})}});
  }
  for (const UnaryFn fn : {UnaryFn::asin, UnaryFn::acos, UnaryFn::atanh}) {
    cases.push_back({fmt::format("{} (2, 17)", graph::name_of(fn)), Unary{fn}, {in({2, 17}, Numbers::unit)}});
  }
  cases.push_back({"acosh (17)", Unary{UnaryFn::acosh}, {in({17}, Numbers::large)}});
  cases.push_back({"logical_not (17)", Unary{UnaryFn::logical_not}, {mask({17})}});
  cases.push_back({"absolute int32", Unary{UnaryFn::absolute}, {in({17}, Numbers::integers, DType::int32)}});
  cases.push_back({"gelu float16", Unary{UnaryFn::gelu}, {in({33}, Numbers::normal, DType::float16)}});
  cases.push_back({"silu bfloat16", Unary{UnaryFn::silu}, {in({33}, Numbers::normal, DType::bfloat16)}});
  cases.push_back({"tanh float64", Unary{UnaryFn::tanh}, {in({33}, Numbers::normal, DType::float64)}});

  for (const BinaryFn fn :
       {BinaryFn::add, BinaryFn::subtract, BinaryFn::multiply, BinaryFn::divide, BinaryFn::floor_divide, BinaryFn::mod,
        BinaryFn::power, BinaryFn::maximum, BinaryFn::minimum, BinaryFn::atan2, BinaryFn::equal, BinaryFn::not_equal,
        BinaryFn::less, BinaryFn::less_equal, BinaryFn::greater, BinaryFn::greater_equal}) {
    const std::string name(graph::name_of(fn));
    const Numbers base = fn == BinaryFn::power ? Numbers::positive : Numbers::normal;
    cases.push_back({name + " same shapes", Binary{fn}, {in({2, 17, 3}, base), in({2, 17, 3})}});
    cases.push_back({name + " last axis", Binary{fn}, {in({5, 65}, base), in({65})}});
    cases.push_back({name + " scalar", Binary{fn}, {in({5, 65}, base), in({})}});
    cases.push_back({name + " scalar first", Binary{fn}, {in({}, base), in({65})}});
    cases.push_back({name + " both sides", Binary{fn}, {in({3, 1, 5}, base), in({4, 1})}});
    cases.push_back({name + " column", Binary{fn}, {in({3, 17}, base), in({3, 1})}});
    cases.push_back({name + " empty", Binary{fn}, {in({0, 17}, base), in({17})}});
    cases.push_back({name + " NaN", Binary{fn}, {in({17}, Numbers::one_nan), in({17}, base)}});
    cases.push_back({name + " NaN second", Binary{fn}, {in({17}, base), in({17}, Numbers::one_nan)}});
    if (fn != BinaryFn::divide && fn != BinaryFn::atan2 && fn != BinaryFn::power) {
      cases.push_back({name + " int64",
                       Binary{fn},
                       {in({33}, Numbers::integers, DType::int64), in({33}, Numbers::integers, DType::int64)}});
    }
  }
  cases.push_back({"add bfloat16",
                   Binary{BinaryFn::add},
                   {in({33}, Numbers::normal, DType::bfloat16), in({33}, Numbers::normal, DType::bfloat16)}});
  for (const BinaryFn fn : {BinaryFn::logical_and, BinaryFn::logical_or, BinaryFn::logical_xor}) {
    cases.push_back({fmt::format("{} broadcast", graph::name_of(fn)), Binary{fn}, {mask({3, 17}), mask({17})}});
  }
  cases.push_back({"select broadcast", Select{}, {mask({3, 1}), in({17}), in({3, 17})}});
  cases.push_back({"select scalars", Select{}, {mask({3, 17}), in({}), in({})}});
  cases.push_back({"select NaN", Select{}, {mask({17}), in({17}, Numbers::one_nan), in({17})}});
  cases.push_back({"select by one condition", Select{}, {mask({}), in({3, 17}), in({})}});
  cases.push_back({"select by one condition, broadcast", Select{}, {mask({}), in({17}), in({3, 17})}});
  for (const DType half : {DType::bfloat16, DType::float16}) {
    cases.push_back({fmt::format("select {}", name_of(half)),
                     Select{},
                     {mask({3, 1}), in({3, 17}, Numbers::normal, half), in({17}, Numbers::normal, half)}});
  }
  for (const DType to : {DType::float64, DType::float16, DType::bfloat16, DType::int32, DType::boolean}) {
    cases.push_back({fmt::format("cast float32 to {}", name_of(to)), Cast{to}, {in({3, 17})}});
  }
  for (const DType from : {DType::float64, DType::float16, DType::bfloat16}) {
    cases.push_back(
        {fmt::format("cast {} to float32", name_of(from)), Cast{DType::float32}, {in({3, 17}, Numbers::normal, from)}});
  }
  cases.push_back({"cast int32 to float32", Cast{DType::float32}, {in({17}, Numbers::integers, DType::int32)}});
  cases.push_back({"cast bool to float32", Cast{DType::float32}, {mask({17})}});
  cases.push_back({"cast bool to int32", Cast{DType::int32}, {mask({17})}});
  cases.push_back({"fill", Fill{{3, 5}, DType::float32, 0.1}, {}});
  cases.push_back({"iota int32", Iota{{3, 5}, DType::int32, 1, 2.0, 3.0}, {}});
  cases.push_back({"iota float32", Iota{{3, 5}, DType::float32, 0, 0.5, -0.1}, {}});
}

void add_contractions(std::vector<Case>& cases) {
  struct Size {
    Shape rows;
    Dim depth, width;
  };
  // 0 and 1 anywhere, one under and over the tiles of 16 and 64, and the shapes of the built-in encoder at batch 1.
  for (const Size& s :
       {Size{{1}, 1, 1}, Size{{0}, 4, 3}, Size{{3}, 0, 4}, Size{{3}, 4, 0}, Size{{2, 5}, 7, 3}, Size{{17}, 16, 65},
        Size{{16}, 64, 16}, Size{{2, 0}, 3, 3}, Size{{65}, 17, 1}, Size{{}, 33, 17}, Size{{1, 50}, 512, 64}}) {
    Shape x = s.rows;
    x.push_back(s.depth);
    Shape y = s.rows;
    y.push_back(s.width);
    const Shape kernel{s.depth, s.width};
    const std::string name = fmt::format("linear {} x {}", x.str(), kernel.str());
    cases.push_back({name, Linear{1}, {in(x), weight(kernel)}});
    cases.push_back({name + " bias", Linear{1, true}, {in(x), weight(kernel), weight({s.width})}});
    cases.push_back({name + " bias relu residual",
                     Linear{1, true, relu(), true},
                     {in(x), weight(kernel), weight({s.width}), in(y)}});
    cases.push_back({name + " residual", Linear{1, false, {}, true}, {in(x), weight(kernel), in(y)}});
  }
  for (const Unary& activation : std::vector<Unary>{{UnaryFn::gelu},
                                                    {UnaryFn::gelu_tanh},
                                                    {UnaryFn::tanh},
                                                    {UnaryFn::sigmoid},
                                                    {UnaryFn::silu},
                                                    {UnaryFn::elu, 1.0},
                                                    {UnaryFn::relu, 0.3, 0.0, kInf},
                                                    {UnaryFn::relu, 0.0, 0.0, 6.0},
                                                    {UnaryFn::relu, 0.1, 0.5, 2.0},
                                                    {UnaryFn::mish},
                                                    {UnaryFn::selu},
                                                    {UnaryFn::softplus},
                                                    {UnaryFn::exponential},
                                                    {UnaryFn::square},
                                                    {UnaryFn::hard_sigmoid},
                                                    {UnaryFn::hard_silu}}) {
    cases.push_back({fmt::format("linear (5, 33) {} {} {} {}", graph::name_of(activation.fn), activation.a,
                                 activation.b, activation.c),
                     Linear{1, true, activation},
                     {in({5, 33}), weight({33, 17}), weight({17})}});
  }
  cases.push_back(
      {"linear relu of NaN", Linear{1, true, relu()}, {in({3, 17}, Numbers::one_nan), weight({17, 5}), weight({5})}});
  cases.push_back({"linear with an infinity", Linear{1}, {in({3, 17}, Numbers::infinities), weight({17, 5})}});
  cases.push_back({"linear large", Linear{1, true}, {in({17, 65}, Numbers::large), weight({65, 17}), weight({17})}});
  cases.push_back(
      {"linear heads (2, 5, 16) x (16, 3, 7)", Linear{1, true}, {in({2, 5, 16}), weight({16, 3, 7}), weight({3, 7})}});
  cases.push_back({"linear from heads (2, 5, 3, 7) x (3, 7, 16)",
                   Linear{2, true},
                   {in({2, 5, 3, 7}), weight({3, 7, 16}), weight({16})}});
  cases.push_back({"linear by an input", Linear{1}, {in({5, 17}), in({17, 9})}});
  cases.push_back({"linear float64",
                   Linear{1, true},
                   {in({3, 17}, Numbers::normal, DType::float64), weight({17, 5}, Numbers::normal, DType::float64),
                    weight({5}, Numbers::normal, DType::float64)}});
  for (const DType half : {DType::bfloat16, DType::float16}) {
    cases.push_back({fmt::format("linear {}", name_of(half)),
                     Linear{1, true, relu()},
                     {in({17, 33}, Numbers::normal, half), weight({33, 16}, Numbers::normal, half),
                      weight({16}, Numbers::normal, half)}});
  }

  const auto matmul = [&](const std::string& name, Shape x, Shape y, bool tx = false, bool ty = false) {
    cases.push_back({"matmul " + name, MatMul{tx, ty}, {in(std::move(x)), in(std::move(y))}});
  };
  matmul("(3, 4) (4, 5)", {3, 4}, {4, 5});
  matmul("(17, 65) (65, 16)", {17, 65}, {65, 16});
  matmul("transposed y", {17, 5}, {9, 5}, false, true);
  matmul("transposed x", {5, 17}, {5, 9}, true);
  matmul("both transposed", {5, 17}, {9, 5}, true, true);
  matmul("batch", {2, 3, 5, 7}, {2, 3, 7, 4});
  matmul("batch transposed y", {2, 3, 5, 7}, {2, 3, 4, 7}, false, true);
  matmul("batch broadcast", {2, 1, 5, 7}, {3, 7, 4});
  matmul("vector left", {7}, {2, 7, 4});
  matmul("vector right", {2, 4, 7}, {7});
  matmul("two vectors", {17}, {17});
  matmul("no rows", {0, 4}, {4, 5});
  matmul("no depth", {3, 0}, {0, 5});
  matmul("no batch", {0, 3, 4}, {0, 4, 5});
  cases.push_back({"matmul by a weight", MatMul{}, {in({2, 5, 17}), weight({17, 9})}});
  cases.push_back({"matmul by a weight transposed", MatMul{false, true}, {in({2, 5, 17}), weight({9, 17})}});
  cases.push_back({"matmul by a wide weight transposed", MatMul{false, true}, {in({4, 16, 70}), weight({75, 70})}});
  cases.push_back(
      {"matmul of a row by a weight transposed", MatMul{false, true}, {in({1, 1, 130}), weight({37, 130})}});
  cases.push_back({"matmul of rows by a weight transposed", MatMul{false, true}, {in({4, 2, 64}), weight({9, 64})}});
  for (const Dim rows : {2, 3, 4, 5, 6, 7})
    cases.push_back({fmt::format("matmul of {} rows by a weight transposed", rows),
                     MatMul{false, true},
                     {in({rows, 1, 147}), weight({7, 147})}});
  cases.push_back({"matmul int32",
                   MatMul{},
                   {in({3, 4}, Numbers::integers, DType::int32), in({4, 5}, Numbers::integers, DType::int32)}});

  cases.push_back({"einsum scores", Einsum{"aecd,abcd->acbe"}, {in({2, 5, 3, 7}), in({2, 4, 3, 7})}});
  cases.push_back({"einsum combine", Einsum{"acbe,aecd->abcd"}, {in({2, 3, 4, 5}), in({2, 5, 3, 7})}});
  cases.push_back({"einsum dense", Einsum{"abc,cde->abde"}, {in({2, 5, 7}), weight({7, 3, 4})}});
  cases.push_back({"einsum diagonal", Einsum{"ii->i"}, {in({17, 17})}});
  cases.push_back({"einsum three", Einsum{"ab,bc,cd->ad"}, {in({2, 3}), in({3, 4}), in({4, 5})}});
  cases.push_back({"einsum sum", Einsum{"abc->b"}, {in({3, 17, 5})}});
  cases.push_back({"einsum rows times columns", Einsum{"ab,b->ab"}, {in({5, 33}), in({33})}});
  cases.push_back({"einsum outer", Einsum{"ab,ac->abc"}, {in({5, 7}), in({5, 17})}});
  cases.push_back({"einsum dots of rows", Einsum{"ab,ab->a"}, {in({9, 33}), in({9, 33})}});
  cases.push_back({"einsum dots of columns", Einsum{"ba,ba->a"}, {in({9, 33}), in({9, 33})}});
  cases.push_back({"einsum of all", Einsum{"ab,ba->"}, {in({9, 17}), in({17, 9})}});
  cases.push_back({"einsum one side summed", Einsum{"abc,cd->ad"}, {in({3, 5, 7}), in({7, 4})}});
  cases.push_back({"einsum diagonal of one side", Einsum{"aab,bc->ac"}, {in({5, 5, 3}), in({3, 4})}});
  cases.push_back({"einsum transposed", Einsum{"abc->cab"}, {in({3, 5, 17})}});
  cases.push_back({"einsum empty", Einsum{"ab,bc->ac"}, {in({3, 0}), in({0, 4})}});
}

void add_softmax(std::vector<Case>& cases) {
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax, SoftmaxKind::sparsemax}) {
    const std::string name(graph::name_of(Op{Softmax{kind, {0}}}));
    cases.push_back({name + " last axis", Softmax{kind, {1}}, {in({5, 17})}});
    cases.push_back({name + " of one", Softmax{kind, {1}}, {in({5, 1})}});
    cases.push_back({name + " of none", Softmax{kind, {1}}, {in({5, 0})}});
    cases.push_back({name + " no rows", Softmax{kind, {1}}, {in({0, 5})}});
    cases.push_back({name + " long rows", Softmax{kind, {1}}, {in({3, 4099})}});
    cases.push_back({name + " first axis", Softmax{kind, {0}}, {in({17, 5})}});
    cases.push_back({name + " two axes", Softmax{kind, {1, 2}}, {in({3, 4, 5})}});
    cases.push_back({name + " large", Softmax{kind, {1}}, {in({5, 65}, Numbers::large)}});
    cases.push_back({name + " tiny", Softmax{kind, {1}}, {in({5, 16}, Numbers::tiny)}});
    cases.push_back({name + " NaN", Softmax{kind, {1}}, {in({5, 17}, Numbers::one_nan)}});
    cases.push_back({name + " infinities", Softmax{kind, {1}}, {in({5, 17}, Numbers::infinities)}});
  }
  cases.push_back(
      {"softmax bfloat16", Softmax{SoftmaxKind::softmax, {1}}, {in({5, 17}, Numbers::normal, DType::bfloat16)}});
  cases.push_back(
      {"softmax float64", Softmax{SoftmaxKind::softmax, {1}}, {in({5, 17}, Numbers::normal, DType::float64)}});
}

void add_attention(std::vector<Case>& cases) {
  struct Size {
    Dim B, T, S, N, K, H, V;
  };
  const auto add = [&](const std::string& name, const Size& s, Attention op, std::vector<Operand> masks,
                       Numbers numbers = Numbers::normal, DType dtype = DType::float32) {
    for (const AttentionPath path : {AttentionPath::fused, AttentionPath::explicit_}) {
      for (const bool scores : {false, true}) {
        op.scale = s.H > 0 ? 1.0 / std::sqrt(static_cast<double>(s.H)) : 1.0;
        op.path = path;
        op.scores = scores;
        op.masks = static_cast<int>(masks.size());
        Case row{fmt::format("attention B{} T{} S{} N{} K{} H{} V{} {}{}{}", s.B, s.T, s.S, s.N, s.K, s.H, s.V, name,
                             path == AttentionPath::fused ? " fused" : " explicit", scores ? " scores" : ""),
                 op,
                 {in({s.B, s.T, s.N, s.H}, numbers, dtype), in({s.B, s.S, s.K, s.H}, Numbers::normal, dtype),
                  in({s.B, s.S, s.K, s.V}, Numbers::normal, dtype)}};
        row.inputs.insert(row.inputs.end(), masks.begin(), masks.end());
        cases.push_back(std::move(row));
      }
    }
  };
  Attention causal, window, causal_window;
  causal.causal = causal_window.causal = true;
  window.window = causal_window.window = 3;
  for (const Size& s : {Size{1, 1, 1, 1, 1, 1, 1}, Size{2, 17, 33, 4, 4, 24, 24}, Size{1, 50, 50, 8, 8, 64, 64},
                        Size{2, 16, 65, 2, 2, 16, 5}, Size{2, 3, 3, 1, 1, 7, 0}, Size{1, 4, 0, 2, 2, 8, 8},
                        Size{1, 0, 4, 2, 2, 8, 8}, Size{0, 4, 4, 2, 2, 8, 8}, Size{1, 4, 4, 2, 2, 0, 3},
                        Size{1, 2, 1030, 1, 1, 8, 8}, Size{2, 9, 17, 6, 2, 16, 16}, Size{1, 5, 7, 4, 1, 8, 8}}) {
    add("", s, {}, {});
    add("causal", s, causal, {});
  }
  const Size s{2, 17, 33, 4, 2, 16, 16};
  add("window", s, window, {});
  add("causal window", s, causal_window, {});
  add("mask", s, {}, {mask({2, 4, 17, 33})});
  add("mask over heads", s, {}, {mask({2, 1, 17, 33})});
  add("mask of keys", s, {}, {mask({2, 1, 1, 33})});
  add("mask of queries", s, {}, {mask({2, 1, 17, 1})});
  add("mask of rank 2", s, {}, {mask({17, 33})});
  add("two masks causal", s, causal, {mask({2, 1, 1, 33}), mask({2, 1, 17, 1})});
  add("rows off", s, {}, {mask({17, 33}, Numbers::rows_off)});
  add("rows off causal", s, causal, {mask({17, 33}, Numbers::rows_off)});
  add("all false", s, {}, {mask({33}, Numbers::all_false)});
  for (const Dim keys : {Dim{1}, Dim{2}, Dim{4}}) {
    Attention packed = causal;
    packed.packed_heads = keys;
    packed.scale = 0.25;
    for (const bool is_causal : {false, true}) {
      packed.causal = is_causal;
      packed.masks = 1;
      cases.push_back({fmt::format("attention packed N4 K{}{}", keys, is_causal ? " causal" : ""),
                       packed,
                       {in({2, 17, 4 + 2 * keys, 16}), mask({2, 1, 1, 17})}});
    }
  }
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    Attention varlen;
    varlen.scale = 0.25;
    varlen.varlen = 130;  // more than the longest
    const Operand starts = in({7}, Numbers::starts, DType::int32);
    for (const bool is_causal : {false, true}) {
      varlen.causal = is_causal;
      varlen.packed_heads = 0;
      const std::string name = fmt::format("attention varlen {}{}", name_of(dtype), is_causal ? " causal" : "");
      cases.push_back({name,
                       varlen,
                       {in({1, 225, 4, 16}, Numbers::normal, dtype), in({1, 225, 2, 16}, Numbers::normal, dtype),
                        in({1, 225, 2, 5}, Numbers::normal, dtype), starts}});
      varlen.packed_heads = 2;
      cases.push_back({name + " packed", varlen, {in({1, 225, 8, 16}, Numbers::normal, dtype), starts}});
    }
  }
  const auto add_biased = [&](const std::string& name, double soft_cap, std::optional<Shape> bias, DType dtype) {
    Attention op;
    op.causal = true;
    op.scale = 0.25;
    op.soft_cap = soft_cap;
    op.bias = bias.has_value();
    op.masks = 1;
    Case row{"attention " + name,
             op,
             {in({2, 17, 4, 16}, Numbers::normal, dtype), in({2, 33, 2, 16}, Numbers::normal, dtype),
              in({2, 33, 2, 8}, Numbers::normal, dtype)}};
    if (bias) row.inputs.push_back(in(*bias, Numbers::normal, dtype));
    row.inputs.push_back(mask({2, 1, 1, 33}));
    cases.push_back(std::move(row));
  };
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const std::string of_dtype = fmt::format(" {}", name_of(dtype));
    add_biased("soft cap" + of_dtype, 2.0, std::nullopt, dtype);
    add_biased("bias of all" + of_dtype, 0.0, Shape{2, 4, 17, 33}, dtype);
    add_biased("bias of heads and keys" + of_dtype, 0.0, Shape{4, 1, 33}, dtype);
    add_biased("soft cap and bias" + of_dtype, 1.5, Shape{1, 4, 17, 33}, dtype);
  }
  add("large", s, {}, {mask({17, 33})}, Numbers::large);
  add("tiny", s, {}, {}, Numbers::tiny);
  add("NaN", s, {}, {}, Numbers::one_nan);
  add("NaN masked", s, causal, {mask({17, 33}, Numbers::rows_off)}, Numbers::one_nan);
  add("bfloat16", s, causal, {}, Numbers::normal, DType::bfloat16);
  add("float16", s, {}, {mask({17, 33}, Numbers::rows_off)}, Numbers::normal, DType::float16);
  add("float64", s, causal, {}, Numbers::normal, DType::float64);
}

void add_normalization(std::vector<Case>& cases) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms, NormKind::rms_layer}) {
    const std::string name = fmt::format("layer_norm {}", static_cast<int>(kind));
    const auto add = [&](const std::string& what, Shape x, std::vector<int> axes, Numbers numbers = Numbers::normal) {
      Shape sizes;
      for (const int axis : axes) sizes.push_back(x[axis]);
      cases.push_back({name + " " + what, LayerNorm{kind, axes, 1e-3}, {in(x, numbers), weight(sizes), weight(sizes)}});
      cases.push_back({name + " plain " + what, LayerNorm{kind, axes, 1e-6, false, false}, {in(x, numbers)}});
      cases.push_back(
          {name + " no beta " + what, LayerNorm{kind, axes, 1e-3, true, false}, {in(x, numbers), weight(sizes)}});
      cases.push_back(
          {name + " no gamma " + what, LayerNorm{kind, axes, 1e-3, false, true}, {in(x, numbers), weight(sizes)}});
    };
    add("(2, 17, 65)", {2, 17, 65}, {2});
    add("(3, 512)", {3, 512}, {1});
    add("of one", {5, 1}, {1});
    add("of none", {5, 0}, {1});
    add("no rows", {0, 16}, {1});
    add("long rows", {2, 4099}, {1});
    add("first axis", {17, 5}, {0});
    add("two axes", {3, 4, 5}, {1, 2});
    add("outer axes", {3, 4, 5}, {0, 2});
    add("large", {3, 65}, {1}, Numbers::large);
    add("tiny", {3, 65}, {1}, Numbers::tiny);
    add("NaN", {3, 17}, {1}, Numbers::one_nan);
  }
  cases.push_back({"layer_norm bfloat16",
                   LayerNorm{NormKind::layer, {1}, 1e-3},
                   {in({3, 65}, Numbers::normal, DType::bfloat16), weight({65}, Numbers::normal, DType::bfloat16),
                    weight({65}, Numbers::normal, DType::bfloat16)}});
  for (const int axis : {-1, 1, 0}) {
    const Shape c{Shape{2, 17, 5}[axis]};
    cases.push_back({fmt::format("batch_norm axis {}", axis),
                     BatchNorm{axis, 1e-3},
                     {in({2, 17, 5}), weight(c), weight(c, Numbers::positive), weight(c), weight(c)}});
    cases.push_back({fmt::format("batch_norm plain axis {}", axis),
                     BatchNorm{axis, 1e-3, false, false},
                     {in({2, 17, 5}), weight(c), weight(c, Numbers::positive)}});
  }
}

void add_reductions(std::vector<Case>& cases) {
  for (const ReduceFn fn : {ReduceFn::sum, ReduceFn::mean, ReduceFn::max, ReduceFn::min, ReduceFn::prod,
                            ReduceFn::argmax, ReduceFn::argmin, ReduceFn::logsumexp}) {
    const std::string name(graph::name_of(fn));
    cases.push_back({name + " last axis", Reduce{fn, {2}}, {in({2, 3, 65})}});
    cases.push_back({name + " first axis", Reduce{fn, {0}}, {in({17, 5})}});
    cases.push_back({name + " middle axis keepdims", Reduce{fn, {1}, true}, {in({2, 17, 3})}});
    cases.push_back({name + " no rows", Reduce{fn, {1}}, {in({0, 3})}});
    cases.push_back({name + " NaN", Reduce{fn, {1}}, {in({3, 17}, Numbers::one_nan)}});
    cases.push_back({name + " infinities", Reduce{fn, {1}}, {in({3, 17}, Numbers::infinities)}});
    if (fn == ReduceFn::argmax || fn == ReduceFn::argmin) continue;
    cases.push_back({name + " two axes", Reduce{fn, {0, 2}}, {in({4, 3, 5})}});
    cases.push_back({name + " all axes", Reduce{fn, {0, 1}}, {in({17, 16})}});
    cases.push_back({name + " no axes", Reduce{fn, {}}, {in({3, 5})}});
    if (fn != ReduceFn::mean && fn != ReduceFn::logsumexp) {
      cases.push_back({name + " int32", Reduce{fn, {1}}, {in({3, 5}, Numbers::integers, DType::int32)}});
    }
    if (fn != ReduceFn::max && fn != ReduceFn::min) cases.push_back({name + " of none", Reduce{fn, {1}}, {in({3, 0})}});
  }
  cases.push_back({"any last axis", Reduce{ReduceFn::any, {1}}, {mask({5, 17}, Numbers::rows_off)}});
  cases.push_back({"all last axis", Reduce{ReduceFn::all, {1}}, {mask({5, 2})}});
  cases.push_back({"sum long", Reduce{ReduceFn::sum, {1}}, {in({2, 4099})}});
  for (const bool product : {false, true}) {
    cases.push_back({product ? "cumprod" : "cumsum", Cumulate{product, 1}, {in({3, 17}, Numbers::unit)}});
    cases.push_back(
        {product ? "cumprod first axis" : "cumsum first axis", Cumulate{product, 0}, {in({17, 3}, Numbers::unit)}});
    cases.push_back(
        {product ? "cumprod int32" : "cumsum int32", Cumulate{product, 0}, {in({5}, Numbers::integers, DType::int32)}});
    for (const bool reverse : {false, true}) {
      for (const bool exclusive : {false, true}) {
        const std::string name = fmt::format("{}{}{}", product ? "cumprod" : "cumsum", reverse ? " reverse" : "",
                                             exclusive ? " exclusive" : "");
        cases.push_back(
            {name + " of one axis", Cumulate{product, 1, reverse, exclusive}, {in({3, 9, 2}, Numbers::unit)}});
        cases.push_back(
            {name + " of 33 columns", Cumulate{product, 0, reverse, exclusive}, {in({9, 33}, Numbers::unit)}});
        cases.push_back({name + " long", Cumulate{product, 1, reverse, exclusive}, {in({2, 70}, Numbers::unit)}});
      }
    }
  }
}

void add_layout(std::vector<Case>& cases) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int64, DType::boolean}) {
    const std::string name(name_of(dtype));
    const Numbers numbers = dtype == DType::boolean ? Numbers::mask
                            : dtype == DType::int64 ? Numbers::integers
                                                    : Numbers::one_nan;
    const auto add = [&](const std::string& what, Op op, std::vector<Shape> shapes) {
      std::vector<Operand> operands;
      for (Shape& shape : shapes) operands.push_back(in(std::move(shape), numbers, dtype));
      cases.push_back({what + " " + name, std::move(op), std::move(operands)});
    };
    add("reshape", Reshape{{5, -1}}, {{3, 5, 7}});
    add("reshape empty", Reshape{{0, 9}}, {{3, 0}});
    add("transpose (1, 0)", Transpose{{1, 0}}, {{17, 65}});
    add("transpose heads", Transpose{{0, 2, 1, 3}}, {{2, 17, 3, 8}});
    add("transpose all", Transpose{{3, 1, 0, 2}}, {{2, 3, 5, 7}});
    add("transpose empty", Transpose{{1, 0}}, {{0, 5}});
    add("broadcast", Broadcast{{3, 17, 5}}, {{17, 1}});
    add("broadcast scalar", Broadcast{{17}}, {{}});
    add("concat last", Concat{1}, {{3, 5}, {3, 1}, {3, 0}});
    add("concat first", Concat{0}, {{3, 5}, {17, 5}});
    // runs of 1, 2, 4 and 8 elements: a kernel that takes the bytes of a run for an element goes wrong here
    for (const Dim run : {1, 2, 4, 8}) {
      add(fmt::format("concat runs of {}", run), Concat{1}, {{5, run}, {5, run}, {5, 3}});
      add(fmt::format("transpose runs of {}", run), Transpose{{1, 0, 2}}, {{3, 5, run}});
    }
    add("slice", Slice{{{1, 3, 1}, {{}, {}, 2}}}, {{4, 17}});
    add("slice backwards", Slice{{{{}, {}, -1}, {-2, 0, -3}}}, {{4, 17}});
    add("slice to nothing", Slice{{{3, 1, 1}, {}}}, {{4, 17}});
    if (dtype != DType::boolean) add("pad", Pad{PadMode::constant, {1, 0}, {0, 2}, 3.0}, {{4, 5}});
    add("pad reflect", Pad{PadMode::reflect, {2, 0}, {1, 3}}, {{4, 5}});
    add("pad symmetric", Pad{PadMode::symmetric, {2, 0}, {4, 3}}, {{4, 5}});
    add("pad edge", Pad{PadMode::edge, {0, 1, 0}, {2, 0, 0}}, {{4, 5, 3}});
  }
  for (const DType indices : {DType::int32, DType::int64, DType::int16}) {
    const std::string name(name_of(indices));
    const Operand places = in({3, 4}, Numbers::indices, indices);
    cases.push_back({"gather rows by " + name, Gather{0}, {weight({7, 17}), places}});
    cases.push_back({"gather columns by " + name, Gather{1}, {in({3, 7}), places}});
    cases.push_back({"gather nothing by " + name, Gather{0}, {weight({7, 17}), in({0}, Numbers::indices, indices)}});
  }
  cases.push_back({"gather bfloat16",
                   Gather{0},
                   {weight({7, 17}, Numbers::normal, DType::bfloat16), in({3}, Numbers::indices, DType::int32)}});
}

void add_scattered_sums(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, int axis, Dim size, Shape updates, Shape indices,
                       DType dtype = DType::float32) {
    cases.push_back(
        {"scatter_add " + name,
         ScatterAdd{axis, size},
         {in(std::move(updates), Numbers::normal, dtype), in(std::move(indices), Numbers::indices, DType::int32)}});
  };
  add("rows", 0, 5, {2, 9, 17}, {2, 9});
  add("axis 1", 1, 7, {3, 6, 4}, {6});
  add("one index", 0, 5, {3}, {});
  add("no updates", 0, 5, {0, 3}, {0});
  add("rows of nothing", 0, 5, {4, 0}, {4});
  add("many into few", 0, 5, {1000, 8}, {1000});
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int32})
    add(std::string(name_of(dtype)), 0, 5, {12, 8}, {12}, dtype);
}

void add_convolution(std::vector<Case>& cases) {
  const auto conv = [&](const std::string& name, Shape x, Shape kernel, Conv op) {
    const Dim filters = kernel.back();
    op.bias = true;
    cases.push_back({"conv " + name, op, {in(x), weight(kernel), weight({filters})}});
    op.bias = false;
    op.activation = relu();
    cases.push_back({"conv relu " + name, op, {in(std::move(x)), weight(std::move(kernel))}});
  };
  conv("1-D", {2, 17, 5}, {3, 5, 16}, {{1}, {1}, Padding::valid});
  conv("1-D causal dilated", {2, 17, 5}, {3, 5, 7}, {{1}, {2}, Padding::causal});
  conv("1-D same strided", {2, 17, 5}, {4, 5, 7}, {{2}, {1}, Padding::same});
  conv("1-D groups", {2, 9, 6}, {3, 2, 9}, {{1}, {1}, Padding::same, 3});
  conv("2-D", {2, 9, 11, 3}, {3, 3, 3, 17}, {{1, 1}, {1, 1}, Padding::same});
  conv("2-D patches", {1, 32, 32, 3}, {8, 8, 3, 33}, {{8, 8}, {1, 1}, Padding::valid});
  conv("3-D patches", {2, 4, 6, 3, 5}, {2, 3, 1, 5, 7}, {{2, 3, 1}, {1, 1, 1}, Padding::same});
  conv("1-D of one", {2, 9, 17}, {1, 17, 33}, {{1}, {3}, Padding::causal});
  conv("2-D uneven", {1, 7, 6, 2}, {2, 3, 2, 4}, {{2, 1}, {1, 2}, Padding::same});
  conv("2-D depthwise", {1, 7, 6, 4}, {3, 3, 1, 4}, {{1, 1}, {1, 1}, Padding::same, 4});
  conv("3-D", {1, 5, 4, 6, 2}, {2, 3, 2, 2, 5}, {{1, 2, 1}, {1, 1, 1}, Padding::same});
  conv("no samples", {0, 9, 5}, {3, 5, 4}, {{1}, {1}, Padding::valid});
  for (const bool average : {false, true}) {
    const std::string name = average ? "average_pool" : "max_pool";
    cases.push_back({name + " 1-D", Pool{average, {3}, {1}, Padding::valid}, {in({2, 17, 5})}});
    cases.push_back({name + " 2-D same", Pool{average, {3, 2}, {2, 2}, Padding::same}, {in({2, 7, 9, 17})}});
    cases.push_back({name + " 3-D", Pool{average, {2, 2, 2}, {2, 2, 2}, Padding::valid}, {in({1, 4, 5, 6, 3})}});
    cases.push_back({name + " NaN", Pool{average, {2}, {1}, Padding::valid}, {in({1, 9, 3}, Numbers::one_nan)}});
    cases.push_back({name + " no samples", Pool{average, {2}, {1}, Padding::valid}, {in({0, 9, 3})}});
  }
}

void add_rnn(std::vector<Case>& cases) {
  for (const RnnCell cell : {RnnCell::simple, RnnCell::lstm, RnnCell::gru}) {
    for (const bool reset_after : {true, false}) {
      if (!reset_after && cell != RnnCell::gru) continue;
      const Dim gates = cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1;
      const auto add = [&](const std::string& what, Dim B, Dim T, Dim D, Dim U, Rnn op) {
        op.cell = cell;
        op.reset_after = reset_after;
        Case row{fmt::format("rnn {}{} {}", static_cast<int>(cell), reset_after ? "" : " reset before", what),
                 op,
                 {in({B, T, D}), weight({D, gates * U}), weight({U, gates * U})}};
        const bool two_biases = cell == RnnCell::gru && reset_after;
        if (op.bias) row.inputs.push_back(weight(two_biases ? Shape{2, gates * U} : Shape{gates * U}));
        if (op.mask) row.inputs.push_back(mask({B, T}));
        if (op.initial_state) row.inputs.insert(row.inputs.end(), cell == RnnCell::lstm ? 2 : 1, in({B, U}));
        cases.push_back(std::move(row));
      };
      Rnn all, masked, zeroed, backwards, plain;
      all.return_sequences = all.return_state = true;
      masked = all;
      masked.mask = masked.initial_state = true;
      zeroed = masked;
      zeroed.zero_output_for_mask = zeroed.go_backwards = true;
      backwards.go_backwards = backwards.return_sequences = true;
      backwards.activation = relu();
      backwards.recurrent_activation = {UnaryFn::hard_sigmoid};
      plain.bias = false;
      add("sequences and states", 2, 9, 5, 17, all);
      add("masked from a state", 3, 9, 5, 16, masked);
      add("masked backwards zeroed", 3, 9, 5, 8, zeroed);
      add("backwards relu", 2, 5, 17, 3, backwards);
      add("last output without bias", 1, 17, 3, 5, plain);
      add("in parts of the batch", 35, 4, 7, 17, masked);
      add("in parts of the batch, backwards", 19, 3, 5, 33, zeroed);
      add("in parts of a batch that fills tiles", 67, 2, 7, 9, masked);
      add("no steps", 2, 0, 3, 5, all);
      add("no samples", 0, 4, 3, 5, all);
    }
  }
}

void add_delta_rule(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, Dim B, Dim T, Dim H, Dim K, Dim V, DType dtype = DType::float32,
                       Numbers numbers = Numbers::normal) {
    const auto unit = [&](Shape shape) { return in(std::move(shape), Numbers::unit, dtype); };
    const Shape keys{B, T, H, K};
    cases.push_back({"delta_rule " + what,
                     DeltaRule{},
                     {in(keys, numbers, dtype), unit(keys), unit(keys), in({B, T, H, V}, Numbers::normal, dtype),
                      unit(keys), unit(keys), unit({B, H, V, K})}});
  };
  add("of whole vectors", 2, 5, 3, 16, 16);
  add("of parts of vectors", 2, 7, 2, 7, 19);
  add("of one key and value", 1, 9, 1, 1, 1);
  add("of wide heads", 1, 3, 1, 64, 33);
  add("wider than the kernel", 1, 2, 1, 257, 3);
  add("of no steps", 2, 0, 2, 3, 4);
  add("of no samples", 0, 3, 2, 3, 4);
  add("with NaN", 1, 4, 2, 5, 3, DType::float32, Numbers::one_nan);
  for (const DType dtype : {DType::float64, DType::float16, DType::bfloat16})
    add(std::string(name_of(dtype)), 2, 4, 2, 5, 6, dtype);
}

double draw_number(RandomStream& stream, const Operand& operand, std::int64_t i, std::int64_t size) {
  const auto whole = [&](int count) { return std::floor(stream.uniform() * count); };
  switch (operand.numbers) {
    case Numbers::normal:
      return stream.normal();
    case Numbers::positive:
      return std::abs(stream.normal()) + 0.1;
    case Numbers::unit:
      return 2.0 * stream.uniform() - 1.0;
    case Numbers::large:
      return 1e4 * stream.normal();
    case Numbers::tiny:
      return 1e-40 * stream.normal();
    case Numbers::one_nan:
      return i == size / 2 ? std::numeric_limits<double>::quiet_NaN() : stream.normal();
    case Numbers::infinities:
      return i == 0 ? kInf : i == size - 1 ? -kInf : stream.normal();
    case Numbers::integers:
      return (whole(9) + 1.0) * (stream.uniform() < 0.5 ? -1.0 : 1.0);
    case Numbers::indices:
      return whole(10) - 5.0;
    case Numbers::mask:
      return stream.uniform() < 2.0 / 3.0 ? 1.0 : 0.0;
    case Numbers::rows_off:
      return i / operand.shape.back() % 3 == 1 || stream.uniform() > 2.0 / 3.0 ? 0.0 : 1.0;
    case Numbers::all_false:
      return 0.0;
    case Numbers::bytes:
      return whole(256) - (operand.dtype == DType::int8 ? 128.0 : 0.0);
    case Numbers::blocks:
      return std::floor(static_cast<double>(i) / static_cast<double>(operand.count));
    case Numbers::count:
      return static_cast<double>(operand.count);
    case Numbers::entries:
      return whole(static_cast<int>(operand.count));
    case Numbers::starts: {
      const auto n = static_cast<double>(i);
      return n * n * (n - 1.0) * (n - 1.0) / 4.0;
    }
  }
  return 0.0;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases = forward_cases();
  std::ranges::move(quantized_cases(), std::back_inserter(cases));
  std::ranges::move(training_cases(), std::back_inserter(cases));
  std::ranges::move(collective_cases(), std::back_inserter(cases));
  return cases;
}

std::vector<Case> collective_cases() {
  std::vector<Case> cases;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int32}) {
    const auto add = [&](const char* what, Op op) {
      cases.push_back(
          {fmt::format("{} of one rank {}", what, name_of(dtype)), std::move(op), {{{3, 5}, Numbers::normal, dtype}}});
    };
    add("sum", AllReduce{});
    add("maximum", AllReduce{true});
    add("rows gathered", AllGather{0, {3}, 0});
    add("columns gathered", AllGather{1, {5}, 0});
    add("rows scattered", ReduceScatter{0, {3}, 0});
    add("columns scattered", ReduceScatter{1, {5}, 0});
    add("rows passed on", Shift{0, {3}, 0, 1});
  }
  return cases;
}

std::vector<Case> forward_cases() {
  std::vector<Case> cases;
  add_elementwise(cases);
  add_contractions(cases);
  add_softmax(cases);
  add_attention(cases);
  std::ranges::move(cache_cases(), std::back_inserter(cases));
  add_normalization(cases);
  add_reductions(cases);
  add_layout(cases);
  add_scattered_sums(cases);
  add_convolution(cases);
  add_rnn(cases);
  add_delta_rule(cases);
  return cases;
}

std::vector<Tensor> draw(const Case& row) {
  RandomStream stream(0, row.name);
  std::vector<Tensor> tensors;
  for (const Operand& operand : row.inputs) {
    Tensor tensor(operand.dtype, operand.shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, draw_number(stream, operand, i, tensor.size()));
    tensors.push_back(std::move(tensor));
  }
  complete(row.op, tensors);
  return tensors;
}

}  // namespace attn::test
