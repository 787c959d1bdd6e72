// Products of few rows with what follows them in one kernel, whose blocks form clusters.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/error.h"
#include "attn/plan/plan.h"
#include "compare.h"
#include "kernels_check.h"
#include "models.h"
#include "runtime.h"
#include "small_product/prepare.h"
#include "tolerance.h"
#include "trial.h"
#include "trial_guard.h"

extern "C" attn::backends::Backend* attn_open_backend(int index);

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations
using simt::machine;

cuda::Choice make(const cuda::Step& step) {
  const cuda::SmallProduct product = cuda::small_product_of(std::get<Linear>(step.op), step);
  if (std::string why = cuda::why_not_small_product(product, step.device); !why.empty()) return cuda::Choice(why);
  return {"small product", cuda::prepare_small_product(product, step.device)};
}

struct Sizes {
  Dim M, N, K;
};

Case linear(const Sizes& size, DType dtype, UnaryFn activation, bool bias, bool residual) {
  Linear op;
  op.bias = bias;
  op.residual = residual;
  op.activation.fn = activation;
  std::vector<Operand> inputs{{{size.M, size.K}, Numbers::normal, dtype}, {{size.K, size.N}, Numbers::unit, dtype}};
  if (bias) inputs.push_back({{size.N}, Numbers::normal, dtype});
  if (residual) inputs.push_back({{size.M, size.N}, Numbers::normal, dtype});
  return {fmt::format("small product {}x{}x{}", size.M, size.N, size.K), op, inputs};
}

Guarded on_device(const Tensor& numbers) {
  Guarded memory(numbers.dtype(), numbers.shape(), 0);
  memory.fill(numbers);
  return memory;
}

}  // namespace

TEST_CASE("cuda small product: sums, activation and residual are the reference's, for any number of rows to 128") {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (const Sizes& size : {Sizes{1, 64, 64}, {50, 136, 200}, {64, 8, 8}, {65, 72, 1032}, {128, 256, 512}}) {
      for (const bool rest : {false, true}) {
        const UnaryFn activation = rest ? UnaryFn::gelu : UnaryFn::linear;
        const Question question = question_of(linear(size, dtype, activation, rest, rest));
        CHECK(check_kernel(question, {make}, "small product") == "small product");
        if (rest) check_kernel(question, {make, 0, 3}, "over the residual");
      }
    }
  }
}

TEST_CASE("cuda small product: what it does not take is left to others, with the reason") {
  const auto why = [](const Sizes& size, DType dtype, UnaryFn activation = UnaryFn::linear, int shift = 0) {
    const Case row = linear(size, dtype, activation, false, false);
    return run_kernel(row.op, draw(row), {make, shift}).kernel;
  };
  CHECK(why({129, 64, 64}, DType::float16) == "more than 128 rows");
  CHECK(why({8, 64, 64}, DType::float32) == "not in half precision");
  CHECK(why({8, 60, 64}, DType::float16) == "rows are not whole 16-byte vectors");
  CHECK(why({8, 64, 64}, DType::float16, UnaryFn::linear, 1) == "rows are not whole 16-byte vectors");
  CHECK(why({8, 64, 64}, DType::float16, UnaryFn::softsign) == "its activation has no fast code");
}

TEST_CASE("cuda small product: a norm gives what the norm's own kernel makes of the sum, in clusters of any size") {
  const cuda::Stream stream = cuda::make_stream();
  const unsigned clusters = machine().cluster;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (const Sizes& size : {Sizes{3, 64, 64}, {50, 512, 256}, {128, 768, 320}, {70, 1024, 72}, {64, 200, 1000}}) {
      for (const bool keeps_sum : {true, false}) {
        machine().cluster = keeps_sum ? 16 : 8;
        const Case row = linear(size, dtype, UnaryFn::linear, true, true);
        const Question question = question_of(row);
        const Tensor gamma = draw({"gamma", Unary{}, {{{size.N}, Numbers::normal, dtype}}})[0];
        const Tensor beta = draw({"beta", Unary{}, {{{size.N}, Numbers::normal, dtype}}})[0];
        const LayerNorm norm{keeps_sum ? NormKind::layer : NormKind::rms, {1}, 1e-3};
        std::vector<Guarded> inputs;
        for (const Tensor& input : question.inputs) inputs.push_back(on_device(input));
        const Guarded gamma_memory = on_device(gamma), beta_memory = on_device(beta);
        const Guarded sum(dtype, {size.M, size.N}, 0), out(dtype, {size.M, size.N}, 0);
        cuda::SmallProduct product;
        product.M = size.M;
        product.N = size.N;
        product.K = size.K;
        product.dtype = dtype;
        product.x = inputs[0].operand().data;
        product.kernel = inputs[1].operand().data;
        product.bias = inputs[2].operand().data;
        product.residual = inputs[3].operand().data;
        product.norm = &norm;
        product.gamma = gamma_memory.operand().data;
        product.beta = beta_memory.operand().data;
        product.sum = sum.operand().data;
        product.out = out.operand().data;
        product.kernel_is_still = keeps_sum;
        REQUIRE(cuda::why_not_small_product(product, the_device()).empty());
        cuda::prepare_small_product(product, the_device())(stream.get());
        const auto wrong = difference(question.expected[0], sum.numbers(), question.allowed[0]);
        CHECK_MESSAGE(!wrong, wrong.value_or(""));
        const Case norm_row{"norm", norm, {{{size.M, size.N}, Numbers::normal, dtype}}};
        const Question normed = question_of(norm_row, {sum.numbers(), gamma, beta});
        const auto off = difference(normed.expected[0], out.numbers(), normed.allowed[0]);
        CHECK_MESSAGE(!off, fmt::format("{}: {}", row.name, off.value_or("")));
        CHECK(sum.guards_are_intact());
        CHECK(out.guards_are_intact());

        // Over the residual, and where it fits over x: all of x has been read by then.
        const Tensor expected = out.numbers();
        product.sum = nullptr;
        for (const std::size_t over : {std::size_t{0}, std::size_t{3}}) {
          if (over == 0 && size.K < size.N) continue;
          cuda::SmallProduct in_place = product;
          in_place.out = inputs[over].operand().data;
          cuda::prepare_small_product(in_place, the_device())(stream.get());
          CHECK(std::memcmp(in_place.out, expected.data(), static_cast<std::size_t>(expected.bytes())) == 0);
          inputs[over].fill(question.inputs[over]);
        }
      }
    }
  }
  machine().cluster = clusters;
}

