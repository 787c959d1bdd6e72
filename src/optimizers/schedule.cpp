// Learning rates by step, computed in float32.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/optimizers/settings.h"

namespace attn::optimizers {
namespace {

float f(double x) { return static_cast<float>(x); }

float rate(const ExponentialDecay& s, float step) {
  float power = step / f(s.decay_steps);
  if (s.staircase) power = std::floor(power);
  return f(s.initial_learning_rate) * std::pow(f(s.decay_rate), power);
}

float rate(const PiecewiseConstantDecay& s, float step) {
  std::size_t i = 0;
  while (i < s.boundaries.size() && step > f(s.boundaries[i])) ++i;
  return f(s.values[i]);
}

float rate(const PolynomialDecay& s, float step) {
  float steps = f(s.decay_steps);
  if (s.cycle) {
    steps *= step == 0.0F ? 1.0F : std::ceil(step / steps);
  } else {
    step = std::min(step, steps);
  }
  const float end = f(s.end_learning_rate);
  return (f(s.initial_learning_rate) - end) * std::pow(1.0F - step / steps, f(s.power)) + end;
}

float rate(const InverseTimeDecay& s, float step) {
  float share = step / f(s.decay_steps);
  if (s.staircase) share = std::floor(share);
  return f(s.initial_learning_rate) / (1.0F + f(s.decay_rate) * share);
}

float cosine(float share) { return 0.5F * (1.0F + std::cos(static_cast<float>(std::numbers::pi) * share)); }

float rate(const CosineDecay& s, float step) {
  const float initial = f(s.initial_learning_rate), warmup = f(s.warmup_steps), alpha = f(s.alpha);
  const float from = s.warmup_target ? f(*s.warmup_target) : initial;
  if (s.warmup_target && step < warmup) return (from - initial) * (step / warmup) + initial;
  const float behind = s.warmup_target ? step - warmup : step;
  const float share = std::min(behind, f(s.decay_steps)) / f(s.decay_steps);
  return from * ((1.0F - alpha) * cosine(share) + alpha);
}

float rate(const CosineDecayRestarts& s, float step) {
  const float t_mul = f(s.t_mul), alpha = f(s.alpha);
  float share = step / f(s.first_decay_steps), restart = 0.0F;
  if (s.t_mul == 1.0) {
    restart = std::floor(share);
    share -= restart;
  } else {
    restart = std::floor(std::log(1.0F - share * (1.0F - t_mul)) / std::log(t_mul));
    const float sum = (1.0F - std::pow(t_mul, restart)) / (1.0F - t_mul);
    share = (share - sum) / std::pow(t_mul, restart);
  }
  return f(s.initial_learning_rate) * ((1.0F - alpha) * std::pow(f(s.m_mul), restart) * cosine(share) + alpha);
}

}  // namespace

double learning_rate(const Schedule& schedule, std::int64_t step) {
  return std::visit([&](const auto& one) { return static_cast<double>(rate(one, static_cast<float>(step))); },
                    schedule);
}

}  // namespace attn::optimizers
