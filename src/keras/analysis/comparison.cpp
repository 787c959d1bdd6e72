#include "analysis/comparison.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

using Pair = std::pair<std::optional<std::size_t>, std::optional<std::size_t>>;

struct NamedLayer {
  std::string name, class_name;
};

/// Pairs the layers by name, then by class. The result has indices: those of a in order, then those that only b has.
std::vector<Pair> pair_up(const std::vector<NamedLayer>& a, const std::vector<NamedLayer>& b) {
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < b.size(); ++i) by_name.emplace(b[i].name, i);
  std::vector<Pair> out;
  std::vector<bool> used(b.size(), false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto found = by_name.find(a[i].name);
    const bool fits = found != by_name.end() && !used[found->second];
    out.emplace_back(i, fits ? std::optional(found->second) : std::nullopt);
    if (fits) used[found->second] = true;
  }
  std::map<std::string_view, std::vector<std::size_t>> left;  // indices by class, in reverse order
  for (std::size_t i = b.size(); i-- > 0;)
    if (!used[i]) left[b[i].class_name].push_back(i);
  for (auto& [of_a, of_b] : out) {
    if (of_b) continue;
    const auto found = left.find(a[*of_a].class_name);
    if (found == left.end() || found->second.empty()) continue;
    of_b = found->second.back();
    found->second.pop_back();
    used[*of_b] = true;
  }
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!used[i]) out.emplace_back(std::nullopt, i);
  return out;
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Returns a layer's name and class from its serialized object.
NamedLayer named(const Json& layer) {
  if (!layer.is_object()) return {};
  std::string name = text_at(layer, "name");
  if (const auto config = layer.find("config"); name.empty() && config != layer.end() && config->is_object())
    name = text_at(*config, "name");
  return {std::move(name), text_at(layer, "class_name")};
}

/// The current position in both configs.
struct Place {
  std::string a, b;
  [[nodiscard]] Place operator/(const std::string& key) const {
    std::string escaped;
    for (const char c : key) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return {a + '/' + escaped, b + '/' + escaped};
  }
  [[nodiscard]] Place at(std::size_t of_a, std::size_t of_b) const {
    return {a + '/' + std::to_string(of_a), b + '/' + std::to_string(of_b)};
  }
};

class ConfigWalk {
 public:
  std::vector<ConfigDifference> found;

  void compare(const Json& a, const Json& b, const Place& at, const std::string& layer) {
    if (a.is_object() && b.is_object()) {
      const auto of_a = a.find("layers"), of_b = b.find("layers");
      if (of_a != a.end() && of_b != b.end() && of_a->is_array() && of_b->is_array()) {
        compare_members(a, b, *of_a, *of_b, at, layer);
      } else {
        compare_keys(a, b, at, layer);
      }
    } else if (a.is_array() && b.is_array() && a.size() == b.size()) {
      for (std::size_t i = 0; i < a.size(); ++i)
        if (!is_same_layer(a[i], b[i])) compare(a[i], b[i], at.at(i, i), layer);
    } else if (a != b) {
      found.push_back({layer, at.a, at.b, to_json_text(a, 0), to_json_text(b, 0)});
    }
  }

 private:
  void compare_keys(const Json& a, const Json& b, const Place& at, const std::string& layer,
                    const std::vector<std::string>& but = {}) {
    const auto left_out = [&](const std::string& key) { return std::find(but.begin(), but.end(), key) != but.end(); };
    for (const auto& [key, value] : a.items()) {
      if (left_out(key)) continue;
      if (const auto other = b.find(key); other != b.end()) {
        compare(value, *other, at / key, layer);
      } else {
        found.push_back({layer, (at / key).a, std::nullopt, to_json_text(value, 0), std::nullopt});
      }
    }
    for (const auto& [key, value] : b.items())
      if (!left_out(key) && a.find(key) == a.end())
        found.push_back({layer, std::nullopt, (at / key).b, std::nullopt, to_json_text(value, 0)});
  }

