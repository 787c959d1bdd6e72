#include "attn/weights/quantize.h"

#include <memory>

#include "support.h"

namespace attn::weights {
namespace {

using graph::QuantizedPart;
using graph::WeightSpec;

WeightSpec part(std::string path, QuantizedPart::Kind kind, DType dtype, const Shape& shape) {
  WeightSpec spec = weight(std::move(path), shape);
  spec.dtype = dtype;
  spec.quantized = QuantizedPart{.kind = kind, .of = "kernel", .shape = {3, 2}, .axes = {0}};
  return spec;
}

}  // namespace

TEST_CASE("quantize: a float weight is requested once, and freed before the next one") {
  using Kind = QuantizedPart::Kind;
  const std::vector<WeightSpec> floats{weight("a/kernel", {3, 2}), weight("b/kernel", {3, 2})};
  const std::vector<WeightSpec> quantized{
      part("a/kernel", Kind::integers, DType::int8, {3, 2}), part("a/kernel_scale", Kind::scale, DType::float32, {2}),
      part("b/kernel", Kind::integers, DType::int8, {3, 2}), part("b/kernel_scale", Kind::scale, DType::float32, {2})};
  std::vector<int> asked(2);
  std::weak_ptr<std::byte> before;
  const std::vector<Tensor> out = quantize(quantized, floats, [&](std::size_t i) {
    CHECK(before.expired());
    ++asked[i];
    Tensor numbers(DType::float32, {3, 2});
    for (std::int64_t k = 0; k < numbers.size(); ++k) numbers.set(k, static_cast<double>(k) - 2.0);
    before = numbers.owner();
    return numbers;
  });
  CHECK(before.expired());
  CHECK(asked == std::vector<int>{1, 1});
  REQUIRE(out.size() == 4);
  // Columns -2, 0, 2 and -1, 1, 3.
  const std::vector<int> expected{-127, -42, 0, 42, 127, 127};
  for (const std::size_t w : {std::size_t{0}, std::size_t{2}})
    for (std::int64_t k = 0; k < out[w].size(); ++k) CHECK(out[w].at(k) == expected[static_cast<std::size_t>(k)]);
}

}  // namespace attn::weights
