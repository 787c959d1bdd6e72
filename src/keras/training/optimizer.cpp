// keras/src/optimizers: names, fields and defaults.
#include "attn/keras/optimizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/base/text.h"
#include "config/fields.h"

namespace attn::keras {

namespace opt = optimizers;

namespace {

/// A class with the fields of its own rule and its default learning rate.
struct OptimizerClass {
  std::string_view name, snake;
  double learning_rate;
  opt::Rule (*rule)(Fields* fields);  ///< with the fields that are given, where there are some
  std::optional<double> weight_decay = std::nullopt;
};

void moments(Fields& f, opt::Moments& rule) {
  f("beta_1", rule.beta_1);
  f("beta_2", rule.beta_2);
  f("epsilon", rule.epsilon);
}

void read(Fields& f, opt::SGD& rule) {
  f("momentum", rule.momentum);
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
  moments(f, rule);
  f("warmup_steps", rule.warmup_steps);
}
void read(Fields& f, opt::RMSprop& rule) {
  f("rho", rule.rho);
  f("momentum", rule.momentum);
  f("epsilon", rule.epsilon);
  f("centered", rule.centered);
}
void read(Fields& f, opt::Adagrad& rule) {
  f("initial_accumulator_value", rule.initial_accumulator_value);
  f("epsilon", rule.epsilon);
}
void read(Fields& f, opt::Adadelta& rule) {
  f("rho", rule.rho);
  f("epsilon", rule.epsilon);
}
void read(Fields& f, opt::Ftrl& rule) {
  f("learning_rate_power", rule.learning_rate_power);
  f("initial_accumulator_value", rule.initial_accumulator_value);
  f("l1_regularization_strength", rule.l1_regularization_strength);
  f("l2_regularization_strength", rule.l2_regularization_strength);
  f("l2_shrinkage_regularization_strength", rule.l2_shrinkage_regularization_strength);
  f("beta", rule.beta);
}
void read(Fields& f, opt::Lion& rule) {
  f("beta_1", rule.beta_1);
  f("beta_2", rule.beta_2);
}
void read(Fields& f, opt::Adafactor& rule) {
  f("beta_2_decay", rule.beta_2_decay);
  f("epsilon_1", rule.epsilon_1);
  f("epsilon_2", rule.epsilon_2);
  f("clip_threshold", rule.clip_threshold);
  f("relative_step", rule.relative_step);
}
void read(Fields& f, opt::Muon& rule) {
  f("adam_beta_1", rule.adam_beta_1);
  f("adam_beta_2", rule.adam_beta_2);
  f("epsilon", rule.epsilon);
  f("muon_a", rule.muon_a);
  f("muon_b", rule.muon_b);
  f("muon_c", rule.muon_c);
  f("adam_lr_ratio", rule.adam_lr_ratio);
  f("momentum", rule.momentum);
  f("adam_weight_decay", rule.adam_weight_decay);
  f("rms_rate", rule.rms_rate);
  f("ns_steps", rule.ns_steps);
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
  if (name == "MultiOptimizer") ref.fail("the optimizer 'MultiOptimizer' is not known in training yet");
  ref.fail(fmt::format("the optimizer '{}' is not known{}", printable(name), did_you_mean(name, names)));
}

void read(Fields& f, opt::ExponentialDecay& s) {
  f("initial_learning_rate", s.initial_learning_rate);
  f("decay_steps", s.decay_steps);
  f("decay_rate", s.decay_rate);
  f("staircase", s.staircase);
}
void read(Fields& f, opt::PiecewiseConstantDecay& s) {
  f("boundaries", s.boundaries);
  f("values", s.values);
  if (s.values.size() != s.boundaries.size() + 1) f.config().fail("values must be one more than boundaries");
}
void read(Fields& f, opt::PolynomialDecay& s) {
  f("initial_learning_rate", s.initial_learning_rate);
  f("decay_steps", s.decay_steps);
  f("end_learning_rate", s.end_learning_rate);
  f("power", s.power);
  f("cycle", s.cycle);
}
void read(Fields& f, opt::InverseTimeDecay& s) {
  f("initial_learning_rate", s.initial_learning_rate);
  f("decay_steps", s.decay_steps);
  f("decay_rate", s.decay_rate);
  f("staircase", s.staircase);
}
void read(Fields& f, opt::CosineDecay& s) {
  f("initial_learning_rate", s.initial_learning_rate);
  f("decay_steps", s.decay_steps);
  f("alpha", s.alpha);
  f("warmup_target", s.warmup_target);
  f("warmup_steps", s.warmup_steps);
}
void read(Fields& f, opt::CosineDecayRestarts& s) {
  f("initial_learning_rate", s.initial_learning_rate);
  f("first_decay_steps", s.first_decay_steps);
  f("t_mul", s.t_mul);
  f("m_mul", s.m_mul);
  f("alpha", s.alpha);
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

opt::Settings read_object(const Ref& ref) {
  if (ref.is_string()) return defaults(find(ref, ref.text()));
  ref.expect_object();
  if (ref["class_name"].text() == "LossScaleOptimizer") {
    const Ref config = ref["config"];
    opt::Settings inner = read_object(config["inner_optimizer"]);
    inner.loss_scale.emplace();
    if (const auto scale = config.find("initial_scale")) inner.loss_scale->initial_scale = scale->number();
    if (const auto steps = config.find("dynamic_growth_steps"))
      inner.loss_scale->dynamic_growth_steps = steps->integer_from(1);
    inner.loss_scale_factor.reset();
    return inner;
  }
  const OptimizerClass& row = find(ref["class_name"], ref["class_name"].text());
  opt::Settings out = defaults(row);
  const Ref config = ref["config"];
  std::vector<std::string> warnings;
  Fields f(config, warnings);
  f("name", out.name);
  if (const auto rate = f.take("learning_rate")) {
    if (rate->is_object()) {
      out.schedule = read_schedule(*rate);
    } else {
      out.learning_rate = static_cast<float>(rate->number());
    }
  }
  f("weight_decay", out.weight_decay);
  f("clipnorm", out.clipnorm);
  f("clipvalue", out.clipvalue);
  f("global_clipnorm", out.global_clipnorm);
  f("use_ema", out.use_ema);
  f("ema_momentum", out.ema_momentum);
  f("ema_overwrite_frequency", out.ema_overwrite_frequency);
  f("loss_scale_factor", out.loss_scale_factor);
  f("gradient_accumulation_steps", out.gradient_accumulation_steps);
  out.rule = row.rule(&f);
  f.check_keys();
  if (out.gradient_accumulation_steps && *out.gradient_accumulation_steps < 2)
    config["gradient_accumulation_steps"].fail("expected an integer > 1");
  if ((out.clipnorm ? 1 : 0) + (out.clipvalue ? 1 : 0) + (out.global_clipnorm ? 1 : 0) > 1)
    config.fail("only one of clipnorm, clipvalue and global_clipnorm can be given");
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
  const Document document("compile_config", compile_config);
  const auto optimizer = Ref(document).find("optimizer");
  if (!optimizer || optimizer->is_null()) throw bad_input("the compile_config names no optimizer");
  return read_object(*optimizer);
}

}  // namespace attn::keras
