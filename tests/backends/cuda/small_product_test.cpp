// Small GEMMs with their epilogue in one kernel, whose blocks form clusters.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
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

}  // namespace

TEST_CASE("cuda small product: sums, activation and residual equal the reference for up to 128 rows") {
  const unsigned clusters = machine().cluster;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    // Into 1, 8, 1, 8, 6, 3 and 2 parts, if clusters of that size fit.
    for (const Sizes& size : {Sizes{1, 64, 64},
                              {50, 136, 600},
                              {64, 8, 8},
                              {65, 72, 1032},
                              {128, 1144, 392},
                              {30, 2304, 200},
                              {128, 3072, 136}}) {
      for (const bool rest : {false, true}) {
        const UnaryFn activation = rest ? UnaryFn::gelu : UnaryFn::linear;
        const Question question = question_of(linear(size, dtype, activation, rest, rest));
        for (const unsigned largest : {8U, 5U, 1U}) {
          machine().cluster = largest;
          CHECK(check_kernel(question, {make}, "small product") == "small product");
        }
        if (rest) check_kernel(question, {make, 0, 3}, "over the residual");
      }
    }
  }
  machine().cluster = clusters;
}

TEST_CASE("cuda small product: unsupported products are declined with the reason") {
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

TEST_CASE("cuda small product: a layer of BERT-base needs eight launches at batch 1") {
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
}

TEST_CASE("cuda small product: tuning selects it if cuBLASLt plus epilogue is slower, for all products of a kind") {
  Graph graph;
  Builder build(graph);
  Linear op;
  op.bias = true;
  op.activation.fn = UnaryFn::gelu;
  ValueId x = build.input("x", DType::float16, {9, 64});
  for (const char* name : {"a", "b"}) {
    const std::string path = name;
    x = build.apply(op, {x, build.weight({path, path, {64, 64}, DType::float16, true, {}}),
                         build.weight({path + "/bias", path + "/bias", {64}, DType::float16, true, {}})});
  }
  graph.outputs.push_back({"output_0", x});
  const auto inputs = draw_inputs(graph);
  const auto weights = draw_weights(graph);
  const std::unique_ptr<backends::Backend> backend(attn_open_backend(0));
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  const auto run = [&](bool tune) {
    backends::CompileOptions options;
    options.tune = tune;
    const auto executable = backend->compile(plan::make_plan(backend->optimize(graph)), weights, options);
    executable->run(inputs);
    std::string kernels;
    for (const auto& choice : executable->choices()) kernels += choice.kernel + "; ";
    return std::pair(kernels, executable->value(graph.outputs[0].value));
  };
  machine().slow_products = true;
  const auto [untuned, without] = run(false);
  const auto [tuned, with] = run(true);
  machine().slow_products = false;
  unsetenv("XDG_CACHE_HOME");
  CHECK(untuned == "cublaslt float16, epilogue; cublaslt float16, epilogue; ");
  CHECK(tuned == "small product; small product; ");
  for (std::int64_t i = 0; i < with.size(); ++i) {
    // Without fusion, the half-precision value between the two is rounded once more.
    CHECK(std::abs(with.at(i) - without.at(i)) <= 0x1p-8 * std::max(1.0, std::abs(without.at(i))));
  }
}

}  // namespace attn::test
