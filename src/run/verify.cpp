#include "attn/run/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/backends/registry.h"
#include "attn/run/session.h"

namespace attn::run {
namespace {

/// Returns half a unit in the last place of 1, for the dtype.
double roundoff(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return std::ldexp(1.0, -11);
    case DType::bfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -24);  // also for float64, because Keras's constants are float32
  }
}

/// Returns the coarsest rounding error in the graph.
double roundoff(const graph::Graph& graph, backends::MatmulPrecision precision) {
  double largest = 0;
  for (const graph::Value& value : graph.values)
    if (is_floating(value.dtype)) largest = std::max(largest, roundoff(value.dtype));
  if (precision == backends::MatmulPrecision::high) largest = std::max(largest, std::ldexp(1.0, -11));
  if (precision == backends::MatmulPrecision::medium) largest = std::max(largest, roundoff(DType::bfloat16));
  return largest;
}

Verification compared(std::string against, const std::vector<NamedTensor>& expected,
                      const std::vector<NamedTensor>& got, double tolerance) {
  Verification out{std::move(against), 0, tolerance, expected.size() == got.size()};
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const double error = relative_error(expected[i].tensor, got[i].tensor);
    if (!(error <= out.error)) out.error = error;
    out.pass = out.pass && error <= tolerance;
  }
  return out;
}

}  // namespace

double relative_error(const Tensor& expected, const Tensor& got) {
  if (expected.shape() != got.shape()) return std::numeric_limits<double>::infinity();
  // Below the smallest normal number, float32 loses digits.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  double difference = 0, norm = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.at(i), g = got.at(i);
    if (e == g || (std::isnan(e) && std::isnan(g))) {
      if (std::isfinite(e)) norm += e * e;
      continue;
    }
    if (!(std::abs(g - e) < kSmallest)) difference += (g - e) * (g - e);
    norm += e * e;
  }
  if (difference == 0) return 0;
  return norm > 0 ? std::sqrt(difference / norm) : std::numeric_limits<double>::infinity();
}

Verification verify(graph::Graph graph, const std::vector<Tensor>& weights, std::span<const Tensor> inputs,
                    const std::vector<NamedTensor>& outputs, backends::MatmulPrecision precision) {
  const double tolerance = 256 * roundoff(graph, precision);
  const auto reference = backends::make_backend("cpu", "reference").backend;
  Session session(*reference, std::move(graph), weights, {});
  session.run(inputs);
  return compared("reference", session.outputs(), outputs, tolerance);
}

Verification verify_against(std::string against, const graph::Graph& graph, const Tensor& expected, const Tensor& got,
                            backends::MatmulPrecision precision) {
  return compared(std::move(against), {{"", expected}}, {{"", got}}, 256 * roundoff(graph, precision));
}

Verification verify_repeat(const std::vector<NamedTensor>& first, const std::vector<NamedTensor>& last) {
  return compared("first pass", first, last, 0);
}

}  // namespace attn::run
