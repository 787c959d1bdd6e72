// Quantized weights, and quantization.
#include <fmt/format.h>

#include <array>

#include "cases.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations, which fill this file

Operand in(Shape shape, Numbers numbers = Numbers::normal, DType dtype = DType::float32) {
  return {std::move(shape), numbers, dtype};
}
Operand weight(Shape shape, Numbers numbers, DType dtype) { return {std::move(shape), numbers, dtype, true}; }
Operand integers(Shape shape, DType dtype = DType::int8) { return weight(std::move(shape), Numbers::bytes, dtype); }
Operand scale(Shape shape, DType dtype = DType::float32) { return weight(std::move(shape), Numbers::positive, dtype); }
Operand zero(Shape shape, DType dtype = DType::int8) {
  Operand out = weight(std::move(shape), Numbers::entries, dtype);
  out.count = 15;
  return out;
}
/// Runs of `count` rows per group, or random groups.
Operand groups(Dim rows, std::int64_t count, Numbers numbers = Numbers::blocks) {
  return {{rows}, numbers, DType::int32, true, false, count};
}

Dim half(Dim size) { return (size + 1) / 2; }

void add_quantize(std::vector<Case>& cases) {
  for (const Numbers numbers : {Numbers::normal, Numbers::large, Numbers::tiny, Numbers::one_nan, Numbers::infinities})
    cases.push_back(
        {fmt::format("quantize rows {}", static_cast<int>(numbers)), Quantize{{1}, {}}, {in({3, 65}, numbers)}});
  cases.push_back({"quantize two axes", Quantize{{0, 2}, {}}, {in({3, 4, 5})}});
  cases.push_back({"quantize to 4 bits", Quantize{{1}, {-8.0, 7.0, 1e-7}}, {in({3, 65})}});
  cases.push_back({"quantize nothing", Quantize{{1}, {}}, {in({0, 5})}});
  for (const DType half : {DType::bfloat16, DType::float16})
    cases.push_back(
        {fmt::format("quantize {}", name_of(half)), Quantize{{1}, {}}, {in({3, 65}, Numbers::normal, half)}});

  cases.push_back({"dequantize by columns", Dequantize{}, {integers({7, 5}), scale({5})}});
  cases.push_back({"dequantize by rows", Dequantize{}, {integers({7, 5}), scale({7, 1})}});
  cases.push_back({"dequantize nibbles", Dequantize{Nibbles{1, 5}, {}}, {integers({7, 3}), scale({5})}});
  cases.push_back({"dequantize nibbles without a sign",
                   Dequantize{Nibbles{0, 9}, {}},
                   {integers({5, 4}, DType::uint8), scale({4})}});
  cases.push_back({"dequantize groups of rows",
                   Dequantize{Nibbles{1, 6}, 0},
                   {integers({9, 3}), scale({3, 6}), zero({3, 6}), groups(9, 4)}});
  for (const DType bytes : {DType::int8, DType::uint8}) {
    const std::string_view name = name_of(bytes);
    cases.push_back({fmt::format("dequantize groups of columns, {}", name),
                     Dequantize{Nibbles{2, 9}, 2},
                     {integers({2, 4, 5}, bytes), scale({2, 4, 3}), zero({2, 4, 3}, bytes), groups(9, 3)}});
    cases.push_back(
        {fmt::format("dequantize rows, {}", name), Dequantize{}, {integers({2, 70, 33}, bytes), scale({2, 70, 1})}});
    cases.push_back({fmt::format("dequantize by some axes, {}", name),
                     Dequantize{},
                     {integers({3, 4, 17}, bytes), scale({3, 1, 17})}});
    cases.push_back({fmt::format("dequantize nibbles by rows, {}", name),
                     Dequantize{Nibbles{1, 34}, {}},
                     {integers({7, 17}, bytes), scale({7, 1})}});
  }
  cases.push_back({"dequantize no rows", Dequantize{}, {integers({0, 5}), scale({5})}});
  cases.push_back({"dequantize no columns", Dequantize{}, {integers({4, 0}), scale({4, 1})}});
  cases.push_back({"dequantize a vector", Dequantize{}, {integers({21}), scale({})}});
  cases.push_back({"dequantize groups in any order, with zeros between integers",
                   Dequantize{{}, 1},
                   {integers({4, 9}), scale({4, 3}), weight({4, 3}, Numbers::normal, DType::float32),
                    groups(9, 3, Numbers::entries)}});
  cases.push_back({"dequantize groups of columns, bfloat16",
                   Dequantize{Nibbles{1, 9}, 1},
                   {integers({4, 5}), scale({4, 3}, DType::bfloat16), zero({4, 3}), groups(9, 3, Numbers::entries)}});
}

