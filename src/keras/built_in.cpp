#include "built_in.h"

#include <algorithm>
#include <array>

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

/// What regularizers, constraints and seeds may be. None of them acts at inference.
constexpr std::array<std::string_view, 17> kInert = {
    "L1", "L2", "L1L2", "OrthogonalRegularizer", "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "SeedGenerator",
    // as Keras 1 and 2 call them too
    "l1", "l2", "l1_l2", "orthogonal_regularizer", "max_norm", "min_max_norm", "non_neg", "unit_norm"};

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
    if (std::find(kInert.begin(), kInert.end(), name) == kInert.end())
      class_name->fail(fmt::format("'{}' is no regularizer, constraint or seed of Keras's{}", shortened(name),
                                   did_you_mean(name, kInert)));
  }
  for (const auto& [key, member] : value.members()) check_inert(member);
}

}  // namespace attn::keras
