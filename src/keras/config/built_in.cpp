#include "config/built_in.h"

#include <algorithm>
#include <span>
#include <vector>

#include "attn/base/text.h"
#include "config/any_number.h"
#include "config/bounds.h"
#include "config/foreign_class.h"

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

/// A class whose objects have no effect at inference.
struct InertClass {
  std::string_view name;
  std::string_view short_name;  ///< the other name that keras.regularizers.get and keras.constraints.get accept
  std::string_view defaults;    ///< the arguments with their defaults, in Keras's order
};

struct Kind {
  std::string_view name, module;
  std::span<const InertClass> classes;
  std::span<const InertClass> of_keras2;  ///< names of classes in Keras 1 and 2
};

// Keras stores the factors of L1 and OrthogonalRegularizer as float32.
constexpr InertClass kRegularizers[] = {
    {"L1", "l1", R"({"l1": 0.009999999776482582})"},
    {"L2", "l2", R"({"l2": 0.01})"},
    {"L1L2", "l1l2", R"({"l1": 0.0, "l2": 0.0})"},
    {"OrthogonalRegularizer", "orthogonal_regularizer", R"({"factor": 0.009999999776482582, "mode": "rows"})"},
    {"Regularizer", "regularizer", "{}"}};  // Keras can read this class but not write it
constexpr InertClass kRegularizers2[] = {{"L1L2", "l1_l2", R"({"l1": 0.01, "l2": 0.01})"}};
constexpr InertClass kConstraints[] = {
    {"MaxNorm", "max_norm", R"({"max_value": 2, "axis": 0})"},
    {"MinMaxNorm", "min_max_norm", R"({"min_value": 0.0, "max_value": 1.0, "rate": 1.0, "axis": 0})"},
    {"NonNeg", "non_neg", "{}"},
    {"UnitNorm", "unit_norm", R"({"axis": 0})"},
    {"Constraint", "constraint", "{}"}};
constexpr InertClass kConstraints2[] = {{"MaxNorm", "maxnorm", R"({"max_value": 2, "axis": 0})"},
                                        {"NonNeg", "nonneg", "{}"},
                                        {"UnitNorm", "unitnorm", R"({"axis": 0})"}};

constexpr Kind kRegularizer{"regularizer", "keras.regularizers", kRegularizers, kRegularizers2};
constexpr Kind kConstraint{"constraint", "keras.constraints", kConstraints, kConstraints2};

std::vector<std::string_view> names_of(std::span<const InertClass> classes) {
  std::vector<std::string_view> names;
  for (const InertClass& row : classes) names.insert(names.end(), {row.name, row.short_name});
  return names;
}

const InertClass* find(std::span<const InertClass> classes, std::string_view name) {
  const auto found =
      std::ranges::find_if(classes, [&](const InertClass& row) { return row.name == name || row.short_name == name; });
  return found == classes.end() ? nullptr : &*found;
}

/// Returns the possible classes of an object of unspecified kind: regularizers, constraints and seeds.
std::vector<std::string_view> inert_classes() {
  std::vector<std::string_view> out = {"SeedGenerator"};
  for (const Kind& kind : {kRegularizer, kConstraint}) {
    for (const auto classes : {kind.classes, kind.of_keras2}) {
      const auto names = names_of(classes);
      out.insert(out.end(), names.begin(), names.end());
    }
  }
  return out;
}

/// Throws Error (bad_input) for an argument of the wrong type, and for a value that Keras rejects or cannot compute
/// with. An infinite number is valid, because Keras writes one for a number beyond float32; training rejects it.
void check_arguments(const InertClass& row, const Ref& config) {
  for (const std::string_view key : {"l1", "l2", "factor", "min_value", "max_value"})
    if (const auto ref = config.find(key); ref && !(row.name == "L1L2" && ref->is_null()))
      if (!(any_number(*ref) >= 0.0)) ref->fail("expected a number from 0 on, got " + ref->kind());
  if (const auto ref = config.find("rate")) (void)number_in(*ref, kFromZeroToOne);
  if (const auto ref = config.find("mode"); ref && ref->text() != "rows" && ref->text() != "columns")
    ref->fail(fmt::format("expected rows or columns, got '{}'", printable(ref->text())));
  if (const auto ref = config.find("axis")) {
    if (!ref->is_array()) (void)ref->integer();
    if (ref->is_array())
      for (const Ref& axis : ref->elements()) (void)axis.integer();
  }
  if (row.name == "MinMaxNorm") {
    const auto least = config.find("min_value"), most = config.find("max_value");
    const double from = least ? any_number(*least) : 0.0, to = most ? any_number(*most) : 1.0;
    if (from > to) config.fail(fmt::format("expected a min_value up to max_value, got {} and {}", from, to));
  }
}

