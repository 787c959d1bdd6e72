#include "attention_check.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention_cases.h"
#include "attn/base/rng.h"
#include "attn/base/tensor.h"

namespace attn::cuda {
namespace {

using graph::AttentionPath;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// An array (B, rows, heads, size), surrounded by NaN in memory.
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
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Fills in the sizes of concatenated sequences: they are rows of one batch entry.
AttentionCase with_sizes(AttentionCase row) {
  if (row.sequences.empty()) return row;
  row.B = static_cast<std::int64_t>(row.sequences.size());
  row.T = row.S = *std::ranges::max_element(row.sequences);
  return row;
}
/// Batch entries, and rows per entry, of the arrays. A few more rows follow the last sequence.
std::int64_t entries(const AttentionCase& row) { return row.sequences.empty() ? row.B : 1; }
std::int64_t rows_in_memory(const AttentionCase& row, std::int64_t rows) {
  constexpr std::int64_t kMore = 9;
  return row.sequences.empty() ? rows : std::accumulate(row.sequences.begin(), row.sequences.end(), kMore);
}

Heads make_heads(const AttentionCase& row, DType dtype, std::int64_t rows, std::int64_t heads, std::int64_t size) {
  rows = rows_in_memory(row, rows);
  Heads result{entries(row), rows, heads, size, {}, {}};
  result.view.head_stride = size;
  result.view.row_stride = heads * size;
  result.view.batch_stride = rows * heads * size + kGap;
  result.memory = Tensor(dtype, {row.misaligned + result.B * result.view.batch_stride});
  for (std::int64_t i = 0; i < result.memory.size(); ++i) {
    result.memory.set(i, kNaN);
  }
  result.view.data = result.memory.data() + row.misaligned * bytes_of(dtype);
  return result;
}

void draw(const Heads& heads, const AttentionCase& row, const char* name, double amplitude) {
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

void make_nan(const Heads& heads, std::int64_t b, std::int64_t first, std::int64_t end) {
  for (std::int64_t row = first; row < end; ++row) {
    for (std::int64_t n = 0; n < heads.heads; ++n) {
      for (std::int64_t i = 0; i < heads.size; ++i) heads.memory.set(heads.offset(b, row, n) + i, kNaN);
    }
  }
}

/// An attention problem with the arrays that it refers to.
struct Problem {
  AttentionProblem it;
  Heads query, key, value, context;
  Tensor scores, log_sum_exp;
  std::vector<Tensor> masks;
  std::vector<std::int32_t> lengths, starts;
};

Heads part_of(const Heads& whole, std::int64_t first, std::int64_t heads) {
  Heads part = whole;
  part.heads = heads;
  part.view.data += first * whole.view.head_stride * bytes_of(whole.memory.dtype());
  return part;
}

Problem make_problem(const AttentionCase& row, DType dtype, AttentionPath path) {
  Problem problem{};
  AttentionProblem& it = problem.it;
  it.B = row.B, it.T = row.T, it.S = row.S, it.N = row.N, it.K = row.K, it.H = row.H, it.V = row.V;
  it.dtype = it.key_dtype = dtype;
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
  if (row.nan_query) problem.query.memory.set(problem.query.offset(0, row.T / 2, 0), kNaN);
  if (row.nan_padding) {
    for (std::int64_t b = 0; b < row.B; ++b) {
      const std::int64_t length = row.lengths[static_cast<std::size_t>(b)];
      make_nan(problem.key, b, length, row.S);
      make_nan(problem.value, b, length, row.S);
    }
  }
  if (!row.sequences.empty()) {
    problem.starts = {0};
    for (const std::int32_t rows : row.sequences) problem.starts.push_back(problem.starts.back() + rows);
    it.rows = problem.query.rows;
  }
  if (row.nan_sequence >= 0) {
    const std::int32_t* const start = problem.starts.data() + row.nan_sequence;
    for (const Heads* one : {&problem.query, &problem.key, &problem.value}) make_nan(*one, 0, start[0], start[1]);
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

/// The expected results in double.
struct Expected {
  std::vector<double> context;      // (B, T, N, V)
  std::vector<double> scores;       // (B, N, T, S)
  std::vector<double> log_sum_exp;  // (B, N, T)
};

Expected compute(const Problem& problem) {
  const AttentionProblem& it = problem.it;
  const std::vector<double> query = numbers(problem.query), key = numbers(problem.key), value = numbers(problem.value);
  Expected expected;
  // Rows of no sequence stay NaN.
  expected.context.resize(static_cast<std::size_t>(problem.context.B * problem.context.rows * it.N * it.V), kNaN);
  if (it.scores != nullptr) expected.scores.resize(static_cast<std::size_t>(it.B * it.N * it.T * it.S));
  for (std::int64_t b = 0; b < it.B; ++b) {
    for (std::int64_t n = 0; n < it.N; ++n) {
      for (std::int64_t t = 0; t < it.T; ++t) {
        const std::int64_t k = n / (it.N / it.K);
        const auto at = static_cast<std::size_t>(b);
        const std::int64_t start = problem.starts.empty() ? 0 : problem.starts[at];
        const std::int64_t S = problem.starts.empty() ? it.S : problem.starts[at + 1] - start;
        const std::int64_t length = problem.lengths.empty() ? S : problem.lengths[at];
        if (!problem.starts.empty() && t >= S) {
          expected.log_sum_exp.push_back(kNaN);
          continue;
        }
        const std::int64_t first_row = problem.starts.empty() ? b * it.T : start;
        const std::int64_t first_key = problem.starts.empty() ? b * it.S : start;
        const auto sees = [&](std::int64_t s) {
          bool seen = !it.causal || s <= t;
          seen = seen && (it.window == 0 || std::abs(t - s) < it.window);
          seen = seen && s < length;
          for (int m = 0; m < it.masks; ++m) {
            const MaskView& mask = it.mask[m];
            seen = seen &&
                   mask.data[b * mask.strides[0] + n * mask.strides[1] + t * mask.strides[2] + s * mask.strides[3]];
          }
          return seen;
        };
        const double* const q = query.data() + ((first_row + t) * it.N + n) * it.H;
        std::vector<double> row(static_cast<std::size_t>(S));
        const double hidden = it.path == AttentionPath::fused ? -0.7 * double{std::numeric_limits<float>::max()}
                              : it.dtype == DType::float16    ? -3e4
                                                              : -1e9;
        double largest = -kInfinity;
        for (std::int64_t s = 0; s < S; ++s) {
          const double* const key_head = key.data() + ((first_key + s) * it.K + k) * it.H;
          double product = 0.0;
          for (std::int64_t h = 0; h < it.H; ++h) product += q[h] * key_head[h];
          row[static_cast<std::size_t>(s)] = sees(s) ? it.scale * product : hidden;
          largest = std::max(largest, row[static_cast<std::size_t>(s)]);
        }
        double sum = 0.0, seen_sum = 0.0;
        for (std::int64_t s = 0; s < S; ++s) {
          double& x = row[static_cast<std::size_t>(s)];
          x = std::exp(x - largest);
          sum += x;
          if (sees(s)) seen_sum += x;
        }
        expected.log_sum_exp.push_back(seen_sum == 0.0 ? -kInfinity : largest + std::log(seen_sum));
        double* const c = expected.context.data() + ((first_row + t) * it.N + n) * it.V;
        std::fill_n(c, it.V, 0.0);
        for (std::int64_t s = 0; s < S; ++s) {
          double& x = row[static_cast<std::size_t>(s)];
          x = it.path == AttentionPath::explicit_ && !sees(s) ? 0.0 : x / sum;
          if (it.scores != nullptr)
            expected.scores[static_cast<std::size_t>(((b * it.N + n) * it.T + t) * it.S + s)] = x;
          const double* const value_head = value.data() + ((first_key + s) * it.K + k) * it.V;
          if (x == 0.0 && s >= length) continue;  // NaN after a length reaches no query that sees a key
          for (std::int64_t v = 0; v < it.V; ++v) c[v] += x * value_head[v];
        }
      }
    }
  }
  return expected;
}

/// ‖got − expected‖ / ‖expected‖; infinite if only one side has a NaN or an infinity.
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

/// In half precision the probabilities and the result are rounded: at most 2⁻⁹ and 2⁻¹² each, half of that on average;
/// float32 rounds in sums of a few hundred products.
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

/// An array on the host, and its copy on the device. The copy is cut into pieces of `stride` elements (the first has
/// `lead` more) with `gap` unused elements between them.
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(const Tensor& host) : DeviceArray(host, 0, host.size(), 0) {}
  DeviceArray(const Tensor& host, std::int64_t lead, std::int64_t stride, std::int64_t gap) : host_(host) {
    const std::int64_t size = bytes_of(host.dtype());
    lead_ = lead * size, stride_ = stride * size, gap_ = gap * size;
    const std::int64_t pieces = stride == 0 ? 1 : (host.size() - lead) / stride;
    bytes_ = allocate_device(host.bytes() + (pieces - 1) * gap_);
    up();
  }

  void up() const { copy(cudaMemcpyHostToDevice); }
  void down() const { copy(cudaMemcpyDeviceToHost); }
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  /// An address in the host's array, translated to this copy.
  [[nodiscard]] std::byte* at(const std::byte* address) const { return data() + (address - host_.data()); }

 private:
  void copy(cudaMemcpyKind kind) const {
    for (std::int64_t first = 0, piece = 0; first < host_.bytes(); ++piece) {
      const std::int64_t bytes = piece == 0 ? lead_ + stride_ : stride_;
      std::byte* const here = host_.data() + first;
      std::byte* const there = data() + first + piece * gap_;
      const bool goes_up = kind == cudaMemcpyHostToDevice;
      check(cudaMemcpyAsync(goes_up ? there : here, goes_up ? here : there, static_cast<std::size_t>(bytes), kind,
                            nullptr),
            "copying a test's array");
      first += bytes;
    }
    check(cudaStreamSynchronize(nullptr), "copying a test's array");
  }

  Tensor host_;
  DeviceBytes bytes_;
  std::int64_t lead_ = 0, stride_ = 0, gap_ = 0;  // bytes
};

/// A problem's arrays on the device, and the problem with their addresses.
struct OnDevice {
  AttentionProblem it;
  DeviceArray query, key, value, context, scores, log_sum_exp, lengths, starts;
  std::vector<DeviceArray> masks;
};

template <typename T>
Tensor tensor_of(const std::vector<T>& numbers) {
  Tensor result(DType::int32, {static_cast<std::int64_t>(numbers.size())});
  std::ranges::copy(numbers, result.as<std::int32_t>().data());
  return result;
}

OnDevice on_device(const Problem& problem, const AttentionCase& row) {
  OnDevice result;
  result.it = problem.it;
  const auto heads = [&](const Heads& host, HeadsView& view, DeviceArray& array) {
    array = DeviceArray(host.memory, row.misaligned, host.view.batch_stride, row.batch_gap);
    view.data = array.at(host.view.data);
    view.batch_stride += row.batch_gap;
  };
  heads(problem.query, result.it.query, result.query);
  heads(problem.key, result.it.key, result.key);
  heads(problem.value, result.it.value, result.value);
  heads(problem.context, result.it.context, result.context);
  if (row.scores) {
    result.scores = DeviceArray(problem.scores);
    result.it.scores = result.scores.data();
  }
  result.log_sum_exp = DeviceArray(problem.log_sum_exp);
  result.it.log_sum_exp = reinterpret_cast<float*>(result.log_sum_exp.data());
  for (std::size_t m = 0; m < problem.masks.size(); ++m) {
    result.masks.emplace_back(problem.masks[m]);
    result.it.mask[m].data = reinterpret_cast<const bool*>(result.masks[m].data());
  }
  if (!problem.lengths.empty()) {
    result.lengths = DeviceArray(tensor_of(problem.lengths));
    result.it.lengths = reinterpret_cast<const std::int32_t*>(result.lengths.data());
  }
  if (!problem.starts.empty()) {
    result.starts = DeviceArray(tensor_of(problem.starts));
    result.it.starts = reinterpret_cast<const std::int32_t*>(result.starts.data());
  }
  return result;
}

/// Whether a query of the case may see nothing, in which the two paths differ.
bool may_hide_rows(const AttentionCase& row) { return !row.masks.empty() || !row.lengths.empty() || row.window > 0; }

/// Runs the kernel on the case and compares it with the reference. Returns false if the kernel declines.
bool check_case(const AttentionKernel& kernel, const AttentionCase& given, DType dtype, AttentionPath path, int runs,
                const Device& device, bool tells) {
  const AttentionCase row = with_sizes(given);
  const Problem problem = make_problem(row, dtype, path);
  const OnDevice there = on_device(problem, row);
  if (!kernel.why_not(there.it, device).empty()) return false;
  const std::string name = fmt::format("{} on {} {} {}", kernel.name, row.name, name_of(dtype),
                                       path == AttentionPath::fused ? "fused" : "explicit");
  CAPTURE(name);
  if (tells) {
    fmt::print("{}\n", name);
    (void)std::fflush(stdout);
  }

  const Launch launch = kernel.prepare(there.it, device);
  Tensor context, scores, log_sum_exp;
  for (int run = 0; run < runs; ++run) {  // each run has another interleaving of concurrent work
    const auto before = [](const Tensor& host, const DeviceArray& array) {
      poison(host);
      array.up();
    };
    before(problem.context.memory, there.context);
    before(problem.log_sum_exp, there.log_sum_exp);
    if (row.scores) before(problem.scores, there.scores);
    launch(nullptr);
    check(cudaStreamSynchronize(nullptr), "running attention");
    there.context.down();
    there.log_sum_exp.down();
    if (row.scores) there.scores.down();
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
  // A score has the rounding of its products and sums, which large ones turn into a relative error of probabilities. In
  // half precision large scores leave few keys with a weight, so the roundings of a probability and of the result, half
  // a step each, do not average out.
  const bool is_half = dtype == DType::float16 || dtype == DType::bfloat16;
  const double wider = is_half ? (row.amplitude > 4 ? 2.0 : 1.0) : std::max(1.0, row.amplitude / 4);
  CHECK(distance(numbers(problem.context), expected.context) <= tolerance * wider);
  if (row.scores) CHECK(distance(numbers(problem.scores), expected.scores) <= tolerance * wider);
  CHECK(distance(numbers(problem.log_sum_exp), expected.log_sum_exp) <= 2e-6);

  // Nothing outside the result is written.
  const std::int64_t rows = row.sequences.empty() ? row.B * row.T : problem.starts.back();
  std::int64_t written = 0;
  for (std::int64_t i = 0; i < context.bytes(); ++i) written += context.data()[i] != std::byte{0xFF};
  CHECK(written <= rows * row.N * row.V * bytes_of(dtype));
  return true;
}

}  // namespace

AttentionCount check_attention(std::string_view name, std::initializer_list<DType> dtypes, const AttentionCheck& how,
                               const Device& device) {
  const AttentionKernel& kernel = kernel_named(name);
  const bool is_brief = std::getenv("ATTN_TEST_BRIEF") != nullptr;  // under compute-sanitizer
  AttentionCount count;
  std::size_t turn = 0;
  for (const AttentionCase& row : attention_cases()) {
    if (row.heavy && (is_brief || !how.heavy)) continue;
    if (row.crowded && !how.crowded) continue;
    const DType last = *std::prev(dtypes.end()), one = *(dtypes.begin() + turn++ % dtypes.size());
    for (const DType dtype : dtypes) {
      if ((is_brief || row.heavy) ? dtype != last : how.on_problems == Dtypes::in_turn && dtype != one) continue;
      const int often = is_brief || row.heavy ? 1 : how.runs;
      for (const AttentionPath path : {AttentionPath::fused, AttentionPath::explicit_}) {
        if (path == AttentionPath::explicit_ && !may_hide_rows(row)) continue;
        const bool taken = check_case(kernel, row, dtype, path, often, device, how.tells);
        ++(taken ? count.taken : count.declined);
      }
    }
  }
  return count;
}

}  // namespace attn::cuda
