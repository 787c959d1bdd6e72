// Every attention kernel against double loops, over a table of problems.
#include "attention/attention.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attn/base/rng.h"
#include "attn/base/tensor.h"
#include "device.h"
#include "runtime.h"

namespace attn::cuda {
namespace {

using graph::AttentionPath;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Broadcasts to (B, N, T, S): each axis is there or 1 long.
struct MaskCase {
  bool batch = true, heads = true, queries = true, keys = true;
  double allowed = 0.7;       ///< how many cells are true
  std::int64_t rows_off = 0;  ///< every so many queries see nothing; 0: none
};

struct Case {
  std::string name;
  std::int64_t B = 1, T = 1, S = 1, N = 1, K = 1, H = 16, V = 16;
  bool causal = false;
  std::int64_t window = 0;
  std::vector<MaskCase> masks = {};
  std::vector<std::int32_t> lengths = {};
  bool packed = false;  ///< query, key and value are parts of one (B, T, N + 2K, H)
  bool scores = false;
  double amplitude = 1.0;       ///< of the queries
  bool nan_query = false;       ///< one number of a query is NaN
  std::int64_t misaligned = 0;  ///< elements before the arrays
};

/// An array (B, rows, heads, size), its neighbours in memory NaN.
struct Heads {
  std::int64_t B, rows, heads, size;
  Tensor memory;
  HeadsView view;

