#include "rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/base/clones.h"
#include "muon.h"
#include "number.h"
#include "sums.h"

namespace attn::optimizers {

bool is_elementwise(const Rule& rule) {
  return !std::holds_alternative<Lamb>(rule) && !std::holds_alternative<Adafactor>(rule) &&
         !std::holds_alternative<Muon>(rule);
}

namespace {

// A rule is a template over the type of the variable. Its steps in float32, the common case, are compiled for several
// instruction sets.

/// The arrays of a range, which do not overlap.
#define ATTN_PART(step)                                                                                         \
  T *__restrict const v = (step).v, *__restrict const s0 = (step).s[0], *__restrict const s1 = (step).s[1],   \
                *__restrict const s2 = (step).s[2]; \
  const T* __restrict const g = (step).g, * __restrict const q = (step).q;                                      \
  const std::int64_t size = (step).size;                                                                        \
  (void)s0, (void)s1, (void)s2, (void)q

#define ATTN_RULE(Rule) \
  template <typename T> \
  [[gnu::always_inline]] inline void move(const Rule& rule, const Step<T>& step)

ATTN_RULE(SGD) {
  ATTN_PART(step);
  const T rate = T(step.rate), momentum = cast_to<T>(rule.momentum);
  if (rule.momentum == 0.0) {
    for (std::int64_t i = 0; i < size; ++i) v[i] -= rate * g[i];
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const T by = rate * g[i];
    s0[i] = momentum * s0[i] - by;
    v[i] += rule.nesterov ? momentum * s0[i] - by : s0[i];
  }
}

/// Returns 1 − beta^t.
template <typename T>
[[gnu::always_inline]] inline Scalar<T> correction_of(double beta, double t) {
  return Scalar<T>(1.0) - power_of<T>(beta, t);
}

template <typename T>
[[gnu::always_inline]] inline T adam_rate(const Moments& rule, const Step<T>& step) {
  const Scalar<T> rate(step.rate);
  return T(rate * square_root(correction_of<T>(rule.beta_2, step.t)) / correction_of<T>(rule.beta_1, step.t));
}

/// Updates the moments: m += (g − m)(1 − β₁), s += (q − s)(1 − β₂).
ATTN_RULE(Adam) {
  ATTN_PART(step);
  const T take_1 = T(1.0 - rule.beta_1), take_2 = T(1.0 - rule.beta_2), epsilon = T(rule.epsilon);
  const T alpha = adam_rate(rule, step);
  if (rule.amsgrad) {
    for (std::int64_t i = 0; i < size; ++i) {
      s0[i] += (g[i] - s0[i]) * take_1;
      s1[i] += (q[i] - s1[i]) * take_2;
      s2[i] = s1[i] > s2[i] ? s1[i] : s2[i];
      v[i] -= s0[i] * alpha / (square_root(s2[i]) + epsilon);
    }
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const T m = s0[i] + (g[i] - s0[i]) * take_1, s = s1[i] + (q[i] - s1[i]) * take_2;
    s0[i] = m;
    s1[i] = s;
    v[i] -= m * alpha / (square_root(s) + epsilon);
  }
}

ATTN_RULE(Adamax) {
  ATTN_PART(step);
  const T take = T(1.0 - rule.beta_1), keep = T(rule.beta_2), epsilon = T(rule.epsilon), rate = T(step.rate);
  const T correction = T(correction_of<T>(rule.beta_1, step.t));
  const T* const a = step.a;
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] += (g[i] - s0[i]) * take;
    s1[i] = std::max(keep * s1[i], a != nullptr ? step.a_factor * a[i] : magnitude(g[i]));
    v[i] -= rate * s0[i] / (correction * (s1[i] + epsilon));
  }
}

