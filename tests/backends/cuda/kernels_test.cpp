#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "kernels_check.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations, which fill this file

constexpr std::array kPackable = {DType::float32, DType::float16, DType::bfloat16};
constexpr double kInf = std::numeric_limits<double>::infinity();

Operand in(Shape shape, DType dtype = DType::float32, Numbers numbers = Numbers::normal) {
  return {std::move(shape), numbers, dtype, false};
}

void check_cases(const std::vector<Case>& cases) {
  for (const Case& row : cases) check_case(question_of(row));
}

/// Checks cases that the named fast kernel must take.
void check_fast(const std::vector<Case>& cases, const std::string& kernel) {
  for (const Case& row : cases) {
    const std::string taken = check_case(question_of(row));
    CHECK_MESSAGE(taken == kernel, fmt::format("{}: {}", row.name, taken));
  }
}

TEST_CASE("cuda kernels: every case except attention and states agrees with the reference, and only outputs change") {
  for (const Case& row : forward_cases()) {
    const bool has_state = std::ranges::any_of(row.inputs, &Operand::state);
    if (!has_state && !std::holds_alternative<Attention>(row.op)) check_case(question_of(row));
  }
}

TEST_CASE("cuda kernels: layer norms of every width, few rows and many, agree with the reference") {
  std::vector<Case> cases;
  for (const DType dtype : kPackable) {
    for (const NormKind kind : {NormKind::layer, NormKind::rms, NormKind::rms_layer}) {
      for (const Dim width : {1, 3, 8, 31, 33, 512, 768, 1000, 4097}) {
        const std::string name = fmt::format("layer_norm {} {} (3, {})", name_of(dtype), static_cast<int>(kind), width);
        cases.push_back(
            {name, LayerNorm{kind, {1}, 1e-3}, {in({3, width}, dtype), in({width}, dtype), in({width}, dtype)}});
        cases.push_back({name + " plain", LayerNorm{kind, {1}, 1e-6, false, false}, {in({3, width}, dtype)}});
      }
      for (const Dim width : {24, 200, 1001, 2048}) {  // a warp holds a row
        cases.push_back({fmt::format("layer_norm {} {} (70, {})", name_of(dtype), static_cast<int>(kind), width),
                         LayerNorm{kind, {1}, 1e-3, false, true},
                         {in({70, width}, dtype), in({width}, dtype)}});
      }
      for (const Dim width : {16384, 16385, 20000}) {  // the last two are more than registers hold
        cases.push_back({fmt::format("layer_norm {} {} (2, {})", name_of(dtype), static_cast<int>(kind), width),
                         LayerNorm{kind, {1}, 1e-3, true, false},
                         {in({2, width}, dtype), in({width}, dtype)}});
      }
    }
  }
  check_fast(cases, "rows in registers");
}

TEST_CASE("cuda kernels: softmax of every width, few rows and many, agrees with the reference") {
  std::vector<Case> cases;
  for (const DType dtype : kPackable) {
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
      const auto add = [&](Dim rows, Dim width, Numbers numbers) {
        cases.push_back({fmt::format("softmax {} {} ({}, {}) {}", name_of(dtype), static_cast<int>(kind), rows, width,
                                     static_cast<int>(numbers)),
                         Softmax{kind, {1}},
                         {in({rows, width}, dtype, numbers)}});
      };
      for (const Dim width : {1, 3, 31, 33, 512, 1000, 4097, 20000}) add(3, width, Numbers::normal);
      for (const Dim width : {24, 50, 1001}) add(70, width, Numbers::normal);
      for (const Dim width : {33, 512, 20000}) {
        add(3, width, Numbers::one_nan);
        add(3, width, Numbers::infinities);
        add(3, width, Numbers::unit);
      }
    }
  }
  check_fast(cases, "rows in registers");
}