  [[nodiscard]] std::int64_t offset(std::int64_t b, std::int64_t row, std::int64_t head) const {
    return (view.data - memory.data()) / bytes_of(memory.dtype()) + b * view.batch_stride + row * view.row_stride +
           head * view.head_stride;
  }
};

constexpr std::int64_t kGap = 16;  // elements between the batch entries, and after the array

Heads make_heads(const Case& row, DType dtype, std::int64_t rows, std::int64_t heads, std::int64_t size) {
  Heads result{row.B, rows, heads, size, {}, {}};
  result.view.head_stride = size;
  result.view.row_stride = heads * size;
  result.view.batch_stride = rows * heads * size + kGap;
  result.memory = Tensor(dtype, {row.misaligned + row.B * result.view.batch_stride});
  for (std::int64_t i = 0; i < result.memory.size(); ++i) {
    result.memory.set(i, std::numeric_limits<double>::quiet_NaN());
  }
  result.view.data = result.memory.data() + row.misaligned * bytes_of(dtype);
  return result;
}

void draw(const Heads& heads, const Case& row, const char* name, double amplitude) {
  RandomStream stream(1, row.name + name);
  for (std::int64_t b = 0; b < heads.B; ++b) {
    for (std::int64_t r = 0; r < heads.rows; ++r) {
      for (std::int64_t n = 0; n < heads.heads; ++n) {
        for (std::int64_t i = 0; i < heads.size; ++i) {
          heads.memory.set(heads.offset(b, r, n) + i, amplitude * stream.normal());
        }
      }
    }
  }
}

/// A problem with its memory.
struct Problem {
  AttentionProblem it;
  Heads query, key, value, context;
  Tensor scores, log_sum_exp;
  std::vector<Tensor> masks;
  std::vector<std::vector<std::int64_t>> mask_strides;
  std::vector<std::int32_t> lengths;
};

Heads part_of(const Heads& whole, std::int64_t first, std::int64_t heads) {
  Heads part = whole;
  part.heads = heads;
  part.view.data += first * whole.view.head_stride * bytes_of(whole.memory.dtype());
  return part;
}

Problem make_problem(const Case& row, DType dtype, AttentionPath path) {
  Problem problem{};
  AttentionProblem& it = problem.it;
  it.B = row.B, it.T = row.T, it.S = row.S, it.N = row.N, it.K = row.K, it.H = row.H, it.V = row.V;
  it.dtype = dtype;
  it.path = path;
  it.causal = row.causal;
  it.window = row.window;
  it.scale = row.H > 0 ? 1.0 / std::sqrt(static_cast<double>(row.H)) : 1.0;
  if (row.packed) {
    REQUIRE(row.T == row.S);
    REQUIRE(row.H == row.V);
    const Heads whole = make_heads(row, dtype, row.T, row.N + 2 * row.K, row.H);
    problem.query = part_of(whole, 0, row.N);
    problem.key = part_of(whole, row.N, row.K);
    problem.value = part_of(whole, row.N + row.K, row.K);
  } else {
    problem.query = make_heads(row, dtype, row.T, row.N, row.H);
    problem.key = make_heads(row, dtype, row.S, row.K, row.H);
    problem.value = make_heads(row, dtype, row.S, row.K, row.V);
  }
  draw(problem.query, row, "query", row.amplitude);
  draw(problem.key, row, "key", 1.0);
  draw(problem.value, row, "value", 1.0);
  if (row.nan_query) {
    problem.query.memory.set(problem.query.offset(0, row.T / 2, 0), std::numeric_limits<double>::quiet_NaN());
  }
  problem.context = make_heads(row, dtype, row.T, row.N, row.V);
  it.query = problem.query.view;
  it.key = problem.key.view;
  it.value = problem.value.view;
  it.context = problem.context.view;
  if (row.scores) {
    problem.scores = Tensor(dtype, {row.B, row.N, row.T, row.S});
    it.scores = problem.scores.data();
  }
  problem.log_sum_exp = Tensor(DType::float32, {row.B, row.N, row.T});
  it.log_sum_exp = problem.log_sum_exp.as<float>().data();

  for (const MaskCase& mask : row.masks) {
    const std::int64_t sizes[4] = {mask.batch ? row.B : 1, mask.heads ? row.N : 1, mask.queries ? row.T : 1,
                                   mask.keys ? row.S : 1};
    Tensor cells(DType::boolean, {sizes[0], sizes[1], sizes[2], sizes[3]});
    MaskView view{};
    std::int64_t stride = 1;
    for (int axis = 3; axis >= 0; --axis) {
      view.strides[axis] = sizes[axis] == 1 ? 0 : stride;
      stride *= sizes[axis];
    }
    RandomStream stream(2, fmt::format("{} mask {}", row.name, problem.masks.size()));
    for (std::int64_t i = 0; i < cells.size(); ++i) {
      const std::int64_t t = i / sizes[3] % sizes[2];
      const bool off = mask.rows_off > 0 && t % mask.rows_off == 0;
      cells.set(i, stream.uniform() < mask.allowed && !off);
    }
    view.data = cells.as<bool>().data();
    it.mask[it.masks++] = view;
    problem.masks.push_back(cells);
  }
  problem.lengths = row.lengths;
  return problem;
}

/// (B, rows, heads, size), dense.
std::vector<double> numbers(const Heads& x) {
  std::vector<double> result;
  for (std::int64_t b = 0; b < x.B; ++b) {
    for (std::int64_t r = 0; r < x.rows; ++r) {
      for (std::int64_t n = 0; n < x.heads; ++n) {
        for (std::int64_t i = 0; i < x.size; ++i) result.push_back(x.memory.at(x.offset(b, r, n) + i));
      }
    }
  }
  return result;
}

std::vector<double> numbers(const Tensor& x) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < x.size(); ++i) result.push_back(x.at(i));
  return result;
}

/// What the kernels should give, in double.
struct Expected {
  std::vector<double> context;      // (B, T, N, V)
  std::vector<double> scores;       // (B, N, T, S)
  std::vector<double> log_sum_exp;  // (B, N, T)
};