ATTN_RULE(Nadam) {
  ATTN_PART(step);
  using S = Scalar<T>;
  const T take_1 = T(1.0F) - cast_to<T>(rule.beta_1), take_2 = T(1.0F) - cast_to<T>(rule.beta_2);
  const S beta = S(static_cast<double>(cast_to<T>(rule.beta_1))), product = S(step.product), one = S(1.0),
          half = S(0.5);
  constexpr double kDecay = 0.96;
  const S now = beta * (one - half * power_of<T>(kDecay, step.t));
  const S next = beta * (one - half * power_of<T>(kDecay, step.t + 1.0));
  const T rate = T(step.rate), epsilon = T(rule.epsilon), correction = T(correction_of<T>(rule.beta_2, step.t));
  if constexpr (kIsHalf<T>) {
    for (std::int64_t i = 0; i < size; ++i) {
      s0[i] += (g[i] - s0[i]) * take_1;
      s1[i] += (q[i] - s1[i]) * take_2;
      const T m = next * s0[i] / (one - product * next) + (one - now) * g[i] / (one - product);
      v[i] -= m * rate / (square_root(s1[i] / correction) + epsilon);
    }
  } else {
    const T of_m = T(next / (one - product * next)), of_g = T((one - now) / (one - product));
    for (std::int64_t i = 0; i < size; ++i) {
      s0[i] += (g[i] - s0[i]) * take_1;
      s1[i] += (q[i] - s1[i]) * take_2;
      const T m = of_m * s0[i] + of_g * g[i];
      v[i] -= m * rate / (square_root(s1[i] / correction) + epsilon);
    }
  }
}

ATTN_RULE(ScheduleFreeAdamW) {
  ATTN_PART(step);
  using S = Scalar<T>;
  S rate(step.rate);
  const S t = S(step.t);
  if (rule.warmup_steps > 0) rate *= std::min(t / S(static_cast<double>(rule.warmup_steps)), S(1.0));
  const T beta = cast_to<T>(rule.beta_1), take = T(1.0F) - cast_to<T>(rule.beta_2), epsilon = cast_to<T>(rule.epsilon),
          lr = T(rate), one = T(1.0F);
  const T correction = T(correction_of<T>(rule.beta_2, step.t)), share = T(S(1.0) / t);
  for (std::int64_t i = 0; i < size; ++i) {
    s1[i] += (q[i] - s1[i]) * take;
    s0[i] -= lr * g[i] / (square_root(s1[i] / correction) + epsilon);
    // On TensorFlow, the z that the formula reads before the update is the z after it.
    const T z = s0[i], x = (v[i] - (one - beta) * z) / beta;
    const T mean = (one - share) * x + share * z;
    v[i] = (one - beta) * z + beta * mean;
  }
}

ATTN_RULE(RMSprop) {
  ATTN_PART(step);
  const T keep = T(rule.rho), take = T(1.0 - rule.rho), epsilon = T(rule.epsilon), rate = T(step.rate),
          momentum = T(rule.momentum);
  T* const m = rule.momentum > 0.0 ? s1 : nullptr;
  T* const a = !rule.centered ? nullptr : m != nullptr ? s2 : s1;
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] = keep * s0[i] + take * q[i];
    T denominator = s0[i] + epsilon;
    if (a != nullptr) {
      a[i] = keep * a[i] + take * g[i];
      denominator = s0[i] - a[i] * a[i] + epsilon;
    }
    T by = rate * g[i] / square_root(denominator);
    if (m != nullptr) by = m[i] = momentum * m[i] + by;
    v[i] -= by;
  }
}

ATTN_RULE(Adagrad) {
  ATTN_PART(step);
  const T epsilon = T(rule.epsilon), rate = T(step.rate);
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] += q[i];
    v[i] -= rate * g[i] / square_root(s0[i] + epsilon);
  }
}

ATTN_RULE(Adadelta) {
  ATTN_PART(step);
  const T keep = T(rule.rho), take = T(1.0 - rule.rho), epsilon = T(rule.epsilon), rate = T(step.rate);
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] = keep * s0[i] + take * q[i];
    const T root = square_root(s1[i] + epsilon), by = square_root(s0[i] + epsilon);
    if constexpr (kIsHalf<T>) {
      const T move = root * g[i] / by;
      s1[i] = keep * s1[i] + take * (move * move);
      v[i] -= rate * move;
    } else {
      const T ratio = root / by;
      s1[i] = keep * s1[i] + take * (ratio * ratio * q[i]);
      v[i] -= rate * (ratio * g[i]);
    }
  }
}

