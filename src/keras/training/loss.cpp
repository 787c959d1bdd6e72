#include "training/loss.h"

#include <algorithm>

#include "attn/base/text.h"

namespace attn::keras {

graph::ValueId LossCall::reduce(graph::ReduceFn fn, graph::ValueId x, std::int64_t axis, bool keepdims) {
  const Shape shape = b.shape(x);
  const auto at = normalize_axis(axis, shape.rank());
  if (!at) throw bad_input("a loss over axis {} of predictions {}", axis, shape.str());
  return b.apply(graph::Reduce{fn, {*at}, keepdims}, {x});
}

namespace {

std::vector<const LossInfo*> all_losses() {
  std::vector<const LossInfo*> rows;
  for (const auto losses : {regression_losses(), crossentropy_losses(), batch_losses()})
    for (const LossInfo& row : losses) rows.push_back(&row);
  return rows;
}

/// Returns the loss that "crossentropy" stands for (keras/src/trainers/compile_utils.py,
/// is_binary_or_sparse_categorical).
std::string_view crossentropy_for(const Shape& predictions, const std::optional<Shape>& targets) {
  if (predictions.rank() > 0 && predictions.back() == 1) return "binary_crossentropy";
  if (!targets || targets->rank() < predictions.rank() || (targets->rank() > 0 && targets->back() == 1))
    return "sparse_categorical_crossentropy";
  return "categorical_crossentropy";
}

const LossInfo& known(const Ref& ref, std::string_view name) {
  const LossInfo* row = find_loss(name);
  if (row == nullptr) {
    std::vector<std::string_view> names;
    std::vector<std::string> functions;
    for (const LossInfo* each : all_losses()) functions.push_back(split(each->functions, ' ').front());
    for (const std::string& function : functions) names.push_back(function);
    for (const LossInfo* each : all_losses()) names.push_back(each->name);
    ref.fail(fmt::format("the loss '{}' is not known{}", printable(name), did_you_mean(name, names)));
  }
  return *row;
}

}  // namespace

const LossInfo* find_loss(std::string_view name) {
  for (const LossInfo* row : all_losses()) {
    const std::vector<std::string> functions = split(row->functions, ' ');
    if (row->name == name || std::find(functions.begin(), functions.end(), name) != functions.end()) return row;
  }
  return nullptr;
}

std::optional<std::string> loss_class(std::string_view name) {
  const LossInfo* const row = find_loss(name);
  return row != nullptr ? std::optional(std::string(row->name)) : std::nullopt;
}

LossPtr read_loss(const Ref& ref, const Shape& predictions, const std::optional<Shape>& targets) {
  if (ref.is_string()) {
    std::string name = ref.text();
    if (name == "crossentropy" || name == "ce") name = crossentropy_for(predictions, targets);
    const LossInfo& row = known(ref, name);
    LossPtr loss = row.make();
    loss->name = split(row.functions, ' ').front();
    return loss;
  }
  ref.expect_object();
  const std::string class_name = ref["class_name"].text();
  if (class_name == "function") {
    // A function of Keras is stored under its name. The code of a custom function is in no file.
    const Ref config = ref["config"];
    if (config.is_string() && find_loss(config.text()) != nullptr) return read_loss(config, predictions, targets);
    ref.fail(fmt::format("the loss is a custom function, '{}', which no file contains; choose another loss",
                         printable(config.is_string() ? config.text() : "")));
  }
  const LossInfo& row = known(ref["class_name"], class_name);
  LossPtr loss = row.make();
  loss->name = split(row.functions, ' ').front();
  std::vector<std::string> warnings;
  const Ref config = ref["config"];
  Fields fields(config, warnings);
  fields("name", loss->name);
  fields("reduction", loss->reduction);
  loss->fields(fields);
  fields.ignored({"dtype", "fn", "axis"});
  fields.check_keys();
  static constexpr std::string_view kReductions[] = {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight",
                                                     "none"};
  const std::string reduction = loss->reduction.value_or("none");
  if (std::find(std::begin(kReductions), std::end(kReductions), reduction) == std::end(kReductions))
    config["reduction"].fail(
        fmt::format("the reduction '{}' is not known{}", printable(reduction), did_you_mean(reduction, kReductions)));
  return loss;
}

}  // namespace attn::keras