TEST_CASE("cuda kernels: vectorized unary and binary functions agree with the reference") {
  std::vector<Case> cases;
  for (const DType dtype : kPackable) {
    const std::string name(name_of(dtype));
    const std::vector<Unary> functions{{UnaryFn::linear},
                                       {UnaryFn::relu, 0.0, 0.0, kInf},
                                       {UnaryFn::relu, 0.1, 0.5, 2.0},
                                       {UnaryFn::elu, 1.0},
                                       {UnaryFn::selu},
                                       {UnaryFn::gelu},
                                       {UnaryFn::gelu_tanh},
                                       {UnaryFn::silu},
                                       {UnaryFn::sigmoid},
                                       {UnaryFn::tanh},
                                       {UnaryFn::softplus},
                                       {UnaryFn::exponential},
                                       {UnaryFn::hard_sigmoid},
                                       {UnaryFn::hard_silu},
                                       {UnaryFn::mish},
                                       {UnaryFn::absolute},
                                       {UnaryFn::negative},
                                       {UnaryFn::log},
                                       {UnaryFn::sqrt},
                                       {UnaryFn::rsqrt},
                                       {UnaryFn::square},
                                       {UnaryFn::reciprocal},
                                       {UnaryFn::erf},
                                       {UnaryFn::clip, -0.5, 0.7}};
    for (const Unary& op : functions) {
      for (const Numbers numbers : {Numbers::normal, Numbers::one_nan, Numbers::infinities}) {
        for (const Dim size : {1, 1001}) {
          cases.push_back(
              {fmt::format("{} {} {} {} ({})", graph::name_of(op.fn), op.a, name, static_cast<int>(numbers), size),
               op,
               {in({size}, dtype, numbers)}});
        }
      }
    }
    for (const BinaryFn fn : {BinaryFn::add, BinaryFn::subtract, BinaryFn::multiply, BinaryFn::divide,
                              BinaryFn::maximum, BinaryFn::minimum}) {
      const auto add = [&](Shape x, Shape y, Numbers numbers = Numbers::normal) {
        cases.push_back({fmt::format("{} {} {} {}", graph::name_of(fn), name, x.str(), y.str()),
                         Binary{fn},
                         {in(std::move(x), dtype, numbers), in(std::move(y), dtype)}});
      };
      add({3, 67}, {3, 67});
      add({33, 64}, {64});  // packs meet packs of the vector
      add({33, 63}, {63});  // packs would run over its end
      add({64}, {2, 3, 64});
      add({2, 3, 64}, {3, 64});
      add({2, 3, 64}, {1, 1, 1});
      add({}, {1000});
      add({}, {});
      add({17}, {17}, Numbers::one_nan);
    }
    for (const DType to : kPackable) {
      for (const Numbers numbers : {Numbers::normal, Numbers::large, Numbers::infinities, Numbers::one_nan}) {
        cases.push_back({fmt::format("cast {} to {} {}", name, name_of(to), static_cast<int>(numbers)),
                         Cast{to},
                         {in({7, 143}, dtype, numbers)}});
      }
    }
  }
  check_fast(cases, "vector");
}

TEST_CASE("cuda kernels: functions of half-precision numbers and of doubles agree with the reference") {
  std::vector<Case> cases;
  for (Case row : forward_cases()) {
    const bool floats_only = std::ranges::all_of(row.inputs, [](const Operand& operand) {
      return operand.dtype == DType::float32 || operand.dtype == DType::boolean;
    });
    // Half precision cannot represent the large and tiny numbers of some cases, or their products.
    const bool fits = std::ranges::all_of(row.inputs, [](const Operand& operand) {
      return operand.numbers != Numbers::large && operand.numbers != Numbers::tiny;
    });
    if (std::holds_alternative<Attention>(row.op) || !floats_only || row.inputs.empty()) continue;
    const std::string name = row.name;
    for (const DType dtype : {DType::float64, DType::float16, DType::bfloat16}) {
      if (dtype != DType::float64 && !fits) continue;
      row.name = fmt::format("{} as {}", name, name_of(dtype));
      for (Operand& operand : row.inputs) {
        if (operand.dtype != DType::boolean) operand.dtype = dtype;
      }
      cases.push_back(row);
      for (Operand& operand : row.inputs) {
        if (operand.dtype == dtype) operand.dtype = DType::float32;
      }
    }
  }
  check_cases(cases);
}