TEST_CASE("cuda small product: a layer of BERT-base takes eight launches at batch 1, and five with small products") {
  const auto launches = [](int layers) {
    const EncoderSize size{.B = 1,
                           .T = 128,
                           .D = 768,
                           .N = 12,
                           .H = 64,
                           .F = 3072,
                           .L = layers,
                           .dtype = DType::float16,
                           .activation = UnaryFn::gelu};
    const Graph graph = encoder(size);
    std::vector<Tensor> weights;
    for (const WeightSpec& spec : graph.weights) weights.emplace_back(spec.dtype, spec.shape);
    const std::unique_ptr<backends::Backend> backend(attn_open_backend(0));
    machine().idle = true;
    const auto before = machine().recorded;
    (void)backend->compile(plan::make_plan(backend->optimize(graph)), weights, {});
    machine().idle = false;
    return machine().recorded - before;
  };
  CHECK(launches(2) - launches(1) == 8);
  const TrialGuard trial("small-product");
  CHECK(launches(2) - launches(1) == 5);
}

TEST_CASE("cuda: a kernel that is on trial is named exactly, among others, or the names that there are are told") {
  CHECK_FALSE(cuda::is_tried("small-linear"));
  {
    const TrialGuard trial("small-product,sm90-pair");
    CHECK(cuda::is_tried("sm90-pair"));
    CHECK_FALSE(cuda::is_tried("small-linear"));
  }
  const TrialGuard trial("small-product,small");
  CHECK_THROWS_WITH_AS(
      (void)cuda::is_tried("small-product"),
      "ATTN_CUDA_TRIAL 'small': expected small-product, small-linear or sm90-pair, separated by commas", Error);
}

TEST_CASE("cuda small product: an encoder with them is near the one without") {
  for (const Dim T : {Dim{9}, Dim{100}}) {
    const EncoderSize size{.B = 1,
                           .T = T,
                           .D = 64,
                           .N = 2,
                           .H = 32,
                           .F = 128,
                           .L = 2,
                           .dtype = DType::float16,
                           .activation = UnaryFn::gelu};
    const Graph graph = encoder(size);
    const auto inputs = draw_inputs(graph);
    const auto weights = draw_weights(graph);
    const std::unique_ptr<backends::Backend> backend(attn_open_backend(0));
    const auto run = [&](int& small) {
      const auto executable = backend->compile(plan::make_plan(backend->optimize(graph)), weights, {});
      executable->run(inputs);
      small = 0;
      for (const auto& choice : executable->choices()) small += choice.kernel.starts_with("small product") ? 1 : 0;
      return executable->value(graph.outputs[0].value);
    };
    int small = 0;
    const Tensor without = run(small);
    CHECK(small == 0);
    for (const auto& [kernels, taken] : {std::pair("sm90-pair,small-product", 5), std::pair("small-linear", 4)}) {
      const TrialGuard trial(kernels);
      const Tensor with = run(small);
      // With a norm, the product and the norm both have the name. The last product is no layer's.
      CHECK(small == 2 * taken + (taken == 4 ? 1 : 0));
      double worst = 0;
      for (std::int64_t i = 0; i < with.size(); ++i) worst = std::max(worst, std::abs(with.at(i) - without.at(i)));
      CHECK(worst < 2e-3);  // probabilities of 64, of which none is near 1
    }
  }
}

}  // namespace attn::test
