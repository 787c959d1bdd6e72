// Softmax and related functions, jointly over one or several axes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

using Scores = std::vector<double>;

/// eˣ / Σ eˣ, shifted by the maximum to avoid overflow. A NaN, or a row of −∞, makes the whole row
/// NaN.
void softmax(Scores& row) {
  const double maximum = *std::ranges::max_element(row);
  double sum = 0.0;
  for (double& x : row) sum += x = std::exp(x - maximum);
  for (double& x : row) x /= sum;
}

void log_softmax(Scores& row) {
  const double maximum = *std::ranges::max_element(row);
  double sum = 0.0;
  for (const double x : row) sum += std::exp(x - maximum);
  const double log_sum = std::log(sum);
  for (double& x : row) x = x - maximum - log_sum;
}

/// Computes max(x − τ, 0) with Keras's τ = (Σ c_j − 1)/k over the k largest elements in the support, where c_j is the
/// sum of the j largest. (Martins & Astudillo 2016 have c_k in place of the sum; Keras 3's backends all add them up.)
void sparsemax(Scores& row) {
  Scores sorted = row;
  std::ranges::sort(sorted, std::greater{});
  double sum = 0.0, support_sum = 0.0, support = 0.0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    if (sorted[i] - (sum - 1.0) / static_cast<double>(i + 1) > 0.0) {
      support_sum += sum;
      support += 1.0;
    }
  }
  const double tau = (support_sum - 1.0) / support;
  for (double& x : row) x = std::max(x - tau, 0.0);
}

}  // namespace

void compute(const graph::Softmax& op, Tensors in, Tensors out) {
  auto numbers = read<double>(in[0]);
  const Slices rows = slices(in[0].shape(), op.axes);
  if (rows.along.empty()) return;
  Scores row(rows.along.size());
  for (const std::int64_t start : rows.starts) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = numbers[static_cast<std::size_t>(start + rows.along[j])];
    const bool has_nan = std::ranges::any_of(row, [](double x) { return std::isnan(x); });
    if (has_nan) {
      std::ranges::fill(row, std::numeric_limits<double>::quiet_NaN());
    } else {
      switch (op.kind) {
        case graph::SoftmaxKind::softmax:
          softmax(row);
          break;
        case graph::SoftmaxKind::log_softmax:
          log_softmax(row);
          break;
        case graph::SoftmaxKind::sparsemax:
          sparsemax(row);
          break;
      }
    }
    for (std::size_t j = 0; j < row.size(); ++j) numbers[static_cast<std::size_t>(start + rows.along[j])] = row[j];
  }
  write(out[0], numbers);
}

}  // namespace attn::backends::reference
