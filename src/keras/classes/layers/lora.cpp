#include "classes/layers/lora.h"

namespace attn::keras {

void Lora::fields(Fields& f) {
  if (!f.reading() && !is_on()) return;
  f("lora_rank", lora_rank);
  f("lora_alpha", lora_alpha);
}

void Lora::check(const Ref& config) const {
  if (lora_rank && *lora_rank < 1) config["lora_rank"].fail("expected an integer > 0");
}

void Lora::expect_floats() const {
  if (is_on())
    throw bad_input("a low-rank addition (lora_rank) to quantized weights is not known; merge it, then quantize");
}

void Lora::declare(Weights& w, const std::string& kernel, const Shape& shape) {
  if (!is_on()) return;
  Shape left = shape.slice(0, shape.rank() - 1);
  left.push_back(*lora_rank);
  const DType before = w.dtype();
  w.set_dtype(DType::float32);  // whatever the policy
  a_ = w.add("lora_" + kernel + "_a", left, Initializer("he_uniform"));
  b_ = w.add("lora_" + kernel + "_b", {*lora_rank, shape.back()}, Initializer("zeros"));
  w.set_dtype(before);
}

graph::ValueId Lora::added(Call& call, graph::ValueId kernel) const {
  if (!is_on()) return kernel;
  graph::Builder& b = call.builder();
  const graph::ValueId product = b.apply(graph::Linear{1, false, {}, false}, {call.weight(a_), call.weight(b_)});
  const double rank = static_cast<double>(*lora_rank), scale = (lora_alpha ? lora_alpha->value : rank) / rank;
  return b.binary(graph::BinaryFn::add, kernel,
                  b.binary(graph::BinaryFn::multiply, product, b.scalar_like(product, scale)));
}

}  // namespace attn::keras
