#include "rules.h"

#include <algorithm>
#include <cmath>

#include "muon.h"

namespace attn::optimizers {

double power_of_float(double base, double t) { return std::pow(static_cast<double>(static_cast<float>(base)), t); }

bool is_elementwise(const Rule& rule) {
  return !std::holds_alternative<Lamb>(rule) && !std::holds_alternative<Adafactor>(rule) &&
         !std::holds_alternative<Muon>(rule);
}

namespace {

float f(double x) { return static_cast<float>(x); }

void apply(const SGD& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const float rate = f(step.rate), momentum = f(rule.momentum);
  if (rule.momentum == 0.0) {
    for (std::int64_t i = begin; i < end; ++i) step.v[i] -= rate * step.g[i];
    return;
  }
  float* const m = step.s[0];
  for (std::int64_t i = begin; i < end; ++i) {
    const float move = rate * step.g[i];
    m[i] = momentum * m[i] - move;
    step.v[i] += rule.nesterov ? momentum * m[i] - move : m[i];
  }
}

/// m += (g − m)(1 − β₁), s += (g² − s)(1 − β₂)
class Averages {
 public:
  Averages(double beta_1, double beta_2) : take_1_(f(1.0 - beta_1)), take_2_(f(1.0 - beta_2)) {}
  void operator()(const Step& step, std::int64_t i) const {
    step.s[0][i] += (step.g[i] - step.s[0][i]) * take_1_;
    step.s[1][i] += (step.square(i) - step.s[1][i]) * take_2_;
  }