Expected compute(const Problem& problem) {
  const AttentionProblem& it = problem.it;
  const std::vector<double> query = numbers(problem.query), key = numbers(problem.key), value = numbers(problem.value);
  Expected expected;
  expected.context.resize(static_cast<std::size_t>(it.B * it.T * it.N * it.V));
  expected.scores.resize(static_cast<std::size_t>(it.B * it.N * it.T * it.S));
  for (std::int64_t b = 0; b < it.B; ++b) {
    for (std::int64_t n = 0; n < it.N; ++n) {
      for (std::int64_t t = 0; t < it.T; ++t) {
        const std::int64_t k = n / (it.N / it.K);
        const auto sees = [&](std::int64_t s) {
          bool seen = !it.causal || s <= t;
          seen = seen && (it.window == 0 || std::abs(t - s) < it.window);
          seen = seen && (problem.lengths.empty() || s < problem.lengths[static_cast<std::size_t>(b)]);
          for (int m = 0; m < it.masks; ++m) {
            const MaskView& mask = it.mask[m];
            seen = seen &&
                   mask.data[b * mask.strides[0] + n * mask.strides[1] + t * mask.strides[2] + s * mask.strides[3]];
          }
          return seen;
        };
        const double* const q = query.data() + ((b * it.T + t) * it.N + n) * it.H;
        std::vector<double> row(static_cast<std::size_t>(it.S));
        const double hidden = it.path == AttentionPath::fused ? -0.7 * double{std::numeric_limits<float>::max()}
                              : it.dtype == DType::float16    ? -3e4
                                                              : -1e9;
        double largest = -kInfinity;
        for (std::int64_t s = 0; s < it.S; ++s) {
          const double* const key_head = key.data() + ((b * it.S + s) * it.K + k) * it.H;
          double product = 0.0;
          for (std::int64_t h = 0; h < it.H; ++h) product += q[h] * key_head[h];
          row[static_cast<std::size_t>(s)] = sees(s) ? it.scale * product : hidden;
          largest = std::max(largest, row[static_cast<std::size_t>(s)]);
        }
        double sum = 0.0, seen_sum = 0.0;
        for (std::int64_t s = 0; s < it.S; ++s) {
          double& x = row[static_cast<std::size_t>(s)];
          x = std::exp(x - largest);
          sum += x;
          if (sees(s)) seen_sum += x;
        }
        expected.log_sum_exp.push_back(seen_sum == 0.0 ? -kInfinity : largest + std::log(seen_sum));
        for (std::int64_t s = 0; s < it.S; ++s) {
          double& x = row[static_cast<std::size_t>(s)];
          x = it.path == AttentionPath::explicit_ && !sees(s) ? 0.0 : x / sum;
          expected.scores[static_cast<std::size_t>(((b * it.N + n) * it.T + t) * it.S + s)] = x;
          const double* const value_head = value.data() + ((b * it.S + s) * it.K + k) * it.V;
          double* const c = expected.context.data() + ((b * it.T + t) * it.N + n) * it.V;
          for (std::int64_t v = 0; v < it.V; ++v) c[v] += x * value_head[v];
        }
      }
    }
  }
  return expected;
}

/// ‖got − expected‖ / ‖expected‖; infinite where NaN or an infinity is on one side alone.
double distance(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    if (got[i] == expected[i] && std::isinf(got[i])) continue;
    if (!std::isfinite(got[i]) || !std::isfinite(expected[i])) return kInfinity;
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return difference == 0.0 ? 0.0 : std::sqrt(difference / norm);
}

bool same_bytes(const Tensor& x, const Tensor& y) {
  return x.bytes() == y.bytes() && std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
}

Tensor copy_of(const Tensor& x) {
  Tensor copy(x.dtype(), x.shape());
  std::memcpy(copy.data(), x.data(), static_cast<std::size_t>(x.bytes()));
  return copy;
}

void poison(const Tensor& x) { std::memset(x.data(), 0xFF, static_cast<std::size_t>(x.bytes())); }

