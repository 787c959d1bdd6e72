#include "muon.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn::optimizers {
namespace {

using Matrix = std::vector<float>;

/// x (m, k) · y (k, n)
Matrix product(const Matrix& x, const Matrix& y, std::size_t m, std::size_t k, std::size_t n) {
  Matrix out(m * n, 0.0F);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t l = 0; l < k; ++l) {
      const float factor = x[i * k + l];
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] += factor * y[l * n + j];
    }
  return out;
}

Matrix transposed(const Matrix& x, std::size_t rows, std::size_t columns) {
  Matrix out(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
  return out;
}

/// Singular values of x go towards 1.
Matrix orthogonalized(const Muon& rule, Matrix x, std::size_t rows, std::size_t columns) {
  const bool tall = rows > columns;
  if (tall) x = transposed(x, rows, columns);
  const std::size_t m = std::min(rows, columns), n = std::max(rows, columns);
  double sum = 0.0;
  for (const float number : x) sum += static_cast<double>(number) * static_cast<double>(number);
  const auto size = static_cast<float>(std::sqrt(sum) + 1e-7);
  for (float& number : x) number /= size;
  const auto a = static_cast<float>(rule.muon_a), b = static_cast<float>(rule.muon_b),
             c = static_cast<float>(rule.muon_c);
  for (std::int64_t step = 0; step < rule.ns_steps; ++step) {
    const Matrix square = product(x, transposed(x, m, n), m, n, m);
    Matrix factor = product(square, square, m, m, m);
    for (std::size_t i = 0; i < factor.size(); ++i) factor[i] = b * square[i] + c * factor[i];
    Matrix next = product(factor, x, m, m, n);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] += a * x[i];
    x = std::move(next);
  }
  return tall ? transposed(x, columns, rows) : x;
}

}  // namespace

void move_by_muon(const Muon& rule, const Step& step) {
  const auto rows = static_cast<std::size_t>((*step.shape)[0]), columns = static_cast<std::size_t>((*step.shape)[1]);
  const auto momentum = static_cast<float>(rule.momentum), less = static_cast<float>(rule.momentum - 1.0);
  Matrix used(static_cast<std::size_t>(step.size));
  for (std::int64_t i = 0; i < step.size; ++i) {
    float& m = step.s[0][i];
    m += step.g[i] + m * less;
    used[static_cast<std::size_t>(i)] = rule.nesterov ? step.g[i] + momentum * m : m;
  }
  const Matrix move = orthogonalized(rule, std::move(used), rows, columns);
  double rate = step.rate;
  if (rule.rms_rate) rate *= std::sqrt(static_cast<double>(std::max(rows, columns))) * *rule.rms_rate;
  for (std::int64_t i = 0; i < step.size; ++i)
    step.v[i] -= static_cast<float>(rate) * move[static_cast<std::size_t>(i)];
}

}  // namespace attn::optimizers