  /// Compares the config of a model.
  void compare_members(const Json& a, const Json& b, const Json& layers_a, const Json& layers_b, const Place& at,
                       const std::string& path) {
    std::vector<NamedLayer> of_a, of_b;
    for (const Json& layer : layers_a) of_a.push_back(named(layer));
    for (const Json& layer : layers_b) of_b.push_back(named(layer));
    const std::vector<Pair> pairs = pair_up(of_a, of_b);
    std::map<std::string, std::string> outer = std::move(renamed_);
    renamed_.clear();
    for (const auto& [i, k] : pairs)
      if (i && k && of_a[*i].name != of_b[*k].name) renamed_[of_a[*i].name] = of_b[*k].name;
    for (const auto& [i, k] : pairs) {
      const Place place = (at / "layers").at(i.value_or(0), k.value_or(0));
      const NamedLayer& known = i ? of_a[*i] : of_b[*k];
      const std::string layer = path.empty() ? known.name : path + '/' + known.name;
      if (!i || !k) {
        const auto side = [&](bool here, const std::string& text) {
          return here ? std::optional(text) : std::optional<std::string>();
        };
        const std::string text = to_json_text(Json(known.class_name), 0);
        found.push_back({layer, side(i.has_value(), place.a), side(k.has_value(), place.b), side(i.has_value(), text),
                         side(k.has_value(), text)});
        continue;
      }
      compare_layer(layers_a[*i], layers_b[*k], place, layer);
    }
    compare_keys(a, b, at, path, {"layers"});
    renamed_ = std::move(outer);
  }

  void compare_layer(const Json& a, const Json& b, const Place& at, const std::string& layer) {
    const NamedLayer of_a = named(a), of_b = named(b);
    if (of_a.name == of_b.name || !a.is_object() || !b.is_object()) return compare(a, b, at, layer);
    // The name is reported once, with its location in both configs.
    const Place name = at / "config" / "name";
    found.push_back({layer, name.a, name.b, to_json_text(Json(of_a.name), 0), to_json_text(Json(of_b.name), 0)});
    const auto config_a = a.find("config"), config_b = b.find("config");
    if (config_a == a.end() || config_b == b.end() || !config_a->is_object() || !config_b->is_object())
      return compare_keys(a, b, at, layer, {"name"});
    Json unnamed_a = *config_a, unnamed_b = *config_b;
    unnamed_a.erase("name");
    unnamed_b.erase("name");
    compare(unnamed_a, unnamed_b, at / "config", layer);
    compare_keys(a, b, at, layer, {"name", "config"});
  }

  /// Returns whether `b` is the renamed `a`. References to layers, such as ["dense", 0, 0], contain the layer's name.
  [[nodiscard]] bool is_same_layer(const Json& a, const Json& b) const {
    if (!a.is_string() || !b.is_string()) return false;
    const auto found_name = renamed_.find(a.get<std::string>());
    return found_name != renamed_.end() && found_name->second == b.get<std::string>();
  }

  std::map<std::string, std::string> renamed_;  // maps names of layers in a's enclosing model to b's
};

/// Returns the rows by path: "block/dense".
std::vector<NamedLayer> paths_of(const Summary& summary) {
  std::vector<NamedLayer> out;
  std::vector<std::string> around;
  for (const SummaryRow& row : summary.rows) {
    around.resize(static_cast<std::size_t>(row.level));
    out.push_back({around.empty() ? row.name : around.back() + '/' + row.name, row.class_name});
    around.push_back(out.back().name);
  }
  return out;
}

}  // namespace

std::vector<ConfigDifference> compare_configs(const Json& a, const Json& b) {
  ConfigWalk walk;
  walk.compare(a, b, {}, "");
  return std::move(walk.found);
}

std::vector<LayerDifference> compare_summaries(const Summary& a, const Summary& b) {
  const std::vector<NamedLayer> of_a = paths_of(a);
  std::vector<LayerDifference> out;
  for (const auto& [i, k] : pair_up(of_a, paths_of(b))) {
    if (!i || !k) continue;
    const std::string& path = of_a[*i].name;
    const SummaryRow &x = a.rows[*i], &y = b.rows[*k];
    const auto add = [&](const char* what, std::string of_x, std::string of_y) {
      if (of_x != of_y) out.push_back({path, x.class_name, what, std::move(of_x), std::move(of_y)});
    };
    add("output shape", x.output_shape_text, y.output_shape_text);
    add("params", with_commas(x.params), with_commas(y.params));
  }
  return out;
}

}  // namespace attn::keras
