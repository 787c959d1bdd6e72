#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

#include "compare.h"
#include "kernels/epilogue.h"
#include "kernels/fused.h"
#include "kernels_check.h"
#include "tolerance.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations

constexpr std::array kPackable = {DType::float32, DType::float16, DType::bfloat16};

Tensor drawn(const std::string& name, Shape shape, DType dtype) {
  return draw({name, Unary{}, {{std::move(shape), Numbers::normal, dtype, false}}})[0];
}

Guarded on_device(const Tensor& numbers, int shift) {
  Guarded memory(numbers.dtype(), numbers.shape(), shift);
  memory.fill(numbers);
  return memory;
}

bool same_bytes(const Tensor& x, const Tensor& y) {
  return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
}

/// Equally aligned memory is distributed equally among threads, which determines the order of a sum.
Tensor by_fast_kernel(const Op& op, const std::vector<Tensor>& inputs, int shift) {
  return run_kernel(op, inputs, {[](const cuda::Step& step) { return cuda::make_fast(step); }, shift}).outputs.at(0);
}

TEST_CASE("cuda fused: a residual and a layer norm give the bytes of two separate kernels") {
  const cuda::Stream stream = cuda::make_stream();
  for (const DType dtype : kPackable) {
    for (const NormKind kind : {NormKind::layer, NormKind::rms, NormKind::rms_layer}) {
      for (const auto& [rows, columns, shift] :
           {std::tuple{3, 512, 0}, {3, 512, 1}, {5, 33, 0}, {70, 200, 0}, {2, 20000, 0}}) {
        for (const bool keeps_sum : {false, true}) {
          const Shape shape{rows, columns}, row{columns};
          const Tensor x = drawn("x", shape, dtype), residual = drawn("residual", shape, dtype);
          const DType parameters = keeps_sum ? dtype : DType::float32;
          const Tensor gamma = drawn("gamma", row, parameters), beta = drawn("beta", row, parameters);
          const Tensor sum = by_fast_kernel(Binary{BinaryFn::add}, {x, residual}, shift);
          const Tensor expected = by_fast_kernel(LayerNorm{kind, {1}, 1e-3}, {sum, gamma, beta}, shift);

          const Guarded x_memory = on_device(x, shift), residual_memory = on_device(residual, shift);
          const Guarded gamma_memory = on_device(gamma, shift), beta_memory = on_device(beta, shift);
          const Guarded sum_memory(dtype, shape, shift), y_memory(dtype, shape, shift);
          cuda::NormStep step;
          step.dtype = dtype;
          step.rows = rows;
          step.columns = columns;
          step.x = x_memory.operand().data;
          step.residual = residual_memory.operand().data;
          step.sum = keeps_sum ? sum_memory.operand().data : nullptr;
          step.parameters = {gamma_memory.operand().data, beta_memory.operand().data, parameters, keeps_sum};
          step.kind = kind;
          step.epsilon = 1e-3;
          step.y = y_memory.operand().data;
          cuda::launch_add_layer_norm(step, the_device(), stream.get());
          CHECK(same_bytes(y_memory.numbers(), expected));
          CHECK(y_memory.guards_are_intact());
          CHECK(sum_memory.guards_are_intact());
          if (keeps_sum) CHECK(same_bytes(sum_memory.numbers(), sum));

          step.y = x_memory.operand().data;  // in place
          cuda::launch_add_layer_norm(step, the_device(), stream.get());
          CHECK(same_bytes(x_memory.numbers(), expected));
          CHECK(x_memory.guards_are_intact());
        }
      }
    }
  }
}