TEST_CASE("cuda kernels: a cast of any dtype to any other gives the reference's bytes") {
  const std::vector<double> numbers{
      0.0,     -0.0,   1.0,    -1.0,        0.4,   -1.5,
      127.0,   128.0,  -129.0, 255.6,       300.7, -32769.,
      65535,   65536., 2e9,    2147483648., -3e9,  4294967295.,
      5e9,     2049.0, 1e-3,   1e5,         -1e19, 9.3e18,
      1.85e19, 6e-8,   1e-40,  kInf,        -kInf, std::numeric_limits<double>::quiet_NaN()};
  std::vector<DType> dtypes;
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) dtypes.push_back(static_cast<DType>(i));
  for (const DType from : dtypes) {
    Tensor x(from, Shape{static_cast<Dim>(numbers.size())});
    for (std::size_t i = 0; i < numbers.size(); ++i) x.set(static_cast<std::int64_t>(i), numbers[i]);
    for (const DType to : dtypes) {
      const Case row{fmt::format("cast {} to {}", name_of(from), name_of(to)), Cast{to}, {in(x.shape(), from)}};
      check_case(question_of(row, {x}));
    }
  }
}

TEST_CASE("cuda kernels: integers stay exact at the ends of their range") {
  for (const DType dtype :
       {DType::int8, DType::uint8, DType::int16, DType::int32, DType::uint32, DType::int64, DType::uint64}) {
    Tensor x(dtype, Shape{6}), y(dtype, Shape{6});
    for (std::int64_t i = 0; i < 6; ++i) {
      x.set(i, std::array{-1e19, 1e19, -7.0, 7.0, 100.0, -1.0}[static_cast<std::size_t>(i)]);
      y.set(i, std::array{3.0, 2.0, 3.0, 5.0, 7.0, 1.0}[static_cast<std::size_t>(i)]);
    }
    const Operand operand = in({6}, dtype, Numbers::integers);
    const std::string name(name_of(dtype));
    for (int fn = 0; fn <= static_cast<int>(BinaryFn::greater_equal); ++fn) {
      const auto op = static_cast<BinaryFn>(fn);
      if (op == BinaryFn::divide || op == BinaryFn::atan2) continue;
      check_case(question_of({fmt::format("{} {}", graph::name_of(op), name), Binary{op}, {operand, operand}}, {x, y}));
    }
    for (const Unary& op : std::vector<Unary>{{UnaryFn::absolute},
                                              {UnaryFn::negative},
                                              {UnaryFn::square},
                                              {UnaryFn::sign},
                                              {UnaryFn::floor},
                                              {UnaryFn::isfinite},
                                              {UnaryFn::clip, -5.0, 6.0},
                                              {UnaryFn::relu, 0.0, 0.0, kInf}}) {
      if (op.fn == UnaryFn::relu && bytes_of(dtype) == 8)
        continue;  // goes through double, which does not have the
                   // integer's range
      check_case(question_of({fmt::format("{} {}", graph::name_of(op.fn), name), op, {operand}}, {x}));
    }
    for (const ReduceFn fn :
         {ReduceFn::sum, ReduceFn::prod, ReduceFn::max, ReduceFn::min, ReduceFn::argmax, ReduceFn::argmin}) {
      check_case(question_of({fmt::format("{} {}", graph::name_of(fn), name), Reduce{fn, {0}}, {operand}}, {x}));
    }
    check_case(question_of({"cumsum " + name, Cumulate{false, 0}, {operand}}, {x}));
    check_case(question_of({"einsum " + name, Einsum{"a,a->"}, {operand, operand}}, {x, y}));
  }
}

TEST_CASE("cuda kernels: a threshold between two values of the dtype separates them as in double") {
  for (const DType dtype : kPackable) {
    for (const double threshold : {0.1, 0.3, 0.7}) {
      Tensor x(dtype, Shape{5});
      for (std::int64_t i = 0; i < 5; ++i) x.set(i, threshold * (1.0 + static_cast<double>(i - 2) * 0x1p-8));
      x.set(2, threshold);  // rounded up or down
      for (const Unary& op : std::vector<Unary>{{UnaryFn::relu, 0.0, threshold, kInf},
                                                {UnaryFn::threshold, threshold, 7.0},
                                                {UnaryFn::hard_shrink, threshold}}) {
        const Case row{fmt::format("{} {} {}", graph::name_of(op.fn), threshold, name_of(dtype)), op, {in({5}, dtype)}};
        check_case(question_of(row, {x}));
      }
    }
  }
}

TEST_CASE("cuda kernels: argmax of zeros selects the first positive one, and argmin the first negative one") {
  Tensor x(DType::float32, Shape{70});
  for (const std::int64_t negative : {0, 1, 33, 40}) x.set(negative, -0.0);
  for (const ReduceFn fn : {ReduceFn::argmax, ReduceFn::argmin}) {
    check_case(question_of({std::string(graph::name_of(fn)), Reduce{fn, {0}}, {in({70})}}, {x}));
  }
}

