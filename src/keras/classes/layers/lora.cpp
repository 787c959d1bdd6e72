#include "classes/layers/lora.h"

#include "attn/base/error.h"

namespace attn::keras {

void Lora::fields(Fields& f) {
  if (!f.reading() && !is_on()) return;
  f("lora_rank", lora_rank);
  f("lora_alpha", lora_alpha);
}

void Lora::check(const Ref& config) const {
  if (lora_rank && *lora_rank < 1) config["lora_rank"].fail("expected an integer > 0");
}

void Lora::expect_known(const Quantization& how) const {
  if (is_on() && how.mode != QuantizationMode::int8 && how.mode != QuantizationMode::int4)
    throw bad_input("Keras has no LoRA (lora_rank) for {} weights; merge it, then quantize", name_of(how.mode));
}

void Lora::declare(Weights& w, const std::string& kernel, const Shape& shape) {
  if (!is_on()) return;
  Shape left = shape.slice(0, shape.rank() - 1);
  left.push_back(*lora_rank);
  const DType before = w.dtype();
  w.set_dtype(DType::float32);  // float32 for any policy
  a_ = w.add("lora_" + kernel + "_a", left, Initializer("he_uniform"));
  b_ = w.add("lora_" + kernel + "_b", {*lora_rank, shape.back()}, Initializer("zeros"));
  w.set_dtype(before);
}

graph::ValueId Lora::added(Call& call, graph::ValueId kernel) const {
  if (!is_on()) return kernel;
  graph::Builder& b = call.builder();
  const graph::ValueId product = b.apply(graph::Linear{1, false, {}, false}, {call.weight(a_), call.weight(b_)});
  return b.binary(graph::BinaryFn::add, kernel, scaled(b, product));
}

std::optional<graph::ValueId> Lora::beside(Call& call, graph::ValueId x, const EinsumLetters& letters) const {
  if (!is_on()) return std::nullopt;
  if (letters.kernel.empty() || letters.out.empty() || letters.kernel.back() != letters.out.back())
    throw bad_input(
        "LoRA (lora_rank) is not supported for a quantized kernel whose last axis is not the output's last axis");
  graph::Builder& b = call.builder();
  x = b.cast(x, call.compute_dtype());
  const int contracted = letters.contracted();
  const graph::ValueId narrow = contracted > 0 ? b.apply(graph::Linear{contracted}, {x, call.weight(a_)})
                                               : b.apply(graph::Einsum{letters.equation()}, {x, call.weight(a_)});
  return scaled(b, b.apply(graph::Linear{1}, {narrow, call.weight(b_)}));
}

graph::ValueId Lora::added_to_rows(Call& call, graph::ValueId rows, graph::ValueId indices) const {
  if (!is_on()) return rows;
  graph::Builder& b = call.builder();
  const graph::ValueId narrow = b.apply(graph::Gather{0}, {call.raw_weight(a_), indices});
  const graph::ValueId product = scaled(b, b.apply(graph::Linear{1}, {narrow, call.raw_weight(b_)}));
  const graph::ValueId sum = b.binary(graph::BinaryFn::add, b.cast(rows, DType::float32), product);
  return b.cast(sum, call.compute_dtype());
}

graph::ValueId Lora::scaled(graph::Builder& b, graph::ValueId product) const {
  const double rank = static_cast<double>(*lora_rank), scale = (lora_alpha ? lora_alpha->value : rank) / rank;
  return b.binary(graph::BinaryFn::multiply, product, b.scalar_like(product, scale));
}

}  // namespace attn::keras
