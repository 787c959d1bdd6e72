#include <limits>

#include "evaluate.h"

namespace attn::test {
namespace {

using graph::Attention;
using graph::AttentionPath;
using graph::Softmax;
using graph::SoftmaxKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// B 1, T 3, S 4, N 2, H 2, Hv 3. Expected numbers: Keras 3.15 in float64.
const Tensor kQuery = wave({1, 3, 2, 2}, 0);
const Tensor kKey = wave({1, 4, 2, 2}, 1);
const Tensor kValue = wave({1, 4, 2, 3}, 2);
const Tensor kMask = tensor({3, 4}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0}, DType::boolean);  // row 1: nothing seen

Attention attention(AttentionPath path, int masks, double scale = 0.5) {
  Attention op;
  op.scale = scale;
  op.path = path;
  op.masks = masks;
  return op;
}

TEST_CASE("attention: causality starts at the top left, also for different T and S") {
  check_near(result(Attention{.scale = 0.5, .causal = true, .window = {}}, {kQuery, kKey, kValue}),
             {0.909297426826, 0.427379880234, -0.255541102027, -0.818277111064, -0.996164608836, -0.70554032557,
              0.387830878771, 0.506756867097, 0.387347182532, 0.399000370005, 0.000244672910895, -0.398626097676,
              -0.0528214395623, 0.0410095581576, 0.115553119884, -0.159574008879, 0.0324628006534, 0.209231847793});
}

TEST_CASE("attention: a fully masked row of the fused path averages the values") {
  check_near(result(attention(AttentionPath::fused, 1), {kQuery, kKey, kValue, kMask}),
             {0.254884000546, -0.11266623857, -0.427227785228, -0.413838673916, -0.137363437411, 0.203715970072,
              0.223293181766, 0.102001907387, -0.0672624578594, -0.20489223817, -0.246157997339, -0.171651804035,
              -0.0830894028175, 0.578439764388, 0.967919672031, 0.902171833756, 0.412118485242, -0.271760626411});
}

TEST_CASE("attention: a fully masked row of the explicit path gives zeros, and so do its scores") {
  Attention op = attention(AttentionPath::explicit_, 1);
  op.scores = true;
  const auto outputs = evaluate(op, {kQuery, kKey, kValue, kMask});
  check_near(numbers(outputs[0]), {0.254884000546, -0.11266623857, -0.427227785228, -0.413838673916, -0.137363437411,
                                   0.203715970072, 0, 0, 0, 0, 0, 0, -0.0830894028175, 0.578439764388, 0.967919672031,
                                   0.902171833756, 0.412118485242, -0.271760626411});
  CHECK(outputs[1].shape() == Shape{1, 2, 3, 4});
  check_near(numbers(outputs[1]), {0.392219250904, 0, 0.374776612343, 0.233004136754, 0, 0, 0, 0, 0, 1, 0, 0,
                                   0.35411572132,  0, 0.540493102741, 0.105391175939, 0, 0, 0, 0, 0, 1, 0, 0});
}

TEST_CASE("attention: a window includes positions nearer than its size on both sides") {
  check_near(result(Attention{.scale = 0.5, .window = 2}, {kQuery, kKey, kValue}),
             {0.565398398538, 0.479727760941, 0.168433661421, -0.337580612801, -0.602687805049, -0.584341505326,
              0.0133897117848, 0.0443304560347, 0.054421894129, 0.325371590138, 0.0938908157421, -0.181748276382,
              0.00886930064171, 0.0578905516855, 0.0796849717068, 0.0133320049599, 0.307616185894, 0.457223667967});
}

TEST_CASE("attention: consecutive query heads share a key and value head") {
  const graph::Slice first{{{}, {}, {0, 1}, {}}};
  const Tensor key = evaluate(first, {kKey}).front();
  const Tensor value = evaluate(first, {kValue}).front();
  check_near(result(attention(AttentionPath::fused, 0), {kQuery, key, value}),
             {0.196690491546, 0.00633094583161, -0.187006142631, 0.260264932068, -0.0178541413645, -0.287576133134,
              0.256224363483, 0.141422861583, -0.0398920219123, 0.210782753203, 0.306207372375, 0.257617879697,
              0.188476670287, 0.131592165932, 0.0128178097547, 0.232398263622, -0.0337970210192, -0.284097038582});
}

TEST_CASE("attention: masks of any rank are combined with each other and with causality") {
  const Tensor all = tensor({1, 1, 1, 4}, {1, 1, 1, 0}, DType::boolean);
  const Tensor rows = tensor({1, 1, 3, 1}, {1, 1, 0}, DType::boolean);
  Attention op = attention(AttentionPath::explicit_, 2);
  op.causal = op.scores = true;
  const auto scores = numbers(evaluate(op, {kQuery, kKey, kValue, all, rows})[1]);
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t s = 0; s < 4; ++s) {
        const bool seen = t < 2 && s < 3 && s <= t;
        CHECK((scores[(n * 3 + t) * 4 + s] != 0.0) == seen);
      }
    }
  }
}

