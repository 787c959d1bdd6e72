#include "rules.h"

#include <algorithm>
#include <cmath>

#include "attn/base/clones.h"
#include "muon.h"
#include "sums.h"

namespace attn::optimizers {

double power_of_float(double base, double t) { return std::pow(static_cast<double>(static_cast<float>(base)), t); }

bool is_elementwise(const Rule& rule) {
  return !std::holds_alternative<Lamb>(rule) && !std::holds_alternative<Adafactor>(rule) &&
         !std::holds_alternative<Muon>(rule);
}

namespace {

float f(double x) { return static_cast<float>(x); }

/// The arrays of a part, which do not overlap.
#define ATTN_PART(step)                                                                                           \
  float *__restrict const v = (step).v, *__restrict const s0 = (step).s[0], *__restrict const s1 = (step).s[1], \
                    *__restrict const s2 = (step).s[2]; \
  const float* __restrict const g = (step).g, * __restrict const q = (step).q;                                    \
  const std::int64_t size = (step).size;                                                                          \
  (void)s0, (void)s1, (void)s2, (void)q

ATTN_CLONES void apply(const SGD& rule, const Step& step) {
  ATTN_PART(step);
  const float rate = f(step.rate), momentum = f(rule.momentum);
  if (rule.momentum == 0.0) {
    for (std::int64_t i = 0; i < size; ++i) v[i] -= rate * g[i];
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const float move = rate * g[i];
    s0[i] = momentum * s0[i] - move;
    v[i] += rule.nesterov ? momentum * s0[i] - move : s0[i];
  }
}

float adam_rate(double rate, double beta_1, double beta_2, double t) {
  return f(rate * std::sqrt(1.0 - power_of_float(beta_2, t)) / (1.0 - power_of_float(beta_1, t)));
}

/// m += (g − m)(1 − β₁), s += (q − s)(1 − β₂)
ATTN_CLONES void apply(const Adam& rule, const Step& step) {
  ATTN_PART(step);
  const float take_1 = f(1.0 - rule.beta_1), take_2 = f(1.0 - rule.beta_2), epsilon = f(rule.epsilon);
  const float alpha = adam_rate(step.rate, rule.beta_1, rule.beta_2, step.t);
  if (rule.amsgrad) {
    for (std::int64_t i = 0; i < size; ++i) {
      s0[i] += (g[i] - s0[i]) * take_1;
      s1[i] += (q[i] - s1[i]) * take_2;
      s2[i] = s1[i] > s2[i] ? s1[i] : s2[i];
      v[i] -= s0[i] * alpha / (std::sqrt(s2[i]) + epsilon);
    }
    return;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const float m = s0[i] + (g[i] - s0[i]) * take_1, s = s1[i] + (q[i] - s1[i]) * take_2;
    s0[i] = m;
    s1[i] = s;
    v[i] -= m * alpha / (std::sqrt(s) + epsilon);
  }
}

void apply(const Adamax& rule, const Step& step) {
  ATTN_PART(step);
  const float take = f(1.0 - rule.beta_1), keep = f(rule.beta_2), epsilon = f(rule.epsilon), rate = f(step.rate);
  const float correction = f(1.0 - power_of_float(rule.beta_1, step.t));
  const auto move = [&](const auto& magnitude) {
    for (std::int64_t i = 0; i < size; ++i) {
      s0[i] += (g[i] - s0[i]) * take;
      s1[i] = std::max(keep * s1[i], magnitude(i));
      v[i] -= rate * s0[i] / (correction * (s1[i] + epsilon));
    }
  };
  if (const float* const a = step.a; a != nullptr) {
    move([&](std::int64_t i) { return step.a_factor * a[i]; });
  } else {
    move([&](std::int64_t i) { return std::abs(g[i]); });
  }
}

ATTN_CLONES void apply(const Nadam& rule, const Step& step) {
  ATTN_PART(step);
  const float take_1 = f(1.0 - f(rule.beta_1)), take_2 = f(1.0 - f(rule.beta_2));
  const double beta = f(rule.beta_1);
  const double now = beta * (1.0 - 0.5 * power_of_float(0.96, step.t));
  const double next = beta * (1.0 - 0.5 * power_of_float(0.96, step.t + 1.0));
  const float of_m = f(next / (1.0 - step.product * next)), of_g = f((1.0 - now) / (1.0 - step.product));
  const float correction = f(1.0 - power_of_float(rule.beta_2, step.t)), rate = f(step.rate), epsilon = f(rule.epsilon);
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] += (g[i] - s0[i]) * take_1;
    s1[i] += (q[i] - s1[i]) * take_2;
    const float m = of_m * s0[i] + of_g * g[i];
    v[i] -= m * rate / (std::sqrt(s1[i] / correction) + epsilon);
  }
}