template <typename T>
void apply(const Ftrl& rule, const Step<T>& step) {
  ATTN_PART(step);
  using S = Scalar<T>;
  const S l2 = S(rule.l2_regularization_strength) + S(rule.beta) / (S(2.0) * S(step.rate));
  const T rate = T(step.rate), exponent = T(-rule.learning_rate_power), twice_l2 = T(S(2.0) * l2),
          shrink = T(2.0 * rule.l2_shrinkage_regularization_strength), l1 = T(rule.l1_regularization_strength);
  for (std::int64_t i = 0; i < size; ++i) {
    const T used = g[i] + shrink * v[i];
    const T after = s0[i] + q[i];
    const T root = power(after, exponent);
    s1[i] += used - (root - power(s0[i], exponent)) / rate * v[i];
    const T clipped = s1[i] > l1 ? l1 : s1[i] < -l1 ? -l1 : s1[i];
    v[i] = (clipped - s1[i]) / (root / rate + twice_l2);
    s0[i] = after;
  }
}

ATTN_RULE(Lion) {
  ATTN_PART(step);
  const T keep_1 = cast_to<T>(rule.beta_1), keep_2 = cast_to<T>(rule.beta_2), rate = T(step.rate), none = T(0.0F);
  const T take_1 = T(1.0F) - keep_1, take_2 = T(1.0F) - keep_2;
  for (std::int64_t i = 0; i < size; ++i) {
    const T c = keep_1 * s0[i] + take_1 * g[i];
    v[i] -= rate * (c > none ? T(1.0F) : c < none ? T(-1.0F) : c);  // the sign; NaN stays NaN
    s0[i] = keep_2 * s0[i] + take_2 * g[i];
  }
}

#undef ATTN_PART
#undef ATTN_RULE

template <typename Rule, typename T>
void apply(const Rule& rule, const Step<T>& step) {
  move(rule, step);
}
ATTN_CLONES void apply(const SGD& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const Adam& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const Nadam& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const ScheduleFreeAdamW& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const RMSprop& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const Adagrad& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const Adadelta& rule, const Step<float>& step) { move(rule, step); }
ATTN_CLONES void apply(const Lion& rule, const Step<float>& step) { move(rule, step); }

template <typename T>
void apply(const Lamb& rule, const Step<T>& step) {
  using S = Scalar<T>;
  const T take_1 = T(1.0 - rule.beta_1), take_2 = T(1.0 - rule.beta_2), epsilon = T(rule.epsilon);
  const T of_m = T(correction_of<T>(rule.beta_1, step.t)), of_s = T(correction_of<T>(rule.beta_2, step.t));
  std::vector<T> by(static_cast<std::size_t>(step.size));
  for (std::int64_t i = 0; i < step.size; ++i) {
    T &m = step.s[0][i], &s = step.s[1][i];
    m += (step.g[i] - m) * take_1;
    s += (step.square(i) - s) * take_2;
    by[static_cast<std::size_t>(i)] = m / of_m / (square_root(s / of_s) + epsilon);
  }
  const S weights = square_root(S(sum_of_squares(step.v, step.size)));
  const S moves = square_root(S(sum_of_squares(by.data(), step.size)));
  const S ratio = weights > S(0.0) && moves > S(0.0) ? weights / moves : S(1.0);
  const T rate = T(ratio * S(step.rate));
  for (std::int64_t i = 0; i < step.size; ++i) step.v[i] -= rate * by[static_cast<std::size_t>(i)];
}

template <typename T>
Scalar<T> root_mean_square(const T* x, std::int64_t size) {
  return square_root(Scalar<T>(sum_of_squares(x, size) / static_cast<double>(size)));
}