 private:
  float take_1_, take_2_;
};

float adam_rate(double rate, double beta_1, double beta_2, double t) {
  return f(rate * std::sqrt(1.0 - power_of_float(beta_2, t)) / (1.0 - power_of_float(beta_1, t)));
}

void apply(const Adam& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const Averages averages(rule.beta_1, rule.beta_2);
  const float alpha = adam_rate(step.rate, rule.beta_1, rule.beta_2, step.t), epsilon = f(rule.epsilon);
  for (std::int64_t i = begin; i < end; ++i) {
    averages(step, i);
    float s = step.s[1][i];
    if (rule.amsgrad) s = step.s[2][i] = std::max(step.s[2][i], s);
    step.v[i] -= step.s[0][i] * alpha / (std::sqrt(s) + epsilon);
  }
}

void apply(const Adamax& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const float take = f(1.0 - rule.beta_1), keep = f(rule.beta_2), epsilon = f(rule.epsilon), rate = f(step.rate);
  const float correction = f(1.0 - power_of_float(rule.beta_1, step.t));
  for (std::int64_t i = begin; i < end; ++i) {
    float &m = step.s[0][i], &u = step.s[1][i];
    m += (step.g[i] - m) * take;
    u = std::max(keep * u, std::abs(step.g[i]));
    step.v[i] -= rate * m / (correction * (u + epsilon));
  }
}

void apply(const Nadam& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const Averages averages(f(rule.beta_1), f(rule.beta_2));
  const double beta = f(rule.beta_1);
  const double now = beta * (1.0 - 0.5 * power_of_float(0.96, step.t));
  const double next = beta * (1.0 - 0.5 * power_of_float(0.96, step.t + 1.0));
  const float of_m = f(next / (1.0 - step.product * next)), of_g = f((1.0 - now) / (1.0 - step.product));
  const float correction = f(1.0 - power_of_float(rule.beta_2, step.t)), rate = f(step.rate), epsilon = f(rule.epsilon);
  for (std::int64_t i = begin; i < end; ++i) {
    averages(step, i);
    const float m = of_m * step.s[0][i] + of_g * step.g[i];
    step.v[i] -= m * rate / (std::sqrt(step.s[1][i] / correction) + epsilon);
  }
}

void apply(const ScheduleFreeAdamW& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  double rate = step.rate;
  if (rule.warmup_steps > 0) rate *= std::min(step.t / static_cast<double>(rule.warmup_steps), 1.0);
  const float beta = f(rule.beta_1), take = f(1.0 - f(rule.beta_2)), epsilon = f(rule.epsilon), lr = f(rate);
  const float correction = f(1.0 - power_of_float(rule.beta_2, step.t)), share = f(1.0 / step.t);
  for (std::int64_t i = begin; i < end; ++i) {
    float &z = step.s[0][i], &s = step.s[1][i];
    s += (step.square(i) - s) * take;
    z -= lr * step.g[i] / (std::sqrt(s / correction) + epsilon);
    // On TensorFlow what the formula calls z before the step is z after it.
    const float x = (step.v[i] - (1.0F - beta) * z) / beta;
    const float mean = (1.0F - share) * x + share * z;
    step.v[i] = (1.0F - beta) * z + beta * mean;
  }
}

void apply(const RMSprop& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const float keep = f(rule.rho), take = f(1.0 - rule.rho), epsilon = f(rule.epsilon), rate = f(step.rate),
              momentum = f(rule.momentum);
  std::size_t next = 1;
  float* const m = rule.momentum > 0.0 ? step.s[next++] : nullptr;
  float* const a = rule.centered ? step.s[next] : nullptr;
  for (std::int64_t i = begin; i < end; ++i) {
    float& s = step.s[0][i];
    s = keep * s + take * step.square(i);
    float denominator = s + epsilon;
    if (a != nullptr) {
      a[i] = keep * a[i] + take * step.g[i];
      denominator = s - a[i] * a[i] + epsilon;
    }
    float move = rate * step.g[i] / std::sqrt(denominator);
    if (m != nullptr) move = m[i] = momentum * m[i] + move;
    step.v[i] -= move;
  }
}

void apply(const Adagrad& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const float epsilon = f(rule.epsilon), rate = f(step.rate);
  for (std::int64_t i = begin; i < end; ++i) {
    float& sum = step.s[0][i];
    sum += step.square(i);
    step.v[i] -= rate * step.g[i] / std::sqrt(sum + epsilon);
  }
}

void apply(const Adadelta& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const float keep = f(rule.rho), take = f(1.0 - rule.rho), epsilon = f(rule.epsilon), rate = f(step.rate);
  for (std::int64_t i = begin; i < end; ++i) {
    float &a = step.s[0][i], &d = step.s[1][i];
    a = keep * a + take * step.square(i);
    const float ratio = std::sqrt(d + epsilon) / std::sqrt(a + epsilon);
    const float delta = -ratio * step.g[i];
    d = keep * d + take * (step.q != nullptr ? ratio * ratio * step.q[i] : delta * delta);
    step.v[i] += rate * delta;
  }
}

void apply(const Ftrl& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const double l2 = rule.l2_regularization_strength + rule.beta / (2.0 * step.rate);
  const float rate = f(step.rate), power = f(-rule.learning_rate_power), twice_l2 = f(2.0 * l2),
              shrink = f(2.0 * rule.l2_shrinkage_regularization_strength), l1 = f(rule.l1_regularization_strength);
  for (std::int64_t i = begin; i < end; ++i) {
    float &sum = step.s[0][i], &z = step.s[1][i];
    const float used = step.g[i] + shrink * step.v[i];
    const float after = sum + step.square(i);
    const float root = std::pow(after, power);
    z += used - (root - std::pow(sum, power)) / rate * step.v[i];
    step.v[i] = (std::clamp(z, -l1, l1) - z) / (root / rate + twice_l2);
    sum = after;
  }
}

void apply(const Lion& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const float keep_1 = f(rule.beta_1), take_1 = f(1.0 - rule.beta_1), keep_2 = f(rule.beta_2),
              take_2 = f(1.0 - rule.beta_2), rate = f(step.rate);
  for (std::int64_t i = begin; i < end; ++i) {
    float& m = step.s[0][i];
    const float c = keep_1 * m + take_1 * step.g[i];
    step.v[i] -= rate * (c > 0.0F ? 1.0F : c < 0.0F ? -1.0F : c);  // the sign, and NaN stays
    m = keep_2 * m + take_2 * step.g[i];
  }
}

double sum_of_squares(const float* x, std::int64_t size) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void apply(const Lamb& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const Averages averages(rule.beta_1, rule.beta_2);
  const float of_m = f(1.0 - power_of_float(rule.beta_1, step.t)), of_s = f(1.0 - power_of_float(rule.beta_2, step.t)),
              epsilon = f(rule.epsilon);
  std::vector<float> move(static_cast<std::size_t>(end - begin));
  for (std::int64_t i = begin; i < end; ++i) {
    averages(step, i);
    move[static_cast<std::size_t>(i - begin)] = step.s[0][i] / of_m / (std::sqrt(step.s[1][i] / of_s) + epsilon);
  }
  const double weights = std::sqrt(sum_of_squares(step.v, step.size));
  const double moves = std::sqrt(sum_of_squares(move.data(), step.size));
  const float rate = f((weights > 0.0 && moves > 0.0 ? weights / moves : 1.0) * step.rate);
  for (std::int64_t i = begin; i < end; ++i) step.v[i] -= rate * move[static_cast<std::size_t>(i - begin)];
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

void apply(const Adafactor& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  const double rate = std::min(step.rate, 1.0 / std::sqrt(step.t));
  const double alpha = std::max(rule.epsilon_2, root_mean_square(step.v, step.size)) * rate;
  const double keep = 1.0 - std::pow(step.t, rule.beta_2_decay);
  float* const s = step.s[2];
  if (step.shape->rank() >= 2) {
    factored(rule, step, keep);
  } else {
    for (std::int64_t i = begin; i < end; ++i) s[i] = f(keep * s[i] + (1.0 - keep) * (step.square(i) + rule.epsilon_1));
  }
  std::vector<float> move(static_cast<std::size_t>(step.size));
  double squares = 0.0;  // of the entries, where the gradient is made of some
  for (std::int64_t i = begin; i < end; ++i) {
    move[static_cast<std::size_t>(i)] = step.g[i] / std::sqrt(s[i]);
    squares += static_cast<double>(step.square(i)) / static_cast<double>(s[i]);
  }
  const double size = std::sqrt(squares / static_cast<double>(step.size));
  const float factor = f(alpha / std::max(1.0, size / rule.clip_threshold));
  for (std::int64_t i = begin; i < end; ++i) step.v[i] -= factor * move[static_cast<std::size_t>(i)];
}

void apply(const Muon& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  if (step.adam) {
    Step adam = step;
    adam.rate *= rule.adam_lr_ratio;
    return apply(Adam{{rule.adam_beta_1, rule.adam_beta_2, rule.epsilon}, false}, adam, begin, end);
  }
  move_by_muon(rule, step);
}

}  // namespace

void update(const Rule& rule, const Step& step, std::int64_t begin, std::int64_t end) {
  std::visit([&](const auto& one) { apply(one, step, begin, end); }, rule);
}

}  // namespace attn::optimizers
