#include "attn/train/compile_changes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"
#include "attn/keras/json_text.h"
#include "attn/keras/optimizer.h"
#include "custom_objects.h"
#include "optimizer_json.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

bool is_json(const std::string& text) { return !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"'); }

/// Returns JSON as it is, and a name as a string.
Json as_json(const std::string& option, const std::string& text) {
  if (!is_json(text)) return text;
  try {
    (void)io::parse_json(text, option);
  } catch (const Error& error) {
    throw bad_usage("{}", error.what());
  }
  return Json::parse(text);
}

bool in_float32(double number) { return std::isfinite(static_cast<float>(number)); }

/// Returns the number; empty if the text is not a finite number.
std::optional<double> as_number(const std::string& text) {
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Parses names between commas, or JSON; "none": no metrics.
Json metrics_of(const std::string& text) {
  if (text == "none") return nullptr;
  if (is_json(text)) return as_json("`metrics`", text);
  Json names = Json::array();
  for (const std::string_view name : split(text, ',')) names.push_back(name);
  return names;
}

/// Parses numbers between commas, or JSON: a list of them, or an object by outputs.
Json loss_weights_of(const std::string& text) {
  Json out = is_json(text) ? as_json("`loss_weights`", text) : Json::array();
  if (!is_json(text)) {
    for (const std::string& part : split(text, ',')) {
      const std::optional<double> number = as_number(part);
      out.push_back(number ? Json(*number) : Json());
    }
  }
  const bool has_some = (out.is_array() || out.is_object()) && !out.empty();
  if (!has_some || !std::all_of(out.begin(), out.end(), [](const Json& each) { return each.is_number(); }))
    throw bad_usage(
        "`loss_weights` '{}': expected a number for each output, as 1,0.5, or JSON by their names, as "
        "{{\"price\": 0.5}}",
        printable(text));
  return out;
}

/// Parses a compile_config in the form of Keras's get_compile_config(), or the whole config.json of an archive.
std::string parse_compile_config(const std::string& text, const std::string& place) {
  Json json = keras::parse_json_text(text, place);
  if (json.is_object() && json.contains("compile_config")) json = Json(json["compile_config"]);
  if (!json.is_object() || !json.contains("loss"))
    throw bad_input("{}: not a compile_config, as model.get_compile_config() gives it", printable(place));
  if (!json.contains("optimizer")) json["optimizer"] = "rmsprop";
  return keras::write_json_text(json);
}

/// Returns the fields of the optimizer that options change.
std::vector<std::pair<const char*, Json>> optimizer_fields(const CompileChanges& changes) {
  std::vector<std::pair<const char*, Json>> out;
  const auto add = [&](const char* name, const auto& value) {
    if (!value) return;
    if (!in_float32(static_cast<double>(*value)))
      throw bad_usage("`{}` {}: expected a number that float32 holds", name, *value);
    out.emplace_back(name, *value);
  };
  if (const auto rate = changes.constant_rate()) {
    out.emplace_back("learning_rate", *rate);
  } else if (changes.learning_rate) {
    Json schedule = as_json("`learning_rate`", *changes.learning_rate);
    if (schedule.is_object() && !schedule.contains("module")) schedule["module"] = "keras.optimizers.schedules";
    out.emplace_back("learning_rate", schedule);
  }
  add("weight_decay", changes.weight_decay);
  add("clipnorm", changes.clipnorm);
  add("global_clipnorm", changes.global_clipnorm);
  add("clipvalue", changes.clipvalue);
  add("gradient_accumulation_steps", changes.accumulate);
  if (changes.ema) out.emplace_back("use_ema", true);
  add("ema_momentum", changes.ema);
  return out;
}

/// Returns a class of keras.optimizers.schedules, as Keras writes it.
Json schedule_of(const CompileChanges& changes, double rate, std::int64_t steps) {
  const std::int64_t warmup = changes.warmup_steps.value_or(0);
  const bool is_linear = changes.decay == "linear", falls = is_linear || changes.decay == "cosine";
  Json config{{"initial_learning_rate", warmup > 0 ? 0.0 : rate}, {"decay_steps", steps - warmup}};
  if (is_linear) {
    config["end_learning_rate"] = 0.0;
    config["power"] = 1.0;
    config["cycle"] = false;
  } else {  // with an alpha of 1, the rate stays constant after the warm-up
    config["alpha"] = falls ? 0.0 : 1.0;
  }
  const char* const name = is_linear ? "PolynomialDecay" : "CosineDecay";
  config["name"] = name;
  if (!is_linear) {
    config["warmup_target"] = warmup > 0 ? Json(rate) : Json();
    config["warmup_steps"] = warmup;
  }
  return Json{
      {"module", "keras.optimizers.schedules"}, {"class_name", name}, {"config", config}, {"registered_name", nullptr}};
}

void set_in_loss(Json& loss, const char* option, const char* field, const Json& value) {
  if (loss.is_array() && loss.size() == 1) return set_in_loss(loss[0], option, field, value);
  if (loss.is_string()) {
    const auto name = keras::loss_class(loss.get<std::string>());
    if (!name)
      throw bad_usage("{}: the meaning of '{}' depends on the targets: name the loss with `loss`", option,
                      printable(loss.get<std::string>()));
    loss = object_of("keras.losses", *name);
  }
  if (!loss.is_object() || !loss.contains("class_name") || !loss.contains("config") || !loss["config"].is_object())
    throw bad_usage("{}: there are several losses, or none; write it into the JSON of `loss`", option);
  // Beside BinaryCrossentropy, BinaryFocalCrossentropy and their categorical forms.
  const auto class_name = loss["class_name"].is_string() ? loss["class_name"].get<std::string>() : "";
  const bool sparse = class_name == "SparseCategoricalCrossentropy";
  if (!class_name.ends_with("Crossentropy") || (sparse && field == std::string_view("label_smoothing")))
    throw bad_usage("{}: the loss {} has no '{}'", option, printable(class_name), field);
  loss["config"][field] = value;
}

}  // namespace

std::optional<double> CompileChanges::constant_rate() const {
  if (!learning_rate || is_json(*learning_rate)) return std::nullopt;
  const std::optional<double> rate = as_number(*learning_rate);
  if (rate && *rate >= 0.0 && in_float32(*rate)) return rate;
  throw bad_usage(
      "`learning_rate` '{}': expected a non-negative number of float32, or JSON of a schedule, as in {{\"class_name\": "
      "\"CosineDecay\", \"config\": {{…}}}}",
      printable(*learning_rate));
}

bool change_optimizer(const CompileChanges& changes) {
  return changes.file || changes.config || changes.optimizer || changes.schedule() ||
         !optimizer_fields(changes).empty();
}

CompileChanges without_optimizer(CompileChanges changes) {
  CompileChanges out;
  out.loss = std::move(changes.loss);
  out.loss_weights = std::move(changes.loss_weights);
  out.metrics = std::move(changes.metrics);
  out.label_smoothing = changes.label_smoothing;
  out.from_logits = changes.from_logits;
  return out;
}

std::string optimizer_options(const CompileChanges& changes) {
  std::vector<std::string> out;
  const auto add = [&](const char* option, bool is_given) {
    if (is_given) out.emplace_back(option);
  };
  add("`compile`", changes.file.has_value());
  add("`optimizer`", changes.optimizer.has_value());
  add("`learning_rate`", changes.learning_rate.has_value());
  add("`warmup_steps`", changes.warmup_steps.has_value());
  add("`decay`", changes.decay.has_value());
  add("`weight_decay`", changes.weight_decay.has_value());
  add("`clipnorm`", changes.clipnorm.has_value());
  add("`global_clipnorm`", changes.global_clipnorm.has_value());
  add("`clipvalue`", changes.clipvalue.has_value());
  add("`accumulate`", changes.accumulate.has_value());
  add("`ema`", changes.ema.has_value());
  return join(out, ", ");
}

bool has_optimizer(const keras::Model& model, const CompileChanges& changes, std::int64_t steps) {
  const std::optional<std::string> own = model.compile_config();
  if (!own) return false;
  CompileChanges asked = changes;
  Json config = keras::parse_json_text(*own, "compile_config");
  const Json rate = optimizer_config(config).value("learning_rate", Json());
  if (!asked.learning_rate && asked.moves_rate() && rate.is_object()) {  // the rate that its schedule was made from
    const Json schedule = rate.value("config", Json::object());
    for (const char* field : {"warmup_target", "initial_learning_rate"})
      if (const Json value = schedule.value(field, Json()); value.is_number() && !asked.learning_rate)
        asked.learning_rate = fmt::format("{}", value.get<double>());
  }
  optimizers::Settings wanted = keras::compiled_optimizer(with_schedule(compile_config(model, asked), asked, steps)),
                       has = keras::compiled_optimizer(*own);
  wanted.name = has.name;  // only its variables have the name
  return wanted == has;
}

std::string optimizer_title(const std::string& compile_config) {
  Json config = keras::parse_json_text(compile_config, "compile_config");
  const Json name = optimizer_in(config["optimizer"]).value("class_name", Json());
  if (!name.is_string()) return "";
  return keras::optimizer_class(name.get<std::string>()).value_or(name.get<std::string>());
}

std::string compile_config(const keras::Model& model, const CompileChanges& changes) {
  const std::optional<std::string> own =
      changes.file     ? parse_compile_config(std::string(io::read_file(*changes.file).text()), *changes.file)
      : changes.config ? parse_compile_config(*changes.config, "compile_config")
                       : model.compile_config();
  if (!own && !changes.loss)
    throw bad_input("the model is not compiled: give `loss`{}",
                    changes.optimizer ? "" : ", and `optimizer` (default rmsprop)");
  Json config =
      own ? keras::parse_json_text(*own, "compile_config") : Json{{"optimizer", "rmsprop"}, {"loss", nullptr}};
  if (changes.optimizer) config["optimizer"] = as_json("`optimizer`", *changes.optimizer);
  if (changes.loss) config["loss"] = as_json("`loss`", *changes.loss);
  if (changes.metrics) {
    config["metrics"] = metrics_of(*changes.metrics);
    config["weighted_metrics"] = nullptr;
  }
  if (changes.loss_weights) config["loss_weights"] = loss_weights_of(*changes.loss_weights);
  refuse_custom(config);
  if (const std::vector<std::pair<const char*, Json>> fields = optimizer_fields(changes); !fields.empty()) {
    Json& serialized = optimizer_config(config);
    for (const auto& [name, value] : fields) serialized[name] = value;
  }
  if (changes.loss_scale) config["optimizer"] = scaled(config["optimizer"], *changes.loss_scale);
  name_class(config["optimizer"]);
  if (changes.from_logits) set_in_loss(config["loss"], "`from_logits`", "from_logits", true);
  if (changes.label_smoothing)
    set_in_loss(config["loss"], "`label_smoothing`", "label_smoothing", *changes.label_smoothing);
  return keras::write_json_text(config);
}

std::string with_schedule(const std::string& compile_config, const CompileChanges& changes, std::int64_t steps) {
  if (!changes.moves_rate()) return compile_config;
  const std::int64_t warmup = changes.warmup_steps.value_or(0);
  if (warmup > 0 && changes.decay == "linear")
    throw bad_usage(
        "`decay` linear cannot be combined with `warmup_steps`: Keras has no such schedule; use `decay` cosine");
  if (steps == 0)
    throw bad_usage(
        "`decay` and `warmup_steps`: the training has no steps, as `batch_size` exceeds the number of rows");
  if (steps <= warmup) throw bad_usage("`warmup_steps` {}: the training has only {} steps in total", warmup, steps);
  Json config = keras::parse_json_text(compile_config, "compile_config");
  Json& serialized = optimizer_config(config);
  const Json given = serialized.value("learning_rate", Json());
  if (given.is_object())
    throw bad_usage(
        "the model's optimizer already has a learning rate schedule; give `learning_rate` R to replace it with "
        "`warmup_steps` and `decay`");
  const double rate = given.is_number() ? given.get<double>() : keras::compiled_optimizer(compile_config).learning_rate;
  serialized["learning_rate"] = schedule_of(changes, rate, steps);
  name_class(config["optimizer"]);
  return keras::write_json_text(config);
}

}  // namespace attn::train