/// Updates the factored second moment: one average for each row and one for each column of the last two axes. The
/// product of both approximates the average of an element.
template <typename T>
void factored(const Adafactor& rule, const Step<T>& step, Scalar<T> keep) {
  using S = Scalar<T>;
  const Dim columns = step.shape->back(), rows = (*step.shape)[-2];
  T *const r = step.s[0], *const c = step.s[1], *const s = step.s[2];
  const S take = S(1.0) - keep, epsilon = S(rule.epsilon_1);
  const auto follow = [&](T& average, double mean) {
    average = T(keep * S(static_cast<double>(average)) + take * S(mean));
  };
  const std::int64_t matrices = step.size / (rows * columns);
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    const std::int64_t first = matrix * rows * columns;
    std::vector<double> of_columns(static_cast<std::size_t>(columns), 0.0);
    double mean_of_rows = 0.0;
    for (Dim row = 0; row < rows; ++row) {
      double of_row = 0.0;
      for (Dim column = 0; column < columns; ++column) {
        const S entry = S(static_cast<double>(step.square(first + row * columns + column)));
        const auto square = static_cast<double>(entry + epsilon);
        of_row += square;
        of_columns[static_cast<std::size_t>(column)] += square;
      }
      T& average = r[matrix * rows + row];
      follow(average, of_row / static_cast<double>(columns));
      mean_of_rows += static_cast<double>(average);
    }
    mean_of_rows /= static_cast<double>(rows);
    for (Dim column = 0; column < columns; ++column)
      follow(c[matrix * columns + column], of_columns[static_cast<std::size_t>(column)] / static_cast<double>(rows));
    for (Dim row = 0; row < rows; ++row) {
      const T share = T(S(static_cast<double>(r[matrix * rows + row])) / S(mean_of_rows));
      for (Dim column = 0; column < columns; ++column)
        s[first + row * columns + column] = share * c[matrix * columns + column];
    }
  }
}

template <typename T>
void apply(const Adafactor& rule, const Step<T>& step) {
  using S = Scalar<T>;
  const S t = S(step.t), rate = std::min(S(step.rate), S(1.0) / square_root(t));
  const S alpha =
      std::max(S(static_cast<double>(cast_to<T>(rule.epsilon_2))), root_mean_square(step.v, step.size)) * rate;
  const S keep = S(1.0) - power(t, S(rule.beta_2_decay));
  T* const s = step.s[2];
  if (step.shape->rank() >= 2) {
    factored(rule, step, keep);
  } else {
    for (std::int64_t i = 0; i < step.size; ++i) {
      const S square = S(static_cast<double>(step.square(i))) + S(rule.epsilon_1);
      s[i] = T(keep * S(static_cast<double>(s[i])) + (S(1.0) - keep) * square);
    }
  }
  std::vector<T> by(static_cast<std::size_t>(step.size));
  double squares = 0.0;  // Σ of squared updates; over the entries if the gradient has entries
  for (std::int64_t i = 0; i < step.size; ++i) {
    by[static_cast<std::size_t>(i)] = step.g[i] / square_root(s[i]);
    squares += static_cast<double>(step.square(i)) / static_cast<double>(s[i]);
  }
  const S size = square_root(S(squares / static_cast<double>(step.size)));
  const S most = std::max(S(1.0), size / S(rule.clip_threshold));
  if constexpr (kIsHalf<T>) {
    for (std::int64_t i = 0; i < step.size; ++i) step.v[i] -= alpha * (by[static_cast<std::size_t>(i)] / most);
  } else {
    const T factor = T(alpha / most);
    for (std::int64_t i = 0; i < step.size; ++i) step.v[i] -= factor * by[static_cast<std::size_t>(i)];
  }
}

template <typename T>
void apply(const Muon& rule, const Step<T>& step) {
  if (step.adam) {
    Step<T> adam = step;
    adam.rate *= rule.adam_lr_ratio;
    std::vector<T> squares;
    if (adam.q == nullptr) {
      for (std::int64_t i = 0; i < adam.size; ++i) squares.push_back(adam.g[i] * adam.g[i]);
      adam.q = squares.data();
    }
    return apply(Adam{{rule.adam_beta_1, rule.adam_beta_2, rule.epsilon}, false}, adam);
  }
  move_by_muon(rule, step);
}

}  // namespace

template <typename T>
void update(const Rule& rule, const Step<T>& step) {
  std::visit([&](const auto& one) { apply(one, step); }, rule);
}

template void update(const Rule&, const Step<float>&);
template void update(const Rule&, const Step<double>&);
template void update(const Rule&, const Step<Float16>&);
template void update(const Rule&, const Step<BFloat16>&);

}  // namespace attn::optimizers
