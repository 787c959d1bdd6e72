#include "config/initializer.h"

#include <array>

#include "attn/base/text.h"
#include "config/any_number.h"
#include "config/foreign_class.h"

namespace attn::keras {
namespace {

/// The constructor arguments of a class, which are also the keys of its config.
enum class Arguments : std::uint8_t { none, value, gain, seed_gain, normal, uniform, scaling, seed_axes };

struct Row {
  std::string_view class_name;
  std::string_view name;
  Arguments arguments = Arguments::none;
  double scale = 1.0;
  std::string_view mode{}, distribution{};
};

constexpr std::array kInitializers = {
    Row{"Zeros", "zeros"},
    Row{"Ones", "ones"},
    Row{"Constant", "constant", Arguments::value},
    Row{"Identity", "identity", Arguments::gain},
    Row{"Orthogonal", "orthogonal", Arguments::seed_gain},
    Row{"RandomNormal", "random_normal", Arguments::normal},
    Row{"TruncatedNormal", "truncated_normal", Arguments::normal},
    Row{"RandomUniform", "random_uniform", Arguments::uniform},
    Row{"VarianceScaling", "variance_scaling", Arguments::scaling, 1.0, "fan_in", "truncated_normal"},
    Row{"GlorotUniform", "glorot_uniform", Arguments::seed_axes, 1.0, "fan_avg", "uniform"},
    Row{"GlorotNormal", "glorot_normal", Arguments::seed_axes, 1.0, "fan_avg", "truncated_normal"},
    Row{"LecunUniform", "lecun_uniform", Arguments::seed_axes, 1.0, "fan_in", "uniform"},
    Row{"LecunNormal", "lecun_normal", Arguments::seed_axes, 1.0, "fan_in", "truncated_normal"},
    Row{"HeUniform", "he_uniform", Arguments::seed_axes, 2.0, "fan_in", "uniform"},
    Row{"HeNormal", "he_normal", Arguments::seed_axes, 2.0, "fan_in", "truncated_normal"},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherNames = {
    {{"uniform", "random_uniform"},
     {"normal", "random_normal"},
     {"one", "ones"},
     {"zero", "zeros"},
     {"IdentityInitializer", "identity"},
     {"OrthogonalInitializer", "orthogonal"},
     {"eye", "identity"},
     {"orthogonal_initializer", "orthogonal"}}};

const Row* find_initializer(std::string_view name) {
  for (const auto& [alias, real] : kOtherNames)
    if (name == alias) name = real;
  for (const Row& row : kInitializers)
    if (row.name == name || row.class_name == name) return &row;
  return nullptr;
}

std::vector<std::string_view> initializer_names() {
  std::vector<std::string_view> out;
  for (const Row& row : kInitializers) {
    out.push_back(row.name);
    out.push_back(row.class_name);
  }
  return out;
}

/// Visits the arguments of a class in the order in which Keras writes them.
template <typename Visit>
void visit_arguments(const Row& row, graph::Initializer& value, Json& seed, Visit&& visit) {
  switch (row.arguments) {
    case Arguments::none:
      break;
    case Arguments::value:
      visit("value", value.value);
      break;
    case Arguments::gain:
      visit("gain", value.gain);
      break;
    case Arguments::seed_gain:
      visit("seed", seed);
      visit("gain", value.gain);
      break;
    case Arguments::normal:
      visit("seed", seed);
      visit("mean", value.mean);
      visit("stddev", value.stddev);
      break;
    case Arguments::uniform:
      visit("seed", seed);
      visit("minval", value.minval);
      visit("maxval", value.maxval);
      break;
    case Arguments::scaling:
      visit("seed", seed);
      visit("scale", value.scale);
      visit("mode", value.mode);
      visit("distribution", value.distribution);
      visit("input_axes", value.input_axes);
      visit("output_axes", value.output_axes);
      break;
    case Arguments::seed_axes:
      visit("seed", seed);
      visit("input_axes", value.input_axes);
      visit("output_axes", value.output_axes);
      break;
  }
}

struct Writer {
  Json& config;
  void operator()(const char* key, const std::vector<int>& axes) { config[key] = axes.empty() ? Json() : Json(axes); }
  template <typename T>
  void operator()(const char* key, const T& value) {
    config[key] = value;
  }
};

struct Reader {
  const Ref& config;
  std::vector<std::string_view> known;

  void operator()(const char* key, double& value) {
    known.emplace_back(key);
    const auto ref = config.find(key);
    if (ref) value = std::string_view(key) == "value" ? any_number(*ref) : ref->number();
  }
  void operator()(const char* key, std::string& value) {
    known.emplace_back(key);
    if (const auto ref = config.find(key)) value = ref->text();
  }
  void operator()(const char* key, std::vector<int>& value) {
    known.emplace_back(key);
    const auto ref = config.find(key);
    if (!ref || ref->is_null()) return;
    value.clear();
    if (ref->is_integer()) {
      value.push_back(static_cast<int>(ref->integer()));
    } else {
      for (const Ref& axis : ref->elements()) value.push_back(static_cast<int>(axis.integer()));
    }
  }
  void operator()(const char* key, Json& seed) {
    known.emplace_back(key);
    const auto ref = config.find(key);
    if (!ref) return;
    if (!ref->is_null() && !ref->is_integer() && !ref->is_object())
      ref->fail("expected an integer or null, got " + ref->kind());
    seed = ref->json();
  }
};

Json envelope(const Row& row, const graph::Initializer& value, const Json& seed) {
  Json config = Json::object();
  auto copy = value;
  auto seed_copy = seed;
  visit_arguments(row, copy, seed_copy, Writer{config});
  // Keras never writes the default gain.
  if (row.arguments == Arguments::gain && value.gain == 1.0) config.erase("gain");
  return {{"module", "keras.initializers"},
          {"class_name", std::string(row.class_name)},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

graph::Initializer defaults_of(const Row& row) {
  graph::Initializer value;
  value.class_name = row.class_name;
  value.scale = row.scale;
  if (!row.mode.empty()) value.mode = row.mode;
  if (!row.distribution.empty()) value.distribution = row.distribution;
  return value;
}

/// Appends all numbers of a nested list in order, for a Constant with an array.
void flatten(const Ref& ref, std::vector<double>& out) {
  if (ref.is_array()) {
    for (const Ref& item : ref.elements()) flatten(item, out);
  } else {
    out.push_back(any_number(ref));
  }
}

}  // namespace

bool is_initializer(std::string_view name) { return find_initializer(name) != nullptr; }

Initializer::Initializer(std::string_view name) {
  const Row* row = find_initializer(name);
  if (row == nullptr) throw internal_error("no initializer '{}'", name);
  value = defaults_of(*row);
  json = envelope(*row, value, nullptr);
}

Initializer Initializer::read(const Ref& ref) {
  Initializer out;
  if (ref.is_null()) return out;
  const bool by_name = ref.is_string();
  if (const auto custom = custom_object(ref)) {  // '>' in the name prevents a clash with Keras's classes
    out.value.class_name = custom->find('>') == std::string::npos ? "custom>" + *custom : *custom;
    out.json = ref.json();
    return out;
  }
  if (!by_name && !ref.is_object()) ref.fail("expected the name of an initializer, got " + ref.kind());
  const Ref name = by_name ? ref : ref["class_name"];
  const Row* row = find_initializer(name.text());
  if (row == nullptr)
    name.fail(fmt::format("unknown initializer '{}'{}", printable(name.text()),
                          did_you_mean(name.text(), initializer_names())));
  out.value = defaults_of(*row);
  Json seed;
  if (!by_name) {
    if (const auto config = ref.find("config"); config && !config->is_null()) {
      config->expect_object();
      Reader reader{*config, {}};
      const auto constant = row->arguments == Arguments::value ? config->find("value") : std::nullopt;
      if (constant && !constant->is_number()) {
        const bool array = constant->is_object();
        flatten(array ? (*constant)["config"]["value"] : *constant, out.value.values);
        reader.known.emplace_back("value");
      } else {
        visit_arguments(*row, out.value, seed, reader);
      }
      for (const auto& [key, member] : config->members())
        if (std::find(reader.known.begin(), reader.known.end(), key) == reader.known.end() && key != "dtype")
          member.fail_key(fmt::format("unknown key{}", did_you_mean(key, reader.known)));
      if (seed.is_number_integer()) out.value.seed = seed.get<std::int64_t>();
      if (constant && !constant->is_number()) {
        out.json = ref.json();
        return out;
      }
    }
  }
  out.json = envelope(*row, out.value, seed);
  if (by_name) return out;
  // Keeps numbers as they were written: 1 does not become 1.0.
  Json& written = out.json["config"];
  if (const auto config = ref.find("config"); config && config->is_object())
    for (const auto& [key, member] : config->members())
      if (member.is_number() && written.contains(key) && written[key].is_number()) written[key] = member.json();
  return out;
}

graph::Initializer Initializer::with_axes(std::vector<int> input_axes, std::vector<int> output_axes) const {
  graph::Initializer out = value;
  if (out.input_axes.empty()) out.input_axes = std::move(input_axes);
  if (out.output_axes.empty()) out.output_axes = std::move(output_axes);
  return out;
}

}  // namespace attn::keras
