#include "infer.h"

namespace attn::graph {

Types infer_types(const DeltaRule&, Inputs in) {
  constexpr std::size_t kInputs = 7;
  expect_inputs(in, kInputs);
  expect_one_dtype(in);
  expect_floating(in[0].dtype, "the delta rule");
  const Shape& query = in[0].shape;
  const Shape& value = in[3].shape;
  expect_rank(query, 4, "the query");
  expect_rank(value, 4, "the value");
  for (const std::size_t i : {1, 2, 4, 5}) expect_shape(in[i].shape, query, "an input of the delta rule");
  expect_shape(value, Shape{query[0], query[1], query[2], kUnknown}, "the value");
  expect_shape(in[6].shape, Shape{query[0], query[2], value[3], query[3]}, "the state");
  return {in[3], in[6]};
}

Types infer_types(const DeltaRuleGrad&, Inputs in) {
  constexpr std::size_t kInputs = 7;
  expect_inputs(in, kInputs + 2);
  const Types out = infer_types(DeltaRule{}, in.first(kInputs));
  for (std::size_t i = 0; i < out.size(); ++i) expect_type(in[kInputs + i], out[i], "the gradient of an output");
  return {in.begin(), in.begin() + kInputs};
}

}  // namespace attn::graph
