// Names and objects of metrics, as keras/src/metrics/__init__.py and trainers/compile_utils.py resolve them.
#include "training/metric.h"

#include <algorithm>
#include <vector>

#include "attn/base/text.h"
#include "training/loss.h"
#include "training/mean_metric.h"

namespace attn::keras {
namespace {

std::vector<const MetricInfo*> all_metrics() {
  std::vector<const MetricInfo*> rows;
  for (const auto metrics : {mean_metrics(), accuracy_metrics(), confusion_metrics(), curve_metrics(), score_metrics()})
    for (const MetricInfo& row : metrics) rows.push_back(&row);
  return rows;
}

bool lists(std::string_view names, std::string_view name) {
  const std::vector<std::string> all = split(names, ' ');
  return !name.empty() && std::ranges::count(all, name) > 0;
}

/// Finds a metric by its class, by the snake case of the class, or by a short name.
const MetricInfo* find_metric(std::string_view name) {
  for (const MetricInfo* row : all_metrics())
    if (name == row->name || name == snake_case(row->name) || lists(row->shorts, name)) return row;
  return nullptr;
}

const MetricInfo* find_function(std::string_view name) {
  for (const MetricInfo* row : all_metrics())
    if (lists(row->functions, name)) return row;
  return nullptr;
}

/// Returns whether the name is "accuracy" or "acc" in any case. It selects a class by the shapes, unlike an object of
/// the class Accuracy.
bool is_accuracy(std::string_view name) {
  std::string word(name);
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return word == "accuracy" || word == "acc";
}

std::string_view accuracy_for(const Shape& truth, const Shape& pred) {
  if (pred.rank() > 0 && pred.back() == 1) return "BinaryAccuracy";
  const bool sparse = truth.rank() < pred.rank() || (truth.rank() > 0 && truth.back() == 1);
  return sparse ? "SparseCategoricalAccuracy" : "CategoricalAccuracy";
}

[[noreturn]] void fail_unknown(const Ref& ref, std::string_view name) {
  std::vector<std::string_view> names;
  std::vector<std::string> words;
  for (const MetricInfo* row : all_metrics()) words.push_back(snake_case(row->name));
  for (const std::string& word : words) names.push_back(word);
  for (const MetricInfo* row : all_metrics()) names.push_back(row->name);
  ref.fail(fmt::format("the metric '{}' is not known{}", printable(name), did_you_mean(name, names)));
}

void read_fields(Metric& metric, const Ref& config) {
  std::vector<std::string> warnings;
  Fields fields(config, warnings);
  fields.ignored({"dtype", "fn"});
  std::optional<std::string> name;
  fields("name", name);
  if (name) metric.name = *name;
  metric.fields(fields);
  fields.check_keys();
}

MetricPtr metric_of_name(const Ref& ref, const MetricCall& call) {
  const std::string& name = ref.text();
  const MetricInfo* row = find_metric(
      is_accuracy(name) ? accuracy_for(call.b.shape(call.y_true), call.b.shape(call.y_pred)) : std::string_view(name));
  MetricPtr out;
  if (row != nullptr) {
    if (!row->needs.empty())
      ref.fail(fmt::format("the metric '{}' has no default for {}: give its object", printable(name), row->needs));
    out = row->make();
  } else if (const LossInfo* loss = find_loss(name)) {
    out = metric_of_function(*loss);
  } else {
    fail_unknown(ref, name);
  }
  out->name = name;
  return out;
}

/// Reads a function of Keras as a metric; files store it under its name.
MetricPtr metric_of_function_object(const Ref& ref) {
  const Ref function = ref["config"];
  const std::string name = function.is_string() ? function.text() : "";
  MetricPtr out;
  if (const LossInfo* loss = find_loss(name)) {
    out = metric_of_function(*loss);
  } else if (const MetricInfo* row = find_function(name)) {
    out = row->make();
  } else {
    ref.fail(fmt::format("the metric is a custom function, '{}', which no file holds", printable(name)));
  }
  out->name = name;
  return out;
}

MetricPtr metric_of_loss_object(const Ref& ref, const MetricCall& call) {
  LossPtr loss = read_loss(ref, call.b.shape(call.y_pred), call.b.shape(call.y_true));
  const auto config = ref.find("config");
  const auto given = config ? config->find("name") : std::nullopt;
  std::string name = given && given->is_string() ? given->text() : loss->name;
  MetricPtr out = metric_of_loss(std::move(loss));
  out->name = std::move(name);
  return out;
}

MetricPtr metric_of_object(const Ref& ref, const MetricCall& call) {
  const std::string class_name = ref["class_name"].text();
  const auto module = ref.find("module");
  const std::string_view place = module && module->is_string() ? std::string_view(module->text()) : "";
  if (class_name == "function") return metric_of_function_object(ref);
  const MetricInfo* const row = find_metric(class_name);
  const bool is_loss = place.starts_with("keras.losses") || place.starts_with("keras.src.losses");
  if (is_loss || (row == nullptr && place.empty() && find_loss(class_name) != nullptr))
    return metric_of_loss_object(ref, call);
  if (class_name == "MeanMetricWrapper") {
    const Ref config = ref["config"], function = config["fn"];
    MetricPtr out = metric_of_object(function, call);
    out->name = snake_case(class_name);
    read_fields(*out, config);
    return out;
  }
  if (class_name == "Mean" || class_name == "Sum")
    ref.fail(fmt::format("the metric '{}' takes values, and no targets and predictions: Keras cannot call it in fit()",
                         class_name));
  if (row == nullptr) fail_unknown(ref["class_name"], class_name);
  MetricPtr out = row->make();
  out->name = row->default_name.empty() ? snake_case(row->name) : std::string(row->default_name);
  static const Document kEmpty("metric", Json::object());
  const auto config = ref.find("config");
  read_fields(*out, config ? *config : Ref(kEmpty));
  return out;
}

MetricPtr read_metric(const Ref& ref, const MetricCall& call) {
  if (ref.is_string()) return metric_of_name(ref, call);
  if (ref.is_object()) return metric_of_object(ref, call);
  ref.fail("expected the name of a metric, or its object, got " + ref.kind());
}

}  // namespace

bool is_known_function(std::string_view name) { return find_loss(name) != nullptr || find_function(name) != nullptr; }

LossGraph::Metric lower_metric(const Ref& ref, const MetricCall& call) {
  MetricPtr metric;
  try {
    metric = read_metric(ref, call);
  } catch (const Error& error) {
    throw Error(error).about("metrics");
  }
  try {
    MetricSums sums = metric->sums(call);
    return {metric->name, sums.total, sums.count, std::move(sums.rule), sums.numbers, metric->up()};
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("the metric '{}': {}", printable(metric->name), error.what()))
        .about("metrics");
  }
}

}  // namespace attn::keras