/// Returns the object as Keras writes it. Some constructors convert numbers to float32 or float first.
Json written(const Kind& kind, const InertClass& row, const Json& given) {
  Json config = Json::parse(row.defaults);
  const bool is_float32 = row.name == "L1" || row.name == "OrthogonalRegularizer";
  for (const auto& [key, value] : given.items()) {
    if (value.is_null() && row.name == "L1L2") {
      config[key] = 0.0;
    } else if (value.is_number() && kind.module == kRegularizer.module) {
      const auto number = value.get<double>();
      config[key] = is_float32 ? static_cast<double>(static_cast<float>(number)) : number;
    } else {
      config[key] = value;
    }
  }
  return {{"module", kind.module}, {"class_name", row.name}, {"config", config}, {"registered_name", nullptr}};
}

/// Rejects unknown arguments, with which Keras cannot create the object.
void check_keys(const Ref& config, const InertClass& row) {
  const Json known = Json::parse(row.defaults);
  std::vector<std::string_view> names;
  for (const auto& item : known.items()) names.emplace_back(item.key());
  for (const auto& [key, member] : config.members())
    if (!known.contains(key))
      member.fail_key(fmt::format("{} has no such argument{}", row.name, did_you_mean(key, names)));
}

/// Reads an object of `kind`, or its name. Keras accepts an object of any known class, so only a name must be of that
/// kind.
Json object_of(const Ref& value, const Kind& kind) {
  if (value.is_null()) return nullptr;
  const bool is_keras2 = value.document().is_keras2();
  const auto find_class = [&](std::string_view name) {
    const InertClass* row = find(kind.classes, name);
    return row == nullptr && is_keras2 ? find(kind.of_keras2, name) : row;
  };
  if (value.is_object()) {
    const std::string& name = value["class_name"].text();
    if (custom_object(value)) return value.json();
    check_inert(value);
    const InertClass* const row = find_class(name);
    const auto config = value.find("config");
    if (row == nullptr) return value.json();
    const bool is_told = config && !config->is_null();
    if (is_told && !is_keras2) check_keys(*config, *row);
    if (is_told) check_arguments(*row, *config);
    return written(kind, *row, is_told ? config->json() : Json::object());
  }
  if (!value.is_string()) value.fail(fmt::format("expected the name of a {}, got {}", kind.name, value.kind()));
  const std::string& name = value.text();
  if (const InertClass* const row = find_class(name)) return written(kind, *row, Json::object());
  std::vector<std::string_view> known = names_of(kind.classes);
  if (is_keras2)
    for (const std::string_view old : names_of(kind.of_keras2)) known.push_back(old);
  value.fail(fmt::format("unknown {} '{}'{}", kind.name, shortened(name), did_you_mean(name, known)));
}

}  // namespace

std::pair<std::string_view, std::string_view> package_and_class(std::string_view name) {
  const auto at = name.find('>');
  return at == std::string_view::npos ? std::pair{std::string_view(), name}
                                      : std::pair{name.substr(0, at), name.substr(at + 1)};
}

