#include <fmt/format.h>

#include "generated_cases.h"

namespace attn::test {
namespace {

using namespace attn::graph;

constexpr Numbers kExtremes[] = {Numbers::large, Numbers::tiny, Numbers::one_nan, Numbers::infinities};

std::string_view name_of(Numbers numbers) {
  switch (numbers) {
    case Numbers::large:
      return "huge";
    case Numbers::tiny:
      return "denormal";
    case Numbers::one_nan:
      return "NaN";
    default:
      return "infinite";
  }
}

class ExtremeCases {
 public:
  void add(std::string_view name, Numbers numbers, const Op& op, std::vector<Operand> inputs) {
    found_.push_back({fmt::format("extreme {} {} {}", name, name_of(numbers), found_.size()), op, std::move(inputs)});
  }
  std::vector<Case> take() { return std::move(found_); }

 private:
  std::vector<Case> found_;
};

Operand of(Shape shape, Numbers numbers = Numbers::normal, bool weight = false) {
  return {std::move(shape), numbers, DType::float32, weight};
}

void add_attention(ExtremeCases& cases, Numbers numbers) {
  const Shape shape{2, 9, 2, 8};
  for (const AttentionPath path : {AttentionPath::fused, AttentionPath::explicit_}) {
    for (int extreme = 0; extreme < 3; ++extreme) {
      const auto inputs = [&] {
        std::vector<Operand> made;
        for (int i = 0; i < 3; ++i) made.push_back(of(shape, i == extreme ? numbers : Numbers::normal));
        return made;
      };
      Attention plain;
      plain.scale = 0.35;
      plain.path = path;
      cases.add("attention", numbers, plain, inputs());
      Attention causal = plain;
      causal.causal = true;
      cases.add("attention causal", numbers, causal, inputs());
      for (const Numbers mask : {Numbers::rows_off, Numbers::all_false}) {
        Attention masked = plain;
        masked.masks = 1;
        masked.scores = mask == Numbers::rows_off;
        std::vector<Operand> with_mask = inputs();
        with_mask.push_back({{2, 1, 9, 9}, mask, DType::boolean, false});
        cases.add("attention masked", numbers, masked, std::move(with_mask));
      }
    }
  }
}

}  // namespace

std::vector<Case> extreme_cases() {
  ExtremeCases cases;
  for (const Numbers numbers : kExtremes) {
    add_attention(cases, numbers);
    for (const Dim size : {1, 8, 17, 65}) {
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        cases.add("softmax", numbers, Softmax{kind, {1}}, {of({5, size}, numbers)});
      for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
        cases.add("norm", numbers, LayerNorm{kind, {1}, 1e-3, true, kind == NormKind::layer},
                  kind == NormKind::layer
                      ? std::vector<Operand>{of({5, size}, numbers), of({size}, Numbers::normal, true),
                                             of({size}, Numbers::normal, true)}
                      : std::vector<Operand>{of({5, size}, numbers), of({size}, Numbers::normal, true)});
      }
      cases.add("linear", numbers, Linear{}, {of({5, size}, numbers), of({size, 16}, Numbers::normal, true)});
      cases.add("linear weight", numbers, Linear{}, {of({5, size}), of({size, 16}, numbers, true)});
      cases.add("matmul", numbers, MatMul{}, {of({2, 5, size}, numbers), of({2, size, 9})});
      for (const ReduceFn fn : {ReduceFn::sum, ReduceFn::mean, ReduceFn::max, ReduceFn::logsumexp})
        cases.add("reduce", numbers, Reduce{fn, {1}, false}, {of({5, size}, numbers)});
    }
    Conv conv;
    conv.strides = conv.dilation = {1};
    cases.add("conv", numbers, conv, {of({2, 17, 8}, numbers), of({3, 8, 9}, Numbers::normal, true)});
    cases.add("max pool", numbers, Pool{false, {2}, {2}, Padding::same}, {of({2, 17, 8}, numbers)});
    cases.add("average pool", numbers, Pool{true, {2}, {2}, Padding::same}, {of({2, 17, 8}, numbers)});
  }
  return cases.take();
}

}  // namespace attn::test
