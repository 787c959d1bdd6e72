// The settings of an optimizer, with Keras's names and defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attn::optimizers {

// ---- Schedules: the learning rate of a step (keras/src/optimizers/schedules/learning_rate_schedule.py).

struct ExponentialDecay {
  double initial_learning_rate = 0.0, decay_steps = 1.0, decay_rate = 1.0;
  bool staircase = false;

  friend bool operator==(const ExponentialDecay&, const ExponentialDecay&) = default;
};
struct PiecewiseConstantDecay {
  std::vector<double> boundaries, values;

  friend bool operator==(const PiecewiseConstantDecay&, const PiecewiseConstantDecay&) = default;
};
struct PolynomialDecay {
  double initial_learning_rate = 0.0, decay_steps = 1.0, end_learning_rate = 1e-4, power = 1.0;
  bool cycle = false;

  friend bool operator==(const PolynomialDecay&, const PolynomialDecay&) = default;
};
struct InverseTimeDecay {
  double initial_learning_rate = 0.0, decay_steps = 1.0, decay_rate = 1.0;
  bool staircase = false;

  friend bool operator==(const InverseTimeDecay&, const InverseTimeDecay&) = default;
};
struct CosineDecay {
  double initial_learning_rate = 0.0, decay_steps = 1.0, alpha = 0.0;
  std::optional<double> warmup_target;
  double warmup_steps = 0.0;

  friend bool operator==(const CosineDecay&, const CosineDecay&) = default;
};
struct CosineDecayRestarts {
  double initial_learning_rate = 0.0, first_decay_steps = 1.0, t_mul = 2.0, m_mul = 1.0, alpha = 0.0;

  friend bool operator==(const CosineDecayRestarts&, const CosineDecayRestarts&) = default;
};
using Schedule = std::variant<ExponentialDecay, PiecewiseConstantDecay, PolynomialDecay, InverseTimeDecay, CosineDecay,
                              CosineDecayRestarts>;

/// Returns the learning rate of a step (counted from 0), in float32 as Keras computes it.
[[nodiscard]] double learning_rate(const Schedule& schedule, std::int64_t step);

// ---- Rules: how a step updates a variable.

struct SGD {
  double momentum = 0.0;
  bool nesterov = false;

  friend bool operator==(const SGD&, const SGD&) = default;
};
/// Settings that Adam, AdamW, Adamax, Nadam, Lamb and ScheduleFreeAdamW share.
struct Moments {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;

  friend bool operator==(const Moments&, const Moments&) = default;
};
struct Adam : Moments {
  bool amsgrad = false;

  friend bool operator==(const Adam&, const Adam&) = default;
};
struct Adamax : Moments {
  friend bool operator==(const Adamax&, const Adamax&) = default;
};
struct Nadam : Moments {
  friend bool operator==(const Nadam&, const Nadam&) = default;
};
struct Lamb : Moments {
  friend bool operator==(const Lamb&, const Lamb&) = default;
};
struct ScheduleFreeAdamW : Moments {
  std::int64_t warmup_steps = 0;

  friend bool operator==(const ScheduleFreeAdamW&, const ScheduleFreeAdamW&) = default;
};
struct RMSprop {
  double rho = 0.9, momentum = 0.0, epsilon = 1e-7;
  bool centered = false;

  friend bool operator==(const RMSprop&, const RMSprop&) = default;
};
struct Adagrad {
  double initial_accumulator_value = 0.1, epsilon = 1e-7;

  friend bool operator==(const Adagrad&, const Adagrad&) = default;
};
struct Adadelta {
  double rho = 0.95, epsilon = 1e-7;

  friend bool operator==(const Adadelta&, const Adadelta&) = default;
};
struct Ftrl {
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1, l1_regularization_strength = 0.0,
         l2_regularization_strength = 0.0, l2_shrinkage_regularization_strength = 0.0, beta = 0.0;

  friend bool operator==(const Ftrl&, const Ftrl&) = default;
};
struct Lion {
  double beta_1 = 0.9, beta_2 = 0.99;

  friend bool operator==(const Lion&, const Lion&) = default;
};
struct Adafactor {
  double beta_2_decay = -0.8, epsilon_1 = 1e-30, epsilon_2 = 1e-3, clip_threshold = 1.0;
  bool relative_step = true;

  friend bool operator==(const Adafactor&, const Adafactor&) = default;
};
struct Muon {
  double adam_beta_1 = 0.9, adam_beta_2 = 0.999, epsilon = 1e-7, muon_a = 3.4445, muon_b = -4.775, muon_c = 2.0315,
         adam_lr_ratio = 1.0, momentum = 0.95;
  std::optional<double> adam_weight_decay = 0.004, rms_rate = 0.2;
  std::int64_t ns_steps = 5;
  bool nesterov = true, exclude_embeddings = true;
  std::vector<std::string> exclude_layers;  ///< substrings of the paths of variables

  friend bool operator==(const Muon&, const Muon&) = default;
};
using Rule = std::variant<SGD, Adam, Adamax, Nadam, Lamb, ScheduleFreeAdamW, RMSprop, Adagrad, Adadelta, Ftrl, Lion,
                          Adafactor, Muon>;

/// Dynamic loss scaling for float16 gradients (keras/src/optimizers/loss_scale_optimizer.py). The loss is multiplied by
/// a scale. If a gradient is not finite, the step is skipped and the scale halved. After `dynamic_growth_steps` finite
/// steps in a row, the scale doubles.
struct LossScale {
  double initial_scale = 32768.0;
  std::int64_t dynamic_growth_steps = 2000;

  friend bool operator==(const LossScale&, const LossScale&) = default;
};

struct Settings {
  std::string name = "sgd";  ///< prefix of the optimizer's variables: "adam_w"
  Rule rule;
  double learning_rate = 0.01;  ///< a float32; used if there is no schedule
  std::optional<Schedule> schedule;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency;
  std::optional<double> loss_scale_factor;
  std::optional<std::int64_t> gradient_accumulation_steps;
  std::optional<LossScale> loss_scale;

  friend bool operator==(const Settings&, const Settings&) = default;
};

// ---- Constraints: projections of a variable after a step (keras/src/constraints/constraints.py).

enum class ConstraintKind : std::uint8_t { max_norm, unit_norm, min_max_norm, non_neg };
struct Constraint {
  ConstraintKind kind = ConstraintKind::non_neg;
  double min_value = 0.0, max_value = 2.0, rate = 1.0;
  std::vector<std::int64_t> axis{0};

  friend bool operator==(const Constraint&, const Constraint&) = default;
};

}  // namespace attn::optimizers
