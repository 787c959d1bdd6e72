#include "muon.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/base/stop.h"
#include "number.h"

namespace attn::optimizers {
namespace {

template <typename T>
using Matrix = std::vector<T>;

/// Returns the product x (m, k) · y (k, n).
template <typename T>
Matrix<T> product(const Matrix<T>& x, const Matrix<T>& y, std::size_t m, std::size_t k, std::size_t n) {
  using Sum = Accumulator<T>;
  Matrix<T> out(m * n);
  std::vector<Sum> row(n);
  for (std::size_t i = 0; i < m; ++i) {
    throw_if_stopped();
    std::fill(row.begin(), row.end(), Sum(0));
    for (std::size_t l = 0; l < k; ++l) {
      const auto factor = static_cast<Sum>(x[i * k + l]);
      for (std::size_t j = 0; j < n; ++j) row[j] += factor * static_cast<Sum>(y[l * n + j]);
    }
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = T(row[j]);
  }
  return out;
}

template <typename T>
Matrix<T> transposed(const Matrix<T>& x, std::size_t rows, std::size_t columns) {
  Matrix<T> out(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
  return out;
}

/// Moves the singular values of x towards 1.
template <typename T>
Matrix<T> orthogonalized(const Muon& rule, Matrix<T> x, std::size_t rows, std::size_t columns) {
  const bool tall = rows > columns;
  if (tall) x = transposed(x, rows, columns);
  const std::size_t m = std::min(rows, columns), n = std::max(rows, columns);
  double sum = 0.0;
  for (const T number : x) {
    const Scalar<T> wide(static_cast<double>(number));
    sum += static_cast<double>(wide * wide);
  }
  const T size = T(static_cast<double>(square_root(Scalar<T>(sum)) + Scalar<T>(1e-7)));
  for (T& number : x) number /= size;
  const T a = T(rule.muon_a), b = T(rule.muon_b), c = T(rule.muon_c);
  for (std::int64_t step = 0; step < rule.ns_steps; ++step) {
    const Matrix<T> square = product(x, transposed(x, m, n), m, n, m);
    Matrix<T> factor = product(square, square, m, m, m);
    for (std::size_t i = 0; i < factor.size(); ++i) factor[i] = b * square[i] + c * factor[i];
    Matrix<T> next = product(factor, x, m, m, n);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] += a * x[i];
    x = std::move(next);
  }
  if (tall) return transposed(x, columns, rows);
  return x;
}

/// Returns the momentum after this step.
template <typename T>
T momentum_after(const Muon& rule, const Step<T>& step, std::int64_t i) {
  const T m = step.s[0][i];
  return m + (step.g[i] + m * T(rule.momentum - 1.0));
}

}  // namespace

template <typename T>
void muon_direction(const Muon& rule, const Step<T>& step, T* direction) {
  const auto rows = static_cast<std::size_t>((*step.shape)[0]), columns = static_cast<std::size_t>((*step.shape)[1]);
  const T momentum = T(rule.momentum);
  Matrix<T> used(static_cast<std::size_t>(step.size));
  for (std::int64_t i = 0; i < step.size; ++i) {
    const T m = momentum_after(rule, step, i);
    used[static_cast<std::size_t>(i)] = rule.nesterov ? step.g[i] + momentum * m : m;
  }
  std::ranges::copy(orthogonalized(rule, std::move(used), rows, columns), direction);
}

template <typename T>
void move_by_muon(const Muon& rule, const Step<T>& step) {
  const Dim rows = (*step.shape)[0], columns = (*step.shape)[1];
  double rate = step.rate;
  if (rule.rms_rate) rate *= std::sqrt(static_cast<double>(std::max(rows, columns))) * *rule.rms_rate;
  // The learning rate is a float32 variable, so Keras multiplies half precision by it in float32.
  using Product = Accumulator<T>;
  for (std::int64_t i = 0; i < step.size; ++i) {
    step.s[0][i] = momentum_after(rule, step, i);
    step.v[i] -= T(static_cast<Product>(rate) * static_cast<Product>(step.direction[i]));
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be parenthesized.
#define ATTN_DEFINE(T)                                           \
  template void muon_direction(const Muon&, const Step<T>&, T*); \
  template void move_by_muon(const Muon&, const Step<T>&);
// NOLINTEND(bugprone-macro-parentheses)
ATTN_DEFINE(float)
ATTN_DEFINE(double)
ATTN_DEFINE(Float16)
ATTN_DEFINE(BFloat16)
#undef ATTN_DEFINE

}  // namespace attn::optimizers