/// The operands of a map (rows…, K) → (rows…, M) in one layout.
std::vector<Operand> operands(const QuantizedLinear& op, const Shape& rows, Dim K, Dim M, DType bytes, Numbers order,
                              Numbers numbers, DType dtype) {
  constexpr std::int64_t kGroup = 16;
  Shape x = rows;
  x.push_back(K);
  const Dim k = op.pairs == Pairs::inputs ? half(K) : K, m = op.pairs == Pairs::outputs ? half(M) : M;
  std::vector<Operand> out{in(x, numbers, dtype), integers(op.transposed ? Shape{m, k} : Shape{k, m}, bytes)};
  if (op.grouped) {
    const Dim count = (K + kGroup - 1) / kGroup;
    const Shape by_group = op.transposed ? Shape{M, count} : Shape{count, M};
    const bool at_random = order == Numbers::entries;
    out.insert(out.end(), {scale(by_group, dtype), zero(by_group), groups(K, at_random ? count : kGroup, order)});
  } else {
    out.push_back(scale({M}, dtype));
  }
  if (op.bias) out.push_back(weight({M}, Numbers::normal, dtype));
  if (op.residual) {
    x = rows;
    x.push_back(M);
    out.push_back(in(x, Numbers::normal, dtype));
  }
  return out;
}

