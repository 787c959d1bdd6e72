#include "training/constraint.h"

#include "attn/base/text.h"
#include "config/bounded_fields.h"
#include "config/foreign_class.h"
#include "training/layer_configs.h"

namespace attn::keras {
namespace {

/// Reads an object in the form of keras::constraint, whose arguments are already checked.
optimizers::Constraint read(const Json& object, const Shape& shape) {
  const std::string name = object.value("class_name", "");
  const Json given = object.value("config", Json()), config = given.is_object() ? given : Json::object();
  optimizers::Constraint out;
  if (const auto axis = config.find("axis"); axis != config.end())
    out.axis = axis->is_array() ? axis->get<std::vector<std::int64_t>>() : std::vector{axis->get<std::int64_t>()};
  if (name == "NonNeg") {
    out.kind = optimizers::ConstraintKind::non_neg;
  } else if (name == "UnitNorm") {
    out.kind = optimizers::ConstraintKind::unit_norm;
  } else if (name == "MaxNorm") {
    out.kind = optimizers::ConstraintKind::max_norm;
    out.max_value = config.value("max_value", 2.0);
  } else if (name == "MinMaxNorm") {
    out.kind = optimizers::ConstraintKind::min_max_norm;
    out.min_value = config.value("min_value", 0.0);
    out.max_value = config.value("max_value", 1.0);
    out.rate = config.value("rate", 1.0);
  } else {
    throw bad_input("the constraint '{}' is not supported in training", printable(object_name(object)));
  }
  for (const double norm : {out.min_value, out.max_value})
    if (!kNotNegative.hold(norm))
      throw bad_input("a norm of the constraint {} is {}, and training expects {}", name, norm, kNotNegative.expected);
  if (out.kind != optimizers::ConstraintKind::non_neg)
    for (const std::int64_t axis : out.axis)
      if (!normalize_axis(axis, shape.rank()))
        throw bad_input("the constraint {} is along axis {} of a weight {}", name, axis, shape.str());
  return out;
}

}  // namespace

std::vector<std::optional<optimizers::Constraint>> constraints_of(Functional& model) {
  LayerConfigs configs;
  std::vector<std::optional<optimizers::Constraint>> out;
  visit_variables(model, [&](const Variable& variable) {
    const Json* const object = configs.of_variable(variable, "_constraint");
    out.emplace_back();
    if (object == nullptr || !variable.spec().trainable) return;
    try {
      out.back() = read(*object, variable.spec().shape);
    } catch (const Error& error) {
      variable.layer.fail(error.what());
    }
  });
  return out;
}

}  // namespace attn::keras