ATTN_CLONES void apply(const ScheduleFreeAdamW& rule, const Step& step) {
  ATTN_PART(step);
  double rate = step.rate;
  if (rule.warmup_steps > 0) rate *= std::min(step.t / static_cast<double>(rule.warmup_steps), 1.0);
  const float beta = f(rule.beta_1), take = f(1.0 - f(rule.beta_2)), epsilon = f(rule.epsilon), lr = f(rate);
  const float correction = f(1.0 - power_of_float(rule.beta_2, step.t)), share = f(1.0 / step.t);
  for (std::int64_t i = 0; i < size; ++i) {
    s1[i] += (q[i] - s1[i]) * take;
    s0[i] -= lr * g[i] / (std::sqrt(s1[i] / correction) + epsilon);
    // On TensorFlow what the formula calls z before the step is z after it.
    const float z = s0[i], x = (v[i] - (1.0F - beta) * z) / beta;
    const float mean = (1.0F - share) * x + share * z;
    v[i] = (1.0F - beta) * z + beta * mean;
  }
}

ATTN_CLONES void apply(const RMSprop& rule, const Step& step) {
  ATTN_PART(step);
  const float keep = f(rule.rho), take = f(1.0 - rule.rho), epsilon = f(rule.epsilon), rate = f(step.rate),
              momentum = f(rule.momentum);
  float* const m = rule.momentum > 0.0 ? s1 : nullptr;
  float* const a = !rule.centered ? nullptr : m != nullptr ? s2 : s1;
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] = keep * s0[i] + take * q[i];
    float denominator = s0[i] + epsilon;
    if (a != nullptr) {
      a[i] = keep * a[i] + take * g[i];
      denominator = s0[i] - a[i] * a[i] + epsilon;
    }
    float move = rate * g[i] / std::sqrt(denominator);
    if (m != nullptr) move = m[i] = momentum * m[i] + move;
    v[i] -= move;
  }
}

ATTN_CLONES void apply(const Adagrad& rule, const Step& step) {
  ATTN_PART(step);
  const float epsilon = f(rule.epsilon), rate = f(step.rate);
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] += q[i];
    v[i] -= rate * g[i] / std::sqrt(s0[i] + epsilon);
  }
}

ATTN_CLONES void apply(const Adadelta& rule, const Step& step) {
  ATTN_PART(step);
  const float keep = f(rule.rho), take = f(1.0 - rule.rho), epsilon = f(rule.epsilon), rate = f(step.rate);
  for (std::int64_t i = 0; i < size; ++i) {
    s0[i] = keep * s0[i] + take * q[i];
    const float ratio = std::sqrt(s1[i] + epsilon) / std::sqrt(s0[i] + epsilon);
    s1[i] = keep * s1[i] + take * (ratio * ratio * q[i]);
    v[i] -= rate * (ratio * g[i]);
  }
}

void apply(const Ftrl& rule, const Step& step) {
  ATTN_PART(step);
  const double l2 = rule.l2_regularization_strength + rule.beta / (2.0 * step.rate);
  const float rate = f(step.rate), power = f(-rule.learning_rate_power), twice_l2 = f(2.0 * l2),
              shrink = f(2.0 * rule.l2_shrinkage_regularization_strength), l1 = f(rule.l1_regularization_strength);
  for (std::int64_t i = 0; i < size; ++i) {
    const float used = g[i] + shrink * v[i];
    const float after = s0[i] + q[i];
    const float root = std::pow(after, power);
    s1[i] += used - (root - std::pow(s0[i], power)) / rate * v[i];
    v[i] = (std::clamp(s1[i], -l1, l1) - s1[i]) / (root / rate + twice_l2);
    s0[i] = after;
  }
}

ATTN_CLONES void apply(const Lion& rule, const Step& step) {
  ATTN_PART(step);
  const float keep_1 = f(rule.beta_1), take_1 = f(1.0 - rule.beta_1), keep_2 = f(rule.beta_2),
              take_2 = f(1.0 - rule.beta_2), rate = f(step.rate);
  for (std::int64_t i = 0; i < size; ++i) {
    const float c = keep_1 * s0[i] + take_1 * g[i];
    v[i] -= rate * (c > 0.0F ? 1.0F : c < 0.0F ? -1.0F : c);  // the sign, and NaN stays
    s0[i] = keep_2 * s0[i] + take_2 * g[i];
  }
}

#undef ATTN_PART