/// Half precision rounds the probabilities and the result: 2⁻⁹ and 2⁻¹² at most each, and half of it on average;
/// float32 has its own roundings in sums of a few hundred products.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return 3e-3;
    case DType::float16:
      return 5e-4;
    case DType::float32:
      return 2e-6;
    default:
      return 1e-12;
  }
}

const AttentionKernel& kernel_named(std::string_view name) {
  const auto kernels = attention_kernels();
  const auto found = std::ranges::find(kernels, name, &AttentionKernel::name);
  REQUIRE(found != kernels.end());
  return *found;
}

/// Runs the kernel on the case and holds it against the reference. False where it does not take it.
bool check_case(const AttentionKernel& kernel, const Case& row, DType dtype, AttentionPath path, int runs,
                const Device& device) {
  Problem problem = make_problem(row, dtype, path);
  if (!row.lengths.empty()) problem.it.lengths = problem.lengths.data();
  if (!kernel.why_not(problem.it, device).empty()) return false;
  const std::string name = fmt::format("{} on {} {} {}", kernel.name, row.name, name_of(dtype),
                                       path == AttentionPath::fused ? "fused" : "explicit");
  CAPTURE(name);

  const Launch launch = kernel.prepare(problem.it, device);
  Tensor context, scores, log_sum_exp;
  for (int run = 0; run < runs; ++run) {  // each with another order of what happens at the same time
    poison(problem.context.memory);
    poison(problem.log_sum_exp);
    if (row.scores) poison(problem.scores);
    launch(nullptr);
    if (run == 0) {
      context = copy_of(problem.context.memory);
      log_sum_exp = copy_of(problem.log_sum_exp);
      if (row.scores) scores = copy_of(problem.scores);
    } else {
      CHECK(same_bytes(context, problem.context.memory));
      CHECK(same_bytes(log_sum_exp, problem.log_sum_exp));
      if (row.scores) CHECK(same_bytes(scores, problem.scores));
    }
  }

  const Expected expected = compute(problem);
  const double tolerance = tolerance_of(dtype);
  // A score has the rounding of its products and sums, which large ones turn into a relative error of probabilities.
  const double wider = dtype == DType::float32 || dtype == DType::float64 ? std::max(1.0, row.amplitude / 4) : 1.0;
  CHECK(distance(numbers(problem.context), expected.context) <= tolerance * wider);
  if (row.scores) CHECK(distance(numbers(problem.scores), expected.scores) <= tolerance * wider);
  CHECK(distance(numbers(problem.log_sum_exp), expected.log_sum_exp) <= 2e-6);

  // Nothing is written beside the result.
  std::int64_t written = 0;
  for (std::int64_t i = 0; i < context.bytes(); ++i) written += context.data()[i] != std::byte{0xFF};
  CHECK(written <= row.B * row.T * row.N * row.V * bytes_of(dtype));
  return true;
}