TEST_CASE("cuda kernels: reductions of rows and of columns agree with the reference") {
  std::vector<Case> rows, columns, others;
  for (const DType dtype : kPackable) {
    for (const ReduceFn fn : {ReduceFn::sum, ReduceFn::mean, ReduceFn::max, ReduceFn::min}) {
      const auto add = [&](std::vector<Case>& cases, Shape shape, std::vector<int> axes,
                           Numbers numbers = Numbers::normal) {
        cases.push_back({fmt::format("{} {} of {} {}", graph::name_of(fn), name_of(dtype), shape.str(), cases.size()),
                         Reduce{fn, std::move(axes)},
                         {in(std::move(shape), dtype, numbers)}});
      };
      for (const Dim width : {1, 3, 31, 33, 1000, 4097}) add(rows, {3, width}, {1});
      add(rows, {70, 200}, {1});
      add(rows, {3, 4, 50}, {1, 2});
      add(rows, {3, 20000}, {1});
      add(rows, {3, 33}, {1}, Numbers::one_nan);
      add(columns, {2, 50, 33}, {1});
      add(columns, {2, 3, 64}, {1});
      add(columns, {5, 6, 7}, {0, 1});
      add(columns, {1000, 3}, {0});
      add(columns, {3, 5, 9}, {1}, Numbers::infinities);
      add(others, {3, 4, 5, 6}, {0, 2});
    }
  }
  check_fast(rows, "rows");
  check_fast(columns, "columns");
  check_fast(others, "");
}

TEST_CASE("cuda kernels: moves of elements of every size agree with the reference") {
  for (const DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::int64}) {
    const auto name_and_check = [&](std::string what, Op op, std::vector<Shape> shapes, const std::string& kernel) {
      std::vector<Operand> operands;
      for (Shape& shape : shapes) operands.push_back(in(std::move(shape), dtype, Numbers::integers));
      check_fast({{what + " " + std::string(name_of(dtype)), std::move(op), std::move(operands)}}, kernel);
    };
    name_and_check("transpose", Transpose{{1, 0}}, {{33, 65}}, "tiles");
    name_and_check("transpose one row", Transpose{{1, 0}}, {{1, 64}}, "units of 16 bytes");
    name_and_check("transpose batch", Transpose{{0, 2, 1}}, {{3, 40, 31}}, "tiles");
    name_and_check("transpose keys", Transpose{{0, 2, 3, 1}}, {{2, 33, 3, 8}}, "tiles");
    name_and_check("transpose all", Transpose{{3, 1, 0, 2}}, {{2, 3, 35, 37}}, "tiles");
    name_and_check("transpose heads", Transpose{{0, 2, 1, 3}}, {{2, 17, 3, 16}}, "units of 16 bytes");
    name_and_check("transpose rank 9", Transpose{{8, 0, 7, 1, 6, 2, 5, 3, 4}}, {{2, 3, 1, 2, 2, 3, 2, 1, 5}}, "tiles");
    name_and_check("broadcast rows", Broadcast{{5, 3, 16}}, {{3, 16}}, "units of 16 bytes");
    name_and_check("broadcast rank 9", Broadcast{{2, 3, 1, 2, 2, 3, 2, 1, 16}}, {{2, 1, 1, 2, 1, 1, 2, 1, 16}},
                   "units of 16 bytes");
    name_and_check("broadcast columns", Broadcast{{5, 3, 16}}, {{3, 1}}, "");
    name_and_check("slice rows", Slice{{{1, 4, 1}, {}}}, {{5, 32}}, "units of 16 bytes");
    name_and_check("slice columns", Slice{{{}, {16, 48, 1}}}, {{5, 64}}, "units of 16 bytes");
    name_and_check("slice rows backwards", Slice{{{{}, {}, -2}, {}}}, {{5, 32}}, "units of 16 bytes");
    name_and_check("slice one row", Slice{{{2, 3, 1}, {}}}, {{5, 32}}, "units of 16 bytes");
    name_and_check("concat columns", Concat{1}, {{5, 16}, {5, 48}, {5, 16}}, "one kernel, units of 16 bytes");
    name_and_check("concat rows", Concat{0}, {{5, 16}, {1, 16}}, "one kernel, units of 16 bytes");
    name_and_check("concat many", Concat{0}, std::vector<Shape>(17, Shape{1, 16}), "");
    name_and_check("pad rank 9", Pad{PadMode::reflect, {1, 0, 0, 1, 0, 0, 0, 0, 1}, {0, 0, 0, 1, 0, 0, 0, 0, 2}},
                   {{2, 3, 1, 2, 2, 1, 2, 1, 5}}, "");
  }
  for (const DType dtype : kPackable) {
    const Operand indices = in({3, 5}, DType::int32, Numbers::indices);
    check_fast({{"gather rows", Gather{0}, {in({7, 64}, dtype), indices}}}, "units of 16 bytes");
    check_fast({{"gather from the middle", Gather{1}, {in({3, 7, 32}, dtype), indices}}}, "units of 16 bytes");
    check_fast({{"gather columns", Gather{1}, {in({3, 7}, dtype), indices}}}, "");
  }
}

