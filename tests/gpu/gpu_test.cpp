// The CUDA backend on a real GPU. Without one every case is skipped, and the reason and the number of cases are
// printed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "attn/backends/reference.h"
#include "attn/backends/registry.h"
#include "attn/base/error.h"
#include "attn/run/session.h"
#include "attn/run/workload.h"
#include "cases.h"
#include "compare.h"
#include "fixture_cases.h"
#include "models.h"
#include "runner.h"
#include "tolerance.h"

namespace attn::test {
namespace {

/// The GPU's backend; null without a GPU, with the reason printed.
const backends::Backend* gpu(const std::string& what, std::size_t count) {
  static std::string why;
  static const std::unique_ptr<backends::Backend> backend = []() -> std::unique_ptr<backends::Backend> {
    try {
      return backends::make_backend("cuda", "").backend;
    } catch (const Error& error) {
      why = error.what();
      return nullptr;
    }
  }();
  if (!backend) fmt::print("gpu cases skipped: {} {}: {}\n", count, what, why);
  return backend.get();
}

/// Prints what runs next: the last line of the log if it hangs.
void tell(const std::string& name) {
  fmt::print("{}\n", name);
  (void)std::fflush(stdout);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

/// ‖got − expected‖ / ‖expected‖
double relative_error(const Tensor& expected, const Tensor& got) {
  double difference = 0, norm = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(got.at(i) - expected.at(i), 2);
    norm += std::pow(expected.at(i), 2);
  }
  return std::sqrt(difference / norm);
}

TEST_CASE("gpu: every operation case agrees with the reference") {
  const auto cases = forward_cases();
  const auto* backend = gpu("operation cases", cases.size());
  if (backend == nullptr) return;
  for (const Case& row : cases) {
    tell(row.name);
    const std::vector<Tensor> operands = draw(row);
    const std::vector<Tensor> expected = reference(row.op, operands);
    const auto allowed = tolerances(row, operands, expected);
    const std::vector<Tensor> got = run_on(*backend, row, operands);
    for (std::size_t o = 0; o < got.size(); ++o) {
      const auto problem = difference(expected[o], got[o], allowed[o]);
      CHECK_MESSAGE(!problem, fmt::format("{}, output {}: {}", row.name, o, problem.value_or("")));
    }
  }
}

TEST_CASE("gpu: every model computes what Keras computes") {
  const auto cases = fixture_cases();
  const auto* backend = gpu("models", cases.size());
  if (backend == nullptr) return;
  for (const auto& path : cases) {
    tell(path.string());
    CHECK_NOTHROW(check_outputs(path, *backend));
  }
}

/// Compares with float64 on rows spread over the result. 64 rows of each size suffice, since attention_test.cpp checks
/// every row of the kernel against loops; all rows would take minutes.
void check_sizes(DType dtype, double tolerance) {
  std::vector<run::AttentionSize> sizes;
  for (const std::int64_t head : {32, 64, 96, 128, 256}) {
    for (const std::int64_t length : {1, 50, 64, 127, 129, 1000}) {
      for (const bool causal : {false, true}) {
        for (const std::int64_t key_heads : {1, 4}) sizes.push_back({2, length, 4, key_heads, head, causal, dtype});
      }
    }
  }
  const auto* backend = gpu("attention sizes", sizes.size());
  if (backend == nullptr) return;
  for (const run::AttentionSize& size : sizes) {
    const std::string name = fmt::format("attention {} d{} s{} h4/{}{}", name_of(dtype), size.head_dim, size.length,
                                         size.key_heads, size.causal ? " causal" : "");
    tell(name);
    CAPTURE(name);
    const graph::Graph graph = run::attention_workload(size);
    const std::vector<Tensor> inputs = draw_inputs(graph);
    run::Session session(*backend, graph, {}, {});
    session.run(inputs);
    const Tensor first = session.outputs()[0].tensor.cast(dtype);
    CHECK(run::attention_error(size, inputs, first) <= tolerance);
    for (int repeat = 0; repeat < 20; ++repeat) {
      session.run(inputs);
      CHECK(same_bits(first, session.outputs()[0].tensor));
    }
  }
}

// Relative Frobenius norm: rounding of probabilities and of the result.
TEST_CASE("gpu: attention in float32 stays within its error at every size, and repeats bit for bit") {
  check_sizes(DType::float32, 2e-6);
}
TEST_CASE("gpu: attention in float16 stays within its error at every size, and repeats bit for bit") {
  check_sizes(DType::float16, 5e-4);
}
TEST_CASE("gpu: attention in bfloat16 stays within its error at every size, and repeats bit for bit") {
  check_sizes(DType::bfloat16, 3e-3);
}

struct Precision {
  DType dtype;
  backends::MatmulPrecision precision;
  double tolerance;
};
void check_encoder(EncoderSize size, std::initializer_list<Precision> rows) {
  const auto* backend = gpu("encoders", rows.size());
  if (backend == nullptr) return;
  for (const Precision& row : rows) {
    size.dtype = row.dtype;
    const graph::Graph graph = encoder(size);
    const auto inputs = draw_inputs(graph);
    const auto weights = draw_weights(graph);
    run::Session exact(*backends::make_reference_backend(), graph, weights, {});
    exact.run(inputs);
    backends::CompileOptions options;
    options.precision = row.precision;
    run::Session session(*backend, graph, weights, options);
    session.run(inputs);
    const Tensor first = session.outputs()[0].tensor.cast(row.dtype);
    CAPTURE(name_of(row.dtype));
    CHECK(relative_error(exact.outputs()[0].tensor, first) <= row.tolerance);
    for (int repeat = 0; repeat < 20; ++repeat) {
      session.run(inputs);
      CHECK(same_bits(first, session.outputs()[0].tensor));
    }
  }
}

using backends::MatmulPrecision;

TEST_CASE("gpu: an encoder agrees with the reference, on every precision, and repeats bit for bit") {
  check_encoder({.B = 2, .T = 50, .D = 128, .N = 4, .H = 32, .F = 512, .L = 2},
                {{DType::float32, MatmulPrecision::highest, 1e-5},
                 {DType::float32, MatmulPrecision::high, 1e-3},
                 {DType::float16, MatmulPrecision::highest, 3e-3},
                 {DType::bfloat16, MatmulPrecision::highest, 2e-2}});
}

}  // namespace
}  // namespace attn::test
