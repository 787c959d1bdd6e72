#include "built_in.h"

#include <algorithm>
#include <span>
#include <vector>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

bool is_keras_module(std::string_view module) {
  return module == "keras" || module.starts_with("keras.") || module.starts_with("tf_keras") ||
         module.starts_with("tensorflow.python.keras") || module.starts_with("tensorflow.keras") ||
         module == "keras_hub" || module.starts_with("keras_hub.") || module.starts_with("keras_nlp");
}

bool is_keras_package(std::string_view package) {
  return package.empty() || package == "keras_hub" || package == "keras_nlp" || package == "keras";
}

/// A kind of objects that a config names and none of which acts at inference.
struct Kind {
  std::string_view name;
  /// Classes, and the short names by which keras.regularizers.get and keras.constraints.get know them.
  std::span<const std::string_view> names;
  std::span<const std::string_view> of_keras2;  ///< what Keras 1 and 2 call them besides
};

constexpr std::string_view kRegularizerNames[] = {
    "L1",          "l1",         "L2", "l2", "L1L2", "l1l2", "OrthogonalRegularizer", "orthogonal_regularizer",
    "Regularizer", "regularizer"};
constexpr std::string_view kRegularizerNames2[] = {"l1_l2"};
constexpr std::string_view kConstraintNames[] = {"MaxNorm", "max_norm", "MinMaxNorm", "min_max_norm", "NonNeg",
                                                 "non_neg", "UnitNorm", "unit_norm",  "Constraint",   "constraint"};
constexpr std::string_view kConstraintNames2[] = {"maxnorm", "nonneg", "unitnorm"};

constexpr Kind kRegularizer{"regularizer", kRegularizerNames, kRegularizerNames2};
constexpr Kind kConstraint{"constraint", kConstraintNames, kConstraintNames2};

/// What an object may be whose kind is not told: a regularizer, a constraint or a seed.
std::vector<std::string_view> inert_classes() {
  std::vector<std::string_view> out = {"SeedGenerator"};
  for (const Kind& kind : {kRegularizer, kConstraint})
    for (const auto names : {kind.names, kind.of_keras2}) out.insert(out.end(), names.begin(), names.end());
  return out;
}

/// An object of a kind, or its name. Keras takes an object of any class that it knows, so only a name tells the kind.
void check_kind(const Ref& value, const Kind& kind) {
  if (value.is_null()) return;
  if (value.is_object()) {
    (void)value["class_name"].text();
    check_inert(value);
    return;
  }
  if (!value.is_string()) value.fail(fmt::format("expected the name of a {}, got {}", kind.name, value.kind()));
  std::vector<std::string_view> known(kind.names.begin(), kind.names.end());
  if (value.document().is_keras2()) known.insert(known.end(), kind.of_keras2.begin(), kind.of_keras2.end());
  if (const std::string& name = value.text(); std::find(known.begin(), known.end(), name) == known.end())
    value.fail(fmt::format("unknown {} '{}'{}", kind.name, shortened(name), did_you_mean(name, known)));
}

}  // namespace

std::pair<std::string_view, std::string_view> package_and_class(std::string_view name) {
  const auto at = name.find('>');
  return at == std::string_view::npos ? std::pair{std::string_view(), name}
                                      : std::pair{name.substr(0, at), name.substr(at + 1)};
}

void check_built_in(const Ref& object) {
  if (const auto module = object.find("module");
      module && module->is_string() && !module->text().empty() && !is_keras_module(module->text()))
    module->fail(fmt::format("the class '{}' of the module '{}' is not Keras's; only built-in classes are known",
                             printable(object["class_name"].text()), printable(module->text())));
  if (const auto registered = object.find("registered_name"); registered && registered->is_string()) {
    if (!is_keras_package(package_and_class(registered->text()).first))
      registered->fail(
          fmt::format("the class '{}' is registered by code that is not here; only built-in classes are known",
                      printable(registered->text())));
  }
}

void check_inert(const Ref& value) {
  if (value.is_array())
    for (const Ref& item : value.elements()) check_inert(item);
  if (!value.is_object()) return;
  if (const auto class_name = value.find("class_name"); class_name && class_name->is_string()) {
    const std::string& name = class_name->text();
    if (name == "function" || name == "Lambda" || name == "__lambda__")
      class_name->fail("functions in a config are never run");
    check_built_in(value);
    if (const auto known = inert_classes(); std::find(known.begin(), known.end(), name) == known.end())
      class_name->fail(fmt::format("'{}' is no regularizer, constraint or seed of Keras's{}", shortened(name),
                                   did_you_mean(name, known)));
  }
  for (const auto& [key, member] : value.members()) check_inert(member);
}

void check_regularizer(const Ref& value) { check_kind(value, kRegularizer); }

void check_constraint(const Ref& value) { check_kind(value, kConstraint); }

}  // namespace attn::keras