void add_linear(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, QuantizedLinear op, const Shape& rows, Dim K, Dim M,
                       DType bytes = DType::int8, Numbers order = Numbers::blocks, Numbers numbers = Numbers::normal,
                       DType dtype = DType::float32) {
    op.units = {M};
    cases.push_back({fmt::format("quantized linear {} {} x {} x {}", name, rows.str(), K, M), op,
                     operands(op, rows, K, M, bytes, order, numbers, dtype)});
  };
  QuantizedLinear dynamic, floats, nibbles, grouped;
  dynamic.inputs = IntegerRange{};
  nibbles.pairs = grouped.pairs = Pairs::outputs;
  grouped.grouped = true;
  struct Size {
    Shape rows;
    Dim K, M;
  };
  for (const Size& s : {Size{{1}, 1, 1}, Size{{3}, 7, 5}, Size{{1}, 130, 37}, Size{{2, 13}, 64, 33}, Size{{5}, 33, 64},
                        Size{{0}, 4, 3}, Size{{97}, 20, 40}}) {
    for (const bool bias : {false, true}) {
      dynamic.bias = floats.bias = nibbles.bias = grouped.bias = bias;
      const std::string with = bias ? " bias" : "";
      add("int8" + with, dynamic, s.rows, s.K, s.M);
      add("int8 weights" + with, floats, s.rows, s.K, s.M);
      add("int4 weights" + with, nibbles, s.rows, s.K, s.M);
      add("int4 groups" + with, grouped, s.rows, s.K, s.M);
    }
  }
  dynamic.bias = floats.bias = nibbles.bias = grouped.bias = true;
  for (const Numbers numbers : {Numbers::large, Numbers::tiny, Numbers::one_nan, Numbers::infinities}) {
    const std::string name = fmt::format("numbers {}", static_cast<int>(numbers));
    add("int8 " + name, dynamic, {3}, 40, 20, DType::int8, Numbers::blocks, numbers);
    add("int4 groups " + name, grouped, {3}, 40, 20, DType::int8, Numbers::blocks, numbers);
    // A few rows are decomposed into bytes, if all of their numbers allow it.
    for (const Dim rows : {Dim{1}, Dim{7}}) {
      const std::string of_rows = fmt::format("{}, {} rows", name, rows);
      add("int8 weights " + of_rows, floats, {rows}, 136, 70, DType::int8, Numbers::blocks, numbers);
      add("int4 " + of_rows, nibbles, {rows}, 136, 70, DType::int8, Numbers::blocks, numbers);
      add("int4 groups " + of_rows, grouped, {rows}, 136, 70, DType::uint8, Numbers::blocks, numbers);
    }
  }
  // Every layout that Keras has: tables that are multiplied by their rows, and the results of gptq.
  const std::array<std::pair<const char*, Pairs>, 3> layouts{
      {{"bytes", Pairs::none}, {"pairs of inputs", Pairs::inputs}, {"pairs of outputs", Pairs::outputs}}};
  for (const auto& [name, pairs] : layouts) {
    for (const bool transposed : {false, true}) {
      for (const bool is_grouped : {false, true}) {
        for (const bool inputs : {false, true}) {
          QuantizedLinear op;
          op.pairs = pairs;
          op.transposed = transposed;
          op.grouped = is_grouped;
          if (inputs) op.inputs = IntegerRange{};
          add(fmt::format("{}{}{}{}", name, transposed ? " transposed" : "", is_grouped ? " grouped" : "",
                          inputs ? " of integers" : ""),
              op, {6}, 35, 41);
        }
      }
    }
  }
  // Zero points that are not integers, or NaN, as a file may hold them.
  for (const Dim rows : {Dim{1}, Dim{3}, Dim{7}}) {
    for (const Numbers numbers : {Numbers::normal, Numbers::large, Numbers::one_nan}) {
      QuantizedLinear op = grouped;
      op.units = {41};
      for (const Pairs pairs : {Pairs::none, Pairs::outputs}) {
        op.pairs = pairs;
        auto of = operands(op, {rows}, 35, 41, DType::int8, Numbers::blocks, Numbers::normal, DType::float32);
        of[3] = weight(of[3].shape, numbers, DType::float32);
        cases.push_back({fmt::format("quantized linear of {} rows, {} with zeros {}", rows,
                                     pairs == Pairs::none ? "int8" : "int4", static_cast<int>(numbers)),
                         op, std::move(of)});
      }
    }
  }
  grouped.transposed = true;
  add("uint4 groups", grouped, {2}, 35, 41, DType::uint8);
  add("uint4 groups at random", grouped, {6}, 35, 41, DType::uint8, Numbers::entries);
  grouped.pairs = Pairs::none;
  add("uint8 groups", grouped, {6}, 35, 41, DType::uint8);
  nibbles.rounded = true;
  add("int4 rounded", nibbles, {6}, 35, 41);
  dynamic.rounded = true;
  add("int8 rounded", dynamic, {6}, 35, 41);
  dynamic.rounded = false;
  dynamic.activation = {UnaryFn::gelu};
  dynamic.residual = true;
  add("int8 gelu residual", dynamic, {2, 3}, 35, 41);
  floats.activation = {UnaryFn::tanh};
  add("int8 weights tanh", floats, {2, 3}, 35, 41);
  dynamic.activation = {};
  for (const Dim rows : {Dim{1}, Dim{13}, Dim{97}}) {
    add("int8 residual", dynamic, {rows}, 35, 41);
    floats.activation = {};
    floats.residual = true;
    add("int8 weights residual", floats, {rows}, 35, 41);
  }
  dynamic.residual = false;
  add("int8 bfloat16", dynamic, {3}, 35, 41, DType::int8, Numbers::blocks, Numbers::normal, DType::bfloat16);

  QuantizedLinear heads;
  heads.contracted = 2;
  heads.units = {3, 4};
  heads.inputs = IntegerRange{};
  cases.push_back({"quantized linear of heads", heads, {in({2, 5, 3, 7}), integers({3, 7, 3, 4}), scale({1, 3, 4})}});
}

}  // namespace

std::vector<Case> quantized_cases() {
  std::vector<Case> cases;
  add_quantize(cases);
  add_linear(cases);
  return cases;
}

}  // namespace attn::test
