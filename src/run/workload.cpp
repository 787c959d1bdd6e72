#include "attn/run/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attn/base/rng.h"

namespace attn::run {

graph::Graph attention_workload(const AttentionSize& size) {
  graph::Graph graph;
  graph.name = "attention";
  graph::Builder build(graph);
  const Shape queries{size.batch, size.length, size.heads, size.head_dim};
  const Shape keys{size.batch, size.length, size.key_heads, size.head_dim};
  graph::Attention attention;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(size.head_dim));
  attention.causal = size.causal;
  const graph::ValueId query = build.input("query", size.dtype, queries);
  const graph::ValueId key = build.input("key", size.dtype, keys);
  const graph::ValueId value = build.input("value", size.dtype, keys);
  graph.outputs.push_back({"output_0", build.apply(attention, {query, key, value})});
  return graph;
}

double attention_flops(const AttentionSize& size) {
  const auto length = static_cast<double>(size.length);
  const double pairs = size.causal ? length * (length + 1) / 2 : length * length;
  return 4.0 * static_cast<double>(size.batch * size.heads * size.head_dim) * pairs;
}

double attention_error(const AttentionSize& size, std::span<const Tensor> inputs, const Tensor& got,
                       std::int64_t rows) {
  const std::int64_t N = size.heads, K = size.key_heads, S = size.length, H = size.head_dim;
  const std::int64_t all = size.batch * S * N;
  const std::int64_t count = std::min(rows, all);
  const double scale = 1.0 / std::sqrt(static_cast<double>(H));
  double difference = 0, norm = 0;
  std::vector<double> scores(static_cast<std::size_t>(S)), exact(static_cast<std::size_t>(H));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = count > 1 ? i * (all - 1) / (count - 1) : 0;  // (b·S + t)·N + n
    const std::int64_t n = row % N, t = row / N % S, b = row / N / S, k = n / (N / K);
    const std::int64_t seen = size.causal ? t + 1 : S;
    const auto at = [&](std::int64_t s) { return ((b * S + s) * K + k) * H; };
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t s = 0; s < seen; ++s) {
      double product = 0;
      for (std::int64_t h = 0; h < H; ++h) product += inputs[0].at(row * H + h) * inputs[1].at(at(s) + h);
      scores[static_cast<std::size_t>(s)] = scale * product;
      largest = std::max(largest, scale * product);
    }
    std::fill(exact.begin(), exact.end(), 0.0);
    for (std::int64_t s = 0; s < seen; ++s) {
      const double weight = std::exp(scores[static_cast<std::size_t>(s)] - largest);
      sum += weight;
      for (std::int64_t h = 0; h < H; ++h) exact[static_cast<std::size_t>(h)] += weight * inputs[2].at(at(s) + h);
    }
    for (std::int64_t h = 0; h < H; ++h) {
      const double wanted = exact[static_cast<std::size_t>(h)] / sum;
      difference += std::pow(got.at(row * H + h) - wanted, 2);
      norm += wanted * wanted;
    }
  }
  return std::sqrt(difference / norm);
}

graph::Graph product_workload(const ProductSize& size, DType dtype) {
  graph::Graph graph;
  graph.name = "product";
  graph::Builder build(graph);
  const bool of_bytes = dtype == DType::int8;
  const graph::ValueId x = build.input("x", of_bytes ? DType::float32 : dtype, {size.rows, size.depth});
  const graph::ValueId w = build.weight({"w", "w", {size.depth, size.width}, dtype, true, {}});
  if (of_bytes) {
    graph::QuantizedLinear op;
    op.units = {size.width};
    op.inputs = graph::IntegerRange{};
    const graph::ValueId scale = build.weight({"scale", "scale", {size.width}, DType::float32, true, {}});
    graph.outputs.push_back({"output_0", build.apply(op, {x, w, scale})});
  } else {
    graph.outputs.push_back({"output_0", build.apply(graph::Linear{}, {x, w})});
  }
  return graph;
}

graph::Graph addition_workload(std::int64_t n, int pieces) {
  graph::Graph graph;
  graph.name = "addition";
  graph::Builder build(graph);
  for (int i = 0; i < pieces; ++i) {
    const graph::ValueId x = build.input("x_" + std::to_string(i), DType::float32, {n});
    const graph::ValueId y = build.input("y_" + std::to_string(i), DType::float32, {n});
    graph.outputs.push_back({"output_" + std::to_string(i), build.apply(graph::Binary{graph::BinaryFn::add}, {x, y})});
  }
  return graph;
}

graph::Graph sum_workload(std::int64_t n, int pieces) {
  constexpr std::int64_t kRow = 1024;
  graph::Graph graph;
  graph.name = "sum";
  graph::Builder build(graph);
  for (int i = 0; i < pieces; ++i) {
    const graph::ValueId x =
        build.input("x_" + std::to_string(i), DType::float32, {std::max<std::int64_t>(1, n / kRow), kRow});
    graph.outputs.push_back(
        {"output_" + std::to_string(i), build.apply(graph::Reduce{graph::ReduceFn::sum, {1}, false}, {x})});
  }
  return graph;
}

namespace {

Tensor drawn(DType dtype, const Shape& shape, const std::string& name, std::uint64_t seed) {
  constexpr std::int64_t kDrawn = 1048573;  // a prime, so that no axis repeats in phase with it
  Tensor tensor(dtype, shape);
  RandomStream random(seed, name);
  const double size = dtype == DType::int8 ? 32.0 : 1.0;
  const std::int64_t drawn = std::min(kDrawn, tensor.size());
  for (std::int64_t i = 0; i < drawn; ++i) {
    const double number = size * random.normal();
    tensor.set(i, dtype == DType::int8 ? std::clamp(std::round(number), -127.0, 127.0) : number);
  }
  for (std::int64_t done = drawn * bytes_of(dtype); done < tensor.bytes();) {
    const std::int64_t bytes = std::min(drawn * bytes_of(dtype), tensor.bytes() - done);
    std::memcpy(tensor.data() + done, tensor.data(), static_cast<std::size_t>(bytes));
    done += bytes;
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> workload_inputs(const graph::Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    inputs.push_back(drawn(value.dtype, value.shape, value.name, seed));
  }
  return inputs;
}

std::vector<Tensor> workload_weights(const graph::Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> weights;
  for (const auto& spec : graph.weights) weights.push_back(drawn(spec.dtype, spec.shape, spec.path, seed));
  return weights;
}

}  // namespace attn::run