TEST_CASE("cuda fused: a gathered row plus its position gives the bytes of two separate kernels") {
  const cuda::Stream stream = cuda::make_stream();
  for (const DType dtype : kPackable) {
    for (const auto& [columns, shift] : {std::pair{64, 0}, {64, 1}, {33, 0}}) {
      const Tensor table = drawn("table", {7, columns}, dtype), position = drawn("position", {5, columns}, dtype);
      const Tensor indices = draw({"indices", Unary{}, {{{3, 5}, Numbers::indices, DType::int32, false}}})[0];
      const Tensor rows = reference(Gather{0}, {table, indices})[0];
      const Tensor expected = by_fast_kernel(Binary{BinaryFn::add}, {rows, position}, shift);

      const Guarded table_memory = on_device(table, shift), position_memory = on_device(position, shift);
      const Guarded indices_memory = on_device(indices, 0), y_memory(dtype, expected.shape(), shift);
      const cuda::DeviceBytes fault = cuda::allocate_device(sizeof(cuda::Fault));
      std::memset(fault.get(), 0, sizeof(cuda::Fault));
      const cuda::GatherAddStep step{dtype,
                                     columns,
                                     table_memory.operand().data,
                                     7,
                                     cuda::array_of(indices_memory.operand()),
                                     indices.size(),
                                     position_memory.operand().data,
                                     5,
                                     y_memory.operand().data,
                                     {reinterpret_cast<cuda::Fault*>(fault.get()), 3}};
      cuda::launch_gather_add(step, stream.get());
      CHECK(same_bytes(y_memory.numbers(), expected));
      CHECK(y_memory.guards_are_intact());
      CHECK(reinterpret_cast<const cuda::Fault*>(fault.get())->kind == cuda::Fault::none);

      indices.set(4, 9.0);
      on_device(indices, 0);
      const Guarded wrong = on_device(indices, 0);
      cuda::GatherAddStep faulty = step;
      faulty.indices = cuda::array_of(wrong.operand());
      cuda::launch_gather_add(faulty, stream.get());
      const auto* const found = reinterpret_cast<const cuda::Fault*>(fault.get());
      CHECK(found->kind == cuda::Fault::index_out_of_range);
      CHECK(found->node == 3);
      CHECK(found->number == 9);
      CHECK(found->other == 7);
      CHECK(y_memory.numbers().at(4 * columns) == position.at(4 * columns));
    }
  }
}

TEST_CASE("cuda fused: an epilogue equals a product by one with bias, function and residual") {
  const cuda::Stream stream = cuda::make_stream();
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    for (const Unary& activation : std::vector<Unary>{{UnaryFn::linear},
                                                      {UnaryFn::gelu},
                                                      {UnaryFn::silu},
                                                      {UnaryFn::tanh},
                                                      {UnaryFn::relu, 0.1, 0.0, 6.0},
                                                      {UnaryFn::squareplus, 4.0}}) {
      for (const auto& [columns, shift] : {std::pair{64, 0}, {64, 1}, {33, 0}}) {
        for (const bool bias : {false, true}) {
          for (const bool residual : {false, true}) {
            const Shape shape{5, columns};
            const auto operand = [&](Shape of) { return Operand{std::move(of), Numbers::normal, dtype, false}; };
            Case row{fmt::format("epilogue {} {} {}", name_of(dtype), graph::name_of(activation.fn), columns),
                     Linear{1, bias, activation, residual},
                     {operand(shape), operand({columns, columns})}};
            if (bias) row.inputs.push_back(operand({columns}));
            if (residual) row.inputs.push_back(operand(shape));
            std::vector<Tensor> inputs = draw(row);
            for (Dim i = 0; i < columns * columns; ++i) inputs[1].set(i, i % (columns + 1) == 0 ? 1.0 : 0.0);
            const Question question = question_of(row, inputs);

            const Guarded x_memory = on_device(inputs[0], shift);
            const Guarded bias_memory = on_device(inputs[bias ? 2 : 0], shift);
            const Guarded residual_memory = on_device(inputs.back(), shift);
            cuda::launch_epilogue(
                {x_memory.operand().data, 5, columns, dtype, bias ? bias_memory.operand().data : nullptr, activation,
                 residual ? residual_memory.operand().data : nullptr},
                stream.get());
            const auto problem = difference(question.expected[0], x_memory.numbers(), question.allowed[0]);
            CHECK_MESSAGE(!problem, fmt::format("{}: {}", row.name, problem.value_or("")));
            CHECK(x_memory.guards_are_intact());
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attn::test
