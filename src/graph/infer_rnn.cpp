#include "attn/base/error.h"
#include "attn/base/size.h"
#include "infer.h"

namespace attn::graph {
namespace {

std::int64_t gates_of(RnnCell cell) {
  switch (cell) {
    case RnnCell::simple:
      return 1;
    case RnnCell::lstm:
      return 4;
    case RnnCell::gru:
      return 3;
  }
  return 1;
}

}  // namespace

Types infer_types(const Rnn& op, Inputs in) {
  const std::size_t states = op.cell == RnnCell::lstm ? 2 : 1;
  expect_inputs(in, 3U + (op.bias ? 1U : 0U) + (op.mask ? 1U : 0U) + (op.initial_state ? states : 0U));
  expect_one_dtype(in.first(3));
  const DType dtype = in[0].dtype;
  expect_floating(dtype, name_of(op));
  const Shape& x = in[0].shape;          // (B, T, D)
  const Shape& recurrent = in[2].shape;  // (U, g·U)
  expect_rank(x, 3, "x");
  expect_rank(recurrent, 2, "the recurrent kernel");
  const Dim units = recurrent[0];
  Dim wide = kUnknown;
  if (units != kUnknown) {
    const auto product = checked_mul(units, gates_of(op.cell));
    if (!product) throw Error(ExitCode::no_memory, fmt::format("{} units are too many", units));
    wide = *product;
  }
  expect_shape(recurrent, Shape{units, wide}, "the recurrent kernel");
  expect_shape(in[1].shape, Shape{x[2], wide}, "the kernel");
  std::size_t next = 3;
  if (op.bias) {
    const bool two_rows = op.cell == RnnCell::gru && op.reset_after;
    expect_one_dtype(std::vector<TensorType>{in[0], in[next]});
    expect_shape(in[next++].shape, two_rows ? Shape{2, wide} : Shape{wide}, "the bias");
  }
  if (op.mask) {
    expect_bool(in[next].dtype, "the mask");
    expect_shape(in[next++].shape, Shape{x[0], x[1]}, "the mask");
  }
  for (; next < in.size(); ++next) {
    expect_one_dtype(std::vector<TensorType>{in[0], in[next]});
    expect_shape(in[next].shape, Shape{x[0], units}, "an initial state");
  }
  const Shape state{x[0], units};
  Types out{{dtype, op.return_sequences ? Shape{x[0], x[1], units} : state}};
  if (op.return_state) out.insert(out.end(), states, {dtype, state});
  return out;
}

}  // namespace attn::graph