TEST_CASE("cuda kernels: operations on nine axes agree with the reference") {
  const Shape x{2, 1, 3, 2, 1, 2, 3, 1, 4}, y{1, 2, 1, 2, 3, 1, 3, 2, 1};
  std::vector<Case> cases{
      {"add rank 9", Binary{BinaryFn::add}, {in(x), in(y)}},
      {"less rank 9", Binary{BinaryFn::less}, {in(x), in(y)}},
      {"select rank 9", Select{}, {in(x, DType::boolean, Numbers::mask), in(y), in(x)}},
      {"sum rank 9", Reduce{ReduceFn::sum, {0, 2, 5, 8}}, {in(x)}},
      {"softmax rank 9", Softmax{SoftmaxKind::softmax, {0, 2, 5, 8}}, {in(x)}},
      {"layer norm rank 9", LayerNorm{NormKind::layer, {2, 6}, 1e-3}, {in(x), in({3, 3}), in({3, 3})}},
      {"cumsum rank 9", Cumulate{false, 3}, {in(x)}},
      {"batch norm rank 9",
       BatchNorm{6, 1e-3, false, false},
       {in(x), in({3}), in({3}, DType::float32, Numbers::positive)}},
      {"matmul rank 9", MatMul{}, {in({2, 1, 3, 1, 2, 1, 2, 3, 4}), in({1, 2, 1, 3, 1, 2, 2, 4, 2})}},
      {"iota rank 9", Iota{x, DType::int64, 6, 1.0, 2.0}, {}}};
  check_cases(cases);
}

TEST_CASE("cuda kernels: more axes than a kernel supports are rejected, and axes that merge are accepted") {
  Shape odd, even, ones;
  for (int axis = 0; axis < 17; ++axis) {
    odd.push_back(axis % 2 == 0 ? 2 : 1);
    even.push_back(axis % 2 == 0 ? 1 : 2);
    ones.push_back(axis % 2 == 0 ? 2 : 1);
  }
  const Case refused{"add of 17 axes", Binary{BinaryFn::add}, {in(odd), in(even)}};
  const Setting setting{[](const cuda::Step& step) { return cuda::make_plain(step); }};
  const Outcome outcome = run_kernel(refused.op, draw(refused), setting);
  CHECK(outcome.outputs.empty());
  CHECK(outcome.kernel == "more than 16 axes that do not merge");
  check_cases({{"add of 17 axes that merge", Binary{BinaryFn::add}, {in(odd), in(ones)}}});
}

TEST_CASE("cuda kernels: einsum supports diagonals, eight inputs and axes in any order, and rejects more") {
  check_cases({{"einsum trace", Einsum{"ii->"}, {in({17, 17})}},
               {"einsum batch diagonal", Einsum{"bii->bi"}, {in({3, 5, 5})}},
               {"einsum outer", Einsum{"a,b->ba"}, {in({17}), in({5})}},
               {"einsum eight",
                Einsum{"a,a,a,a,a,a,a,ab->b"},
                {in({5}), in({5}), in({5}), in({5}), in({5}), in({5}), in({5}), in({5, 3})}}});
  const Case refused{"einsum nine", Einsum{"a,a,a,a,a,a,a,a,a->a"}, std::vector<Operand>(9, in({5}))};
  const Setting setting{[](const cuda::Step& step) { return cuda::make_plain(step); }};
  CHECK(run_kernel(refused.op, draw(refused), setting).kernel == "more than 8 inputs");
}

}  // namespace
}  // namespace attn::test