// Sizes are one past tiles, and below and above the head sizes that kernels have code for.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {.name = "one of each"},
      {.name = "one query", .B = 2, .T = 1, .S = 130, .N = 2, .K = 2, .H = 64, .V = 64},
      {.name = "one key", .T = 130, .S = 1, .N = 2, .K = 1, .H = 64, .V = 64},
      {.name = "short", .B = 2, .T = 50, .S = 50, .N = 2, .K = 2, .H = 64, .V = 64},
      {.name = "tiles", .T = 256, .S = 256, .H = 64, .V = 64},
      {.name = "one past tiles", .T = 257, .S = 257, .H = 64, .V = 64},
      {.name = "long", .T = 140, .S = 601, .H = 64, .V = 64},
      {.name = "size 128", .T = 200, .S = 300, .N = 2, .K = 2, .H = 128, .V = 128},
      {.name = "size 256", .T = 150, .S = 193, .N = 2, .K = 1, .H = 256, .V = 256},
      {.name = "size 96", .T = 140, .S = 161, .H = 96, .V = 96},
      {.name = "size 32", .T = 140, .S = 161, .N = 2, .K = 2, .H = 32, .V = 32},
      {.name = "size 8", .T = 140, .S = 161, .H = 8, .V = 8},
      {.name = "size 24 and 40", .T = 140, .S = 161, .N = 2, .K = 2, .H = 24, .V = 40},
      {.name = "size 80 and 16", .T = 140, .S = 161, .H = 80, .V = 16},
      {.name = "size 16 and 120", .T = 140, .S = 161, .N = 2, .K = 2, .H = 16, .V = 120},
      {.name = "odd sizes", .B = 2, .T = 140, .S = 67, .N = 3, .K = 3, .H = 13, .V = 7},
      {.name = "odd sizes of two", .T = 33, .S = 67, .N = 2, .K = 1, .H = 70, .V = 66},
      {.name = "beyond 256", .T = 5, .S = 20, .N = 2, .K = 1, .H = 300, .V = 520},
      {.name = "grouped heads", .B = 2, .T = 140, .S = 90, .N = 6, .K = 2, .H = 64, .V = 64},
      {.name = "packed", .B = 2, .T = 140, .S = 140, .N = 2, .K = 2, .H = 64, .V = 64, .packed = true},
      {.name = "packed grouped",
       .B = 2,
       .T = 140,
       .S = 140,
       .N = 4,
       .K = 2,
       .H = 128,
       .V = 128,
       .causal = true,
       .packed = true},
      {.name = "misaligned", .T = 140, .S = 90, .N = 2, .K = 2, .H = 32, .V = 32, .misaligned = 3},
      {.name = "causal", .B = 2, .T = 300, .S = 300, .H = 64, .V = 64, .causal = true},
      {.name = "causal 128", .T = 400, .S = 400, .H = 128, .V = 128, .causal = true},
      {.name = "causal 256", .T = 200, .S = 200, .H = 256, .V = 256, .causal = true},
      {.name = "causal more keys", .T = 140, .S = 300, .H = 64, .V = 64, .causal = true},
      {.name = "causal more queries", .T = 300, .S = 70, .H = 64, .V = 64, .causal = true},
      {.name = "window", .T = 300, .S = 300, .H = 64, .V = 64, .window = 37},
      {.name = "window of one", .T = 140, .S = 140, .H = 64, .V = 64, .window = 1},
      {.name = "window as wide as can be", .T = 140, .S = 90, .H = 64, .V = 64, .window = INT64_MAX},
      {.name = "window, queries beyond", .T = 300, .S = 80, .N = 2, .K = 2, .H = 64, .V = 64, .window = 20},
      {.name = "causal window", .T = 300, .S = 300, .H = 64, .V = 64, .causal = true, .window = 70},
      {.name = "lengths",
       .B = 5,
       .T = 140,
       .S = 200,
       .N = 2,
       .K = 1,
       .H = 64,
       .V = 64,
       .lengths = {200, 0, 1, 128, 129}},
      {.name = "lengths 128", .B = 4, .T = 140, .S = 300, .H = 128, .V = 128, .lengths = {300, 0, 176, 300}},
      {.name = "lengths 256", .B = 3, .T = 140, .S = 150, .H = 256, .V = 256, .lengths = {0, 65, 1000}},
      {.name = "lengths causal", .B = 3, .T = 200, .S = 200, .H = 64, .V = 64, .causal = true, .lengths = {0, 70, 130}},
      {.name = "lengths window", .B = 2, .T = 140, .S = 140, .H = 32, .V = 32, .window = 30, .lengths = {50, 0}},
      {.name = "mask", .B = 2, .T = 70, .S = 90, .N = 2, .K = 2, .H = 64, .V = 64, .masks = {{}}},
      {.name = "mask of keys",
       .B = 2,
       .T = 140,
       .S = 150,
       .N = 2,
       .K = 2,
       .H = 64,
       .V = 64,
       .masks = {{true, false, false, true}}},
      {.name = "mask of queries",
       .B = 2,
       .T = 70,
       .S = 90,
       .N = 2,
       .K = 2,
       .H = 64,
       .V = 64,
       .masks = {{true, false, true, false}}},
      {.name = "mask of one cell", .T = 20, .S = 30, .H = 64, .V = 64, .masks = {{false, false, false, false, 0.0}}},
      {.name = "four masks",
       .B = 2,
       .T = 70,
       .S = 90,
       .N = 2,
       .K = 2,
       .H = 64,
       .V = 64,
       .causal = true,
       .masks = {{true, false, true, true},
                 {true, false, false, true},
                 {true, false, true, false},
                 {false, true, true, true}}},
      {.name = "rows off",
       .T = 150,
       .S = 150,
       .N = 2,
       .K = 2,
       .H = 64,
       .V = 64,
       .masks = {{false, false, true, true, 0.5, 3}}},
      {.name = "rows off causal",
       .T = 150,
       .S = 150,
       .H = 128,
       .V = 128,
       .causal = true,
       .masks = {{false, false, true, true, 0.9, 2}}},
      {.name = "rows off 256", .T = 40, .S = 90, .H = 256, .V = 200, .masks = {{false, false, true, true, 0.5, 3}}},
      {.name = "all hidden", .B = 2, .T = 40, .S = 90, .H = 64, .V = 64, .masks = {{true, false, false, true, 0.0}}},
      {.name = "scores", .B = 2, .T = 70, .S = 150, .N = 2, .K = 1, .H = 64, .V = 64, .scores = true},
      {.name = "scores odd", .T = 33, .S = 67, .N = 2, .K = 2, .H = 24, .V = 20, .scores = true},
      {.name = "scores causal", .T = 150, .S = 150, .H = 128, .V = 128, .causal = true, .scores = true},
      {.name = "scores 256", .T = 40, .S = 50, .H = 256, .V = 256, .causal = true, .scores = true},
      {.name = "scores rows off",
       .T = 70,
       .S = 90,
       .N = 2,
       .K = 2,
       .H = 32,
       .V = 32,
       .window = 30,
       .masks = {{false, false, true, true, 0.5, 3}},
       .scores = true},
      {.name = "large logits", .T = 140, .S = 150, .H = 64, .V = 64, .amplitude = 1e4},
      {.name = "NaN", .T = 140, .S = 70, .H = 64, .V = 64, .nan_query = true},
      {.name = "NaN rows off",
       .T = 40,
       .S = 70,
       .H = 64,
       .V = 64,
       .masks = {{false, false, true, true, 0.9, 4}},
       .nan_query = true},
  };
  return all;
}

/// Whether a query of the case may see nothing, for which the two paths differ.
bool may_hide_rows(const Case& row) { return !row.masks.empty() || !row.lengths.empty() || row.window > 0; }

/// Runs the kernel on all problems; how many it does not take.
int check_all(std::string_view name, std::initializer_list<DType> dtypes, int runs) {
  const AttentionKernel& kernel = kernel_named(name);
  const Device device(0);
  int left_out = 0;
  for (const Case& row : cases()) {
    for (const DType dtype : dtypes) {
      left_out += !check_case(kernel, row, dtype, AttentionPath::fused, runs, device);
      if (may_hide_rows(row)) left_out += !check_case(kernel, row, dtype, AttentionPath::explicit_, runs, device);
    }
  }
  return left_out;
}

}  // namespace

TEST_CASE("attention: the plain kernel takes every problem in every dtype") {
  CHECK(check_all("plain", {DType::float64, DType::float32, DType::float16, DType::bfloat16}, 2) == 0);
}

TEST_CASE("attention: the kernel on tensor cores takes half precision with every mask, and head sizes to 256") {
  CHECK(check_all("flash mma", {DType::float16, DType::bfloat16}, 4) == 2);
}

}  // namespace attn::cuda