std::optional<CustomReference> foreign_class(const Ref& object) {
  if (const auto module = object.find("module");
      module && module->is_string() && !module->text().empty() && !is_keras_module(module->text()))
    return CustomReference{*module,
                           fmt::format("the class '{}' of the module '{}' is not Keras's; only built-in classes run",
                                       printable(object["class_name"].text()), printable(module->text()))};
  // The form in .h5 files.
  if (const auto class_name = object.find("class_name"); class_name && class_name->is_string()) {
    if (const auto package = package_and_class(class_name->text()).first; !is_keras_package(package))
      return CustomReference{*class_name,
                             fmt::format("the class '{}' is registered by custom code; only built-in classes run",
                                         printable(class_name->text()))};
  }
  if (const auto registered = object.find("registered_name"); registered && registered->is_string()) {
    // A class that was defined in a notebook has no module; Keras writes the module of all its own classes.
    const auto module = object.find("module");
    const bool of_notebook = module && module->is_null() && registered->text().find('>') == std::string::npos;
    if (of_notebook || !is_keras_package(package_and_class(registered->text()).first))
      return CustomReference{*registered,
                             fmt::format("the class '{}' is registered by custom code; only built-in classes run",
                                         printable(registered->text()))};
  }
  return std::nullopt;
}

const char* const kLambdaRefusal =
    "a lambda is Python code, which is never run; only functions of Keras run, by their names";

bool is_lambda(const Ref& object) {
  if (!object.is_object()) return false;
  const auto kind = object.find("class_name"), function = object.find("config");
  // For an unregistered function, Keras 3 writes only the marshalled code.
  if (!kind) return object.find("value").has_value();
  if (!kind->is_string()) return false;
  const bool unnamed = function && function->is_string() && function->text() == "<lambda>";
  return kind->text() == "__lambda__" || (kind->text() == "function" && unnamed);
}

bool is_inert_class(std::string_view class_name) {
  const std::vector<std::string_view> known = inert_classes();
  return std::ranges::count(known, class_name) > 0 || is_initializer(class_name);
}

std::optional<std::string> custom_object(const Ref& object) {
  if (!object.is_object()) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const auto ref = object.find(key);
    return ref && ref->is_string() ? std::optional(ref->text()) : std::nullopt;
  };
  const auto is_registered = [](const std::string& name) {
    return name.find('>') != std::string::npos && !is_keras_package(package_and_class(name).first);
  };
  const auto class_name = text("class_name"), module = text("module"), registered = text("registered_name");
  if (!class_name) return std::nullopt;
  if (is_lambda(object)) return "a lambda";
  if (*class_name == "function") {
    // Built-in functions of Python have the same serialized form, but no user passes one of these.
    static constexpr std::string_view kOfPython[] = {"eval", "exec", "compile", "open", "input", "__import__"};
    const auto function = text("config");
    if (!function || registered != "function" || module != "builtins") return std::nullopt;
    return std::ranges::count(kOfPython, *function) == 0 ? function : std::nullopt;
  }
  if (is_registered(*class_name)) return class_name;  // the form in .h5 files
  if (!registered || (module && is_keras_module(*module))) return std::nullopt;
  return is_registered(*registered) || *registered == *class_name ? registered : std::nullopt;
}

std::string object_name(const Json& object) {
  const Document document("object", object);
  return custom_object(Ref(document)).value_or(object.value("class_name", ""));
}

std::optional<CustomReference> foreign_activation(const Ref& config) {
  const auto activation = config.is_object() ? config.find("activation") : std::nullopt;
  if (!activation || !activation->is_object()) return std::nullopt;
  if (is_lambda(*activation)) return CustomReference{*activation, kLambdaRefusal};
  const auto kind = activation->find("class_name"), function = activation->find("config");
  if (!kind || !kind->is_string() || kind->text() != "function" || !function || !function->is_string())
    return std::nullopt;
  if (is_keras_package(package_and_class(function->text()).first)) return std::nullopt;
  return CustomReference{*activation,
                         fmt::format("the function '{}' is registered by custom code; only built-in classes run",
                                     shortened(function->text()))};
}

void check_built_in(const Ref& object) {
  if (const auto foreign = foreign_class(object)) foreign->place.fail(foreign->why);
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
      class_name->fail(fmt::format("'{}' is not a Keras regularizer, constraint or seed{}", shortened(name),
                                   did_you_mean(name, known)));
  }
  for (const auto& [key, member] : value.members()) check_inert(member);
}

Json regularizer(const Ref& value) { return object_of(value, kRegularizer); }

Json constraint(const Ref& value) { return object_of(value, kConstraint); }

}  // namespace attn::keras