TEST_CASE("attention: masked float16 scores become -3e4, and a real score may be lower") {
  const Tensor query = tensor({1, 1, 1, 1}, {200}, DType::float16);
  const Tensor key = tensor({1, 2, 1, 1}, {-200, 0}, DType::float16);
  const Tensor value = tensor({1, 2, 1, 1}, {1, 2}, DType::float16);
  const Tensor mask = tensor({1, 2}, {1, 0}, DType::boolean);
  check_near(result(attention(AttentionPath::explicit_, 1, 1.0), {query, key, value, mask}), {0});
  check_near(result(attention(AttentionPath::fused, 1, 1.0), {query, key, value, mask}), {1});
}

TEST_CASE("attention: the result is zeros without keys and empty without queries") {
  const Tensor none = tensor({1, 0, 2, 2}, {});
  const auto y = evaluate(attention(AttentionPath::fused, 0), {kQuery, none, tensor({1, 0, 2, 3}, {})}).front();
  check_near(numbers(y), std::vector<double>(18, 0.0));
  check_near(result(attention(AttentionPath::fused, 0), {none, kKey, kValue}), {});
}

TEST_CASE("softmax: large logits do not overflow") {
  check_near(result(Softmax{SoftmaxKind::softmax, {0}}, {tensor({3}, {1e4, -1e4, 0})}), {1, 0, 0});
  check_near(result(Softmax{SoftmaxKind::log_softmax, {0}}, {tensor({3}, {1e4, -1e4, 0})}), {0, -2e4, -1e4});
}

TEST_CASE("softmax: softmax over two axes normalizes them jointly") {
  const Tensor x = evaluate(graph::Slice{{{}, {0, 2}, {0, 1}}}, {wave({2, 4, 3}, 0)}).front();
  check_near(result(Softmax{SoftmaxKind::softmax, {0, 1}}, {x}),
             {0.162970025641, 0.386362349639, 0.383049874071, 0.0676177506493});
}

TEST_CASE("softmax: a row with NaN, +inf or only -inf becomes NaN, and no other row") {
  const Tensor x = tensor({4, 2}, {kNan, 1, kInf, 1, -kInf, -kInf, 0, 0});
  const std::vector<double> expected{kNan, kNan, kNan, kNan, kNan, kNan, 0.5, 0.5};
  check_near(result(Softmax{SoftmaxKind::softmax, {1}}, {x}), expected);
}

TEST_CASE("softmax: sparsemax equals Keras's") {
  check_near(result(Softmax{SoftmaxKind::sparsemax, {1}}, {wave({2, 4}, 0)}), {0, 0, 0, 0, 0.675391613845, 0, 0, 0});
  check_near(result(Softmax{SoftmaxKind::sparsemax, {0}}, {tensor({3}, {1e4, -1e4, 0})}), {1, 0, 0});
}

}  // namespace
}  // namespace attn::test