void apply(const Lamb& rule, const Step& step) {
  const float take_1 = f(1.0 - rule.beta_1), take_2 = f(1.0 - rule.beta_2), epsilon = f(rule.epsilon);
  const float of_m = f(1.0 - power_of_float(rule.beta_1, step.t)), of_s = f(1.0 - power_of_float(rule.beta_2, step.t));
  std::vector<float> move(static_cast<std::size_t>(step.size));
  for (std::int64_t i = 0; i < step.size; ++i) {
    float &m = step.s[0][i], &s = step.s[1][i];
    m += (step.g[i] - m) * take_1;
    s += (step.square(i) - s) * take_2;
    move[static_cast<std::size_t>(i)] = m / of_m / (std::sqrt(s / of_s) + epsilon);
  }
  const double weights = std::sqrt(sum_of_squares(step.v, step.size));
  const double moves = std::sqrt(sum_of_squares(move.data(), step.size));
  const float rate = f((weights > 0.0 && moves > 0.0 ? weights / moves : 1.0) * step.rate);
  for (std::int64_t i = 0; i < step.size; ++i) step.v[i] -= rate * move[static_cast<std::size_t>(i)];
}

double root_mean_square(const float* x, std::int64_t size) {
  return std::sqrt(sum_of_squares(x, size) / static_cast<double>(size));
}

/// Rows and columns of the last two axes have an average each, whose product stands for that of each element.
void factored(const Adafactor& rule, const Step& step, double keep) {
  const Dim columns = step.shape->back(), rows = (*step.shape)[-2];
  float *const r = step.s[0], *const c = step.s[1], *const s = step.s[2];
  const std::int64_t matrices = step.size / (rows * columns);
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    const std::int64_t first = matrix * rows * columns;
    std::vector<double> of_columns(static_cast<std::size_t>(columns), 0.0);
    double mean_of_rows = 0.0;
    for (Dim row = 0; row < rows; ++row) {
      double of_row = 0.0;
      for (Dim column = 0; column < columns; ++column) {
        const double square = step.square(first + row * columns + column) + rule.epsilon_1;
        of_row += square;
        of_columns[static_cast<std::size_t>(column)] += square;
      }
      float& average = r[matrix * rows + row];
      average = f(keep * average + (1.0 - keep) * of_row / static_cast<double>(columns));
      mean_of_rows += average;
    }
    mean_of_rows /= static_cast<double>(rows);
    for (Dim column = 0; column < columns; ++column) {
      float& average = c[matrix * columns + column];
      average =
          f(keep * average + (1.0 - keep) * of_columns[static_cast<std::size_t>(column)] / static_cast<double>(rows));
    }
    for (Dim row = 0; row < rows; ++row)
      for (Dim column = 0; column < columns; ++column)
        s[first + row * columns + column] = f(r[matrix * rows + row] / mean_of_rows) * c[matrix * columns + column];
  }
}

void apply(const Adafactor& rule, const Step& step) {
  const double rate = std::min(step.rate, 1.0 / std::sqrt(step.t));
  const double alpha = std::max(rule.epsilon_2, root_mean_square(step.v, step.size)) * rate;
  const double keep = 1.0 - std::pow(step.t, rule.beta_2_decay);
  float* const s = step.s[2];
  if (step.shape->rank() >= 2) {
    factored(rule, step, keep);
  } else {
    for (std::int64_t i = 0; i < step.size; ++i)
      s[i] = f(keep * s[i] + (1.0 - keep) * (step.square(i) + rule.epsilon_1));
  }
  std::vector<float> move(static_cast<std::size_t>(step.size));
  double squares = 0.0;  // of the entries, where the gradient is made of some
  for (std::int64_t i = 0; i < step.size; ++i) {
    move[static_cast<std::size_t>(i)] = step.g[i] / std::sqrt(s[i]);
    squares += static_cast<double>(step.square(i)) / static_cast<double>(s[i]);
  }
  const double size = std::sqrt(squares / static_cast<double>(step.size));
  const float factor = f(alpha / std::max(1.0, size / rule.clip_threshold));
  for (std::int64_t i = 0; i < step.size; ++i) step.v[i] -= factor * move[static_cast<std::size_t>(i)];
}

void apply(const Muon& rule, const Step& step) {
  if (step.adam) {
    Step adam = step;
    adam.rate *= rule.adam_lr_ratio;
    std::vector<float> squares;
    if (adam.q == nullptr) {
      for (std::int64_t i = 0; i < adam.size; ++i) squares.push_back(adam.g[i] * adam.g[i]);
      adam.q = squares.data();
    }
    return apply(Adam{{rule.adam_beta_1, rule.adam_beta_2, rule.epsilon}, false}, adam);
  }
  move_by_muon(rule, step);
}

}  // namespace

void update(const Rule& rule, const Step& step) {
  std::visit([&](const auto& one) { apply(one, step); }, rule);
}

}  // namespace attn::optimizers
