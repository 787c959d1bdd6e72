// The optimizers of keras/src/optimizers: names, fields and defaults.
#include "attn/keras/optimizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/base/text.h"
#include "config/bounded_fields.h"
#include "config/fields.h"

namespace attn::keras {

namespace opt = optimizers;

namespace {

/// A class with the fields of its rule and its default learning rate.
struct OptimizerClass {
  std::string_view name, snake;
  double learning_rate;
  opt::Rule (*rule)(Fields* fields);  ///< reads the given fields, or returns the defaults for null
  std::optional<double> weight_decay = std::nullopt;
};

/// Reads the decays of moments, which are below 1. A decay of 1 for the second moment would make its bias correction
/// divide by 0.
void moments(Fields& f, opt::Moments& rule) {
  number(f, "beta_1", rule.beta_1, kBelowOne);
  number(f, "beta_2", rule.beta_2, kBelowOne);
  number(f, "epsilon", rule.epsilon, kNotNegative);
}

void read(Fields& f, opt::SGD& rule) {
  number(f, "momentum", rule.momentum, kFromZeroToOne);
  f("nesterov", rule.nesterov);
}
void read(Fields& f, opt::Adam& rule) {
  moments(f, rule);
  f("amsgrad", rule.amsgrad);
}
void read(Fields& f, opt::Adamax& rule) { moments(f, rule); }
void read(Fields& f, opt::Nadam& rule) { moments(f, rule); }
void read(Fields& f, opt::Lamb& rule) { moments(f, rule); }
void read(Fields& f, opt::ScheduleFreeAdamW& rule) {
  number(f, "beta_1", rule.beta_1, kUpToOne);  // a step divides by this value
  number(f, "beta_2", rule.beta_2, kBelowOne);
  number(f, "epsilon", rule.epsilon, kNotNegative);
  integer(f, "warmup_steps", rule.warmup_steps, 0, kMostSteps);
}
void read(Fields& f, opt::RMSprop& rule) {
  number(f, "rho", rule.rho, kFromZeroToOne);
  number(f, "momentum", rule.momentum, kFromZeroToOne);
  number(f, "epsilon", rule.epsilon, kNotNegative);
  f("centered", rule.centered);
}
void read(Fields& f, opt::Adagrad& rule) {
  number(f, "initial_accumulator_value", rule.initial_accumulator_value, kNotNegative);
  number(f, "epsilon", rule.epsilon, kNotNegative);
}
void read(Fields& f, opt::Adadelta& rule) {
  number(f, "rho", rule.rho, kFromZeroToOne);
  number(f, "epsilon", rule.epsilon, kNotNegative);
}
void read(Fields& f, opt::Ftrl& rule) {
  number(f, "learning_rate_power", rule.learning_rate_power, {-kMostFloat, 0.0, "a number up to 0"});
  number(f, "initial_accumulator_value", rule.initial_accumulator_value, kNotNegative);
  number(f, "l1_regularization_strength", rule.l1_regularization_strength, kNotNegative);
  number(f, "l2_regularization_strength", rule.l2_regularization_strength, kNotNegative);
  number(f, "l2_shrinkage_regularization_strength", rule.l2_shrinkage_regularization_strength, kNotNegative);
  number(f, "beta", rule.beta, kFinite);
}
void read(Fields& f, opt::Lion& rule) {
  number(f, "beta_1", rule.beta_1, kUpToOne);
  number(f, "beta_2", rule.beta_2, kFromZeroToOne);
}
void read(Fields& f, opt::Adafactor& rule) {
  number(f, "beta_2_decay", rule.beta_2_decay, kFinite);
  number(f, "epsilon_1", rule.epsilon_1, kNotNegative);
  number(f, "epsilon_2", rule.epsilon_2, kNotNegative);
  number(f, "clip_threshold", rule.clip_threshold, kAboveZero);
  f("relative_step", rule.relative_step);
}

/// Newton–Schulz iterations: five are usual, and each multiplies matrices of the size of a kernel.
constexpr std::int64_t kMostIterations = 1000;

void read(Fields& f, opt::Muon& rule) {
  number(f, "adam_beta_1", rule.adam_beta_1, kBelowOne);
  number(f, "adam_beta_2", rule.adam_beta_2, kBelowOne);
  number(f, "epsilon", rule.epsilon, kNotNegative);
  number(f, "muon_a", rule.muon_a, kFinite);
  number(f, "muon_b", rule.muon_b, kFinite);
  number(f, "muon_c", rule.muon_c, kFinite);
  number(f, "adam_lr_ratio", rule.adam_lr_ratio, kFinite);
  number(f, "momentum", rule.momentum, kFromZeroToOne);
  number(f, "adam_weight_decay", rule.adam_weight_decay, kFinite);
  number(f, "rms_rate", rule.rms_rate, kFinite);
  integer(f, "ns_steps", rule.ns_steps, 0, kMostIterations);
  f("nesterov", rule.nesterov);
  f("exclude_embeddings", rule.exclude_embeddings);
  f("exclude_layers", rule.exclude_layers);
}

template <typename Rule>
opt::Rule rule_of(Fields* fields) {
  Rule rule;
  if constexpr (std::is_same_v<Rule, opt::ScheduleFreeAdamW>) rule.epsilon = 1e-8;
  if (fields != nullptr) read(*fields, rule);
  return rule;
}

constexpr std::array kClasses = {
    OptimizerClass{"SGD", "sgd", 0.01, rule_of<opt::SGD>},
    OptimizerClass{"Adam", "adam", 1e-3, rule_of<opt::Adam>},
    OptimizerClass{"AdamW", "adam_w", 1e-3, rule_of<opt::Adam>, 0.004},
    OptimizerClass{"Adamax", "adamax", 1e-3, rule_of<opt::Adamax>},
    OptimizerClass{"Nadam", "nadam", 1e-3, rule_of<opt::Nadam>},
    OptimizerClass{"RMSprop", "rm_sprop", 1e-3, rule_of<opt::RMSprop>},
    OptimizerClass{"Adagrad", "adagrad", 1e-3, rule_of<opt::Adagrad>},
    OptimizerClass{"Adadelta", "adadelta", 1e-3, rule_of<opt::Adadelta>},
    OptimizerClass{"Ftrl", "ftrl", 1e-3, rule_of<opt::Ftrl>},
    OptimizerClass{"Lion", "lion", 1e-3, rule_of<opt::Lion>},
    OptimizerClass{"Adafactor", "adafactor", 1e-3, rule_of<opt::Adafactor>},
    OptimizerClass{"Lamb", "lamb", 1e-3, rule_of<opt::Lamb>},
    OptimizerClass{"Muon", "muon", 1e-3, rule_of<opt::Muon>, 0.004},
    OptimizerClass{"ScheduleFreeAdamW", "schedule_free_adam_w", 2.5e-3, rule_of<opt::ScheduleFreeAdamW>},
};

const OptimizerClass* row_named(std::string_view name) {
  const auto lower = [](std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
  };
  for (const OptimizerClass& row : kClasses)
    if (lower(row.name) == lower(name)) return &row;
  return nullptr;
}

const OptimizerClass& find(const Ref& ref, const std::string& name) {
  if (const OptimizerClass* const row = row_named(name)) return *row;
  std::vector<std::string_view> names;
  for (const OptimizerClass& row : kClasses) names.push_back(row.name);
  if (name == "MultiOptimizer") ref.fail("the optimizer 'MultiOptimizer' is not supported in training yet");
  ref.fail(fmt::format("the optimizer '{}' is not known{}", printable(name), did_you_mean(name, names)));
}

void read(Fields& f, opt::ExponentialDecay& s) {
  number(f, "initial_learning_rate", s.initial_learning_rate, kFinite);
  number(f, "decay_steps", s.decay_steps, kAboveZero);
  number(f, "decay_rate", s.decay_rate, kNotNegative);  // a negative power of 0 is not finite
  f("staircase", s.staircase);
}
void read(Fields& f, opt::PiecewiseConstantDecay& s) {
  f("boundaries", s.boundaries);
  f("values", s.values);
  for (const auto* const list : {"boundaries", "values"})
    if (const auto ref = f.config().find(list))
      for (const Ref& each : ref->elements()) (void)number_in(each, kFinite);
  if (s.values.size() != s.boundaries.size() + 1) f.config().fail("expected one more value than boundaries");
  if (!std::ranges::is_sorted(s.boundaries)) f.config()["boundaries"].fail("expected numbers that rise");
}
void read(Fields& f, opt::PolynomialDecay& s) {
  number(f, "initial_learning_rate", s.initial_learning_rate, kFinite);
  number(f, "decay_steps", s.decay_steps, kAboveZero);
  number(f, "end_learning_rate", s.end_learning_rate, kFinite);
  number(f, "power", s.power, kNotNegative);  // the base becomes 0, and a negative power of 0 is not finite
  f("cycle", s.cycle);
}
void read(Fields& f, opt::InverseTimeDecay& s) {
  number(f, "initial_learning_rate", s.initial_learning_rate, kFinite);
  number(f, "decay_steps", s.decay_steps, kAboveZero);
  number(f, "decay_rate", s.decay_rate, kNotNegative);
  f("staircase", s.staircase);
}
void read(Fields& f, opt::CosineDecay& s) {
  number(f, "initial_learning_rate", s.initial_learning_rate, kFinite);
  number(f, "decay_steps", s.decay_steps, kAboveZero);
  number(f, "alpha", s.alpha, kFinite);
  number(f, "warmup_target", s.warmup_target, kFinite);
  number(f, "warmup_steps", s.warmup_steps, kNotNegative);
}
void read(Fields& f, opt::CosineDecayRestarts& s) {
  number(f, "initial_learning_rate", s.initial_learning_rate, kFinite);
  number(f, "first_decay_steps", s.first_decay_steps, kAboveZero);
  number(f, "t_mul", s.t_mul, kAboveZero);
  number(f, "m_mul", s.m_mul, kNotNegative);
  number(f, "alpha", s.alpha, kFinite);
}

template <typename Kind>
opt::Schedule schedule_of(Fields& fields) {
  Kind schedule;
  read(fields, schedule);
  return schedule;
}

opt::Schedule read_schedule(const Ref& ref) {
  static constexpr std::array<std::pair<std::string_view, opt::Schedule (*)(Fields&)>, 6> kSchedules = {
      {{"ExponentialDecay", schedule_of<opt::ExponentialDecay>},
       {"PiecewiseConstantDecay", schedule_of<opt::PiecewiseConstantDecay>},
       {"PolynomialDecay", schedule_of<opt::PolynomialDecay>},
       {"InverseTimeDecay", schedule_of<opt::InverseTimeDecay>},
       {"CosineDecay", schedule_of<opt::CosineDecay>},
       {"CosineDecayRestarts", schedule_of<opt::CosineDecayRestarts>}}};
  const std::string name = ref["class_name"].text();
  std::vector<std::string_view> names;
  for (const auto& [known, make] : kSchedules) {
    names.push_back(known);
    if (known != name) continue;
    const Ref config = ref["config"];
    std::vector<std::string> warnings;
    Fields fields(config, warnings);
    fields.ignored({"name", "warmup_steps", "warmup_target"});
    opt::Schedule schedule = make(fields);
    fields.check_keys();
    return schedule;
  }
  ref["class_name"].fail(fmt::format("the schedule '{}' is not known{}", printable(name), did_you_mean(name, names)));
}

opt::Settings defaults(const OptimizerClass& row) {
  opt::Settings out;
  out.name = row.snake;
  out.rule = row.rule(nullptr);
  out.learning_rate = row.learning_rate;
  out.weight_decay = row.weight_decay;
  return out;
}

opt::Settings read_object(const Ref& ref);

/// Reads a LossScaleOptimizer with the optimizer that it contains.
opt::Settings read_loss_scale(const Ref& config) {
  opt::Settings inner = read_object(config["inner_optimizer"]);
  if (inner.loss_scale) config["inner_optimizer"].fail("a LossScaleOptimizer inside a LossScaleOptimizer");
  inner.loss_scale.emplace();
  if (const auto scale = config.find("initial_scale")) inner.loss_scale->initial_scale = number_in(*scale, kAboveZero);
  if (const auto steps = config.find("dynamic_growth_steps"))
    inner.loss_scale->dynamic_growth_steps = integer_in(*steps, 1, kMostSteps);
  inner.loss_scale_factor.reset();
  return inner;
}

/// Reads the settings that all optimizers have. For a value of 0, Keras neither clips, nor overwrites, nor accumulates.
void read_common(Fields& f, opt::Settings& out) {
  const auto unless_0 = [](auto& value) {
    if (value && *value == 0) value.reset();
  };
  f("name", out.name);
  if (const auto rate = f.take("learning_rate")) {
    if (rate->is_object()) {
      out.schedule = read_schedule(*rate);
    } else {
      out.learning_rate = static_cast<float>(number_in(*rate, kFinite));
    }
  }
  number(f, "weight_decay", out.weight_decay, kFinite);
  number(f, "clipnorm", out.clipnorm, kNotNegative);
  number(f, "clipvalue", out.clipvalue, kNotNegative);
  number(f, "global_clipnorm", out.global_clipnorm, kNotNegative);
  f("use_ema", out.use_ema);
  number(f, "ema_momentum", out.ema_momentum, kFromZeroToOne);
  integer(f, "ema_overwrite_frequency", out.ema_overwrite_frequency, 0, kMostSteps);
  number(f, "loss_scale_factor", out.loss_scale_factor, kAboveZero);
  integer(f, "gradient_accumulation_steps", out.gradient_accumulation_steps, 0, kMostSteps);
  if (out.gradient_accumulation_steps == 1)
    f.config()["gradient_accumulation_steps"].fail("expected an integer > 1, got 1");
  if ((out.clipnorm ? 1 : 0) + (out.clipvalue ? 1 : 0) + (out.global_clipnorm ? 1 : 0) > 1)
    f.config().fail("only one of clipnorm, clipvalue and global_clipnorm can be given");
  for (auto* const clip : {&out.clipnorm, &out.clipvalue, &out.global_clipnorm}) unless_0(*clip);
  unless_0(out.ema_overwrite_frequency);
  unless_0(out.gradient_accumulation_steps);
}

opt::Settings read_object(const Ref& ref) {
  if (ref.is_string()) return defaults(find(ref, ref.text()));
  ref.expect_object();
  if (ref["class_name"].text() == "LossScaleOptimizer") return read_loss_scale(ref["config"]);
  const OptimizerClass& row = find(ref["class_name"], ref["class_name"].text());
  opt::Settings out = defaults(row);
  const Ref config = ref["config"];
  std::vector<std::string> warnings;
  Fields f(config, warnings);
  read_common(f, out);
  out.rule = row.rule(&f);
  f.check_keys();
  return out;
}

}  // namespace

std::optional<std::string> optimizer_class(std::string_view name) {
  const OptimizerClass* const row = row_named(name);
  return row != nullptr ? std::optional(std::string(row->name)) : std::nullopt;
}

opt::Settings read_optimizer(const std::string& text) {
  const bool is_json = !text.empty() && text[0] == '{';
  const Document document = is_json ? Document("optimizer", text) : Document("optimizer", Json(text));
  return read_object(Ref(document));
}

opt::Settings compiled_optimizer(const std::string& compile_config) {
  // The text is in no file, so messages name a JSON pointer instead of a line and column.
  const Document document("compile_config", Document("compile_config", compile_config).root());
  const auto optimizer = Ref(document).find("optimizer");
  if (!optimizer || optimizer->is_null()) throw bad_input("the compile_config names no optimizer");
  return read_object(*optimizer);
}

}  // namespace attn::keras
