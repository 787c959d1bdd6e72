#include "attn/train/low_rank.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/name_pattern.h"
#include "attn/base/text.h"
#include "attn/base/whole_number.h"
#include "attn/keras/json_text.h"
#include "attn/weights/initialize.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

/// Visits the config of each layer of a model, with its name ("block/dense").
void visit_configs(Json& json, const std::string& prefix,
                   const std::function<void(const std::string& name, const std::string& class_name, Json&)>& visit) {
  if (!json.is_object() || !json.contains("class_name") || !json.contains("config")) return;
  Json& config = json["config"];
  if (!config.is_object()) return;
  const std::string name = config.value("name", "");
  const bool is_model = config.contains("layers");
  if (!is_model && json["class_name"].is_string()) visit(prefix + name, json["class_name"], config);
  if (config.contains("layer")) visit_configs(config["layer"], prefix + name + "/", visit);
  if (!is_model) return;
  for (Json& layer : config["layers"]) {
    const bool nested = layer.is_object() && layer.contains("config") && layer["config"].is_object() &&
                        layer["config"].contains("layers");
    visit_configs(layer, nested ? prefix + layer["config"].value("name", "") + "/" : prefix, visit);
  }
}

std::string_view last_of(const std::string& path) { return std::string_view(path).substr(path.rfind('/') + 1); }

bool is_first_factor(const graph::WeightSpec& spec) {
  return last_of(spec.path).starts_with("lora_") && last_of(spec.path).ends_with("_a");
}

/// Returns the path of the kernel to which a factor belongs: "dense/kernel" for "dense/lora_kernel_a".
std::string kernel_of(const std::string& factor) {
  const std::string_view last = last_of(factor);
  return factor.substr(0, factor.size() - last.size()) + std::string(last.substr(5, last.size() - 7));
}

/// The lora_alpha of layers.
class Alphas {
 public:
  explicit Alphas(const keras::Model& model) {
    Json json = keras::parse_json_text(model.config({}), "config.json");
    visit_configs(json, "", [&](const std::string& name, const std::string&, const Json& layer) {
      if (layer.contains("lora_alpha") && layer["lora_alpha"].is_number()) by_layer_[name] = layer["lora_alpha"];
    });
  }

  /// Returns the value for the layer of a weight. A path may have more models around the layer than its name in the
  /// config.
  [[nodiscard]] std::optional<double> of(const std::string& path) const {
    constexpr int kMostModels = 64;
    std::string layer = path.substr(0, path.rfind('/'));
    for (int i = 0; i < kMostModels; ++i) {
      if (const auto found = by_layer_.find(layer); found != by_layer_.end()) return found->second;
      const std::size_t slash = layer.find('/');
      if (slash == std::string::npos) break;
      layer.erase(0, slash + 1);
    }
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string, double> by_layer_;
};

bool is_zero(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.at(i) != 0.0) return false;
  return true;
}

/// Returns kernel + scale·a·b.
Tensor merged(const Tensor& kernel, const Tensor& a, const Tensor& b, double scale) {
  if (is_zero(a) || is_zero(b)) return kernel;
  Tensor out(DType::float32, kernel.shape());
  const std::int64_t rank = b.shape()[0], columns = b.shape()[1], rows = kernel.size() / columns;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < rank; ++i) sum += a.at(row * rank + i) * b.at(i * columns + column);
      out.set(row * columns + column, kernel.at(row * columns + column) + scale * sum);
    }
  }
  return out.cast(kernel.dtype());
}

}  // namespace

LowRank low_rank_of(const std::string& text) {
  LowRank out;
  const char* const end = text.data() + text.size();
  auto [next, error] = std::from_chars(text.data(), end, out.rank);
  bool is_right = error == std::errc() && out.rank > 0;
  if (is_right && next != end) {
    double alpha = 0.0;
    is_right = *next == ',';
    if (is_right) {
      const auto [last, wrong] = std::from_chars(next + 1, end, alpha);
      is_right = wrong == std::errc() && last == end && std::isfinite(alpha);
    }
    out.alpha = alpha;
  }
  if (!is_right)
    throw bad_usage("`lora` '{}': expected a rank, as in 8, or a rank and lora_alpha, as in 8,16", printable(text));
  return out;
}

std::string with_low_rank(const std::string& config, const LowRank& how, const std::vector<std::string>& patterns) {
  Json json = keras::parse_json_text(config, "config.json");
  std::size_t changed = 0;
  visit_configs(json, "", [&](const std::string& name, const std::string& class_name, Json& layer) {
    if (class_name != "Dense" && class_name != "EinsumDense" && class_name != "Embedding") return;
    if (!matches_any(name, patterns)) return;
    if (layer.contains("lora_rank") && !layer["lora_rank"].is_null())
      throw bad_usage("`lora`: the layer '{}' already has a LoRA adapter", printable(name));
    layer["lora_rank"] = how.rank;
    const double alpha = how.alpha.value_or(static_cast<double>(how.rank));
    const std::optional<std::int64_t> whole = whole_number(alpha);
    layer["lora_alpha"] = whole ? Json(*whole) : Json(alpha);
    ++changed;
  });
  if (changed == 0)
    throw bad_usage("`lora`: no Dense, EinsumDense or Embedding layer matches {}; `attn summary` lists the layers",
                    printable(join(patterns, " or ")));
  return keras::write_json_text(json);
}

bool has_low_rank(const std::string& config, const LowRank& how, const std::vector<std::string>& patterns) {
  Json json = keras::parse_json_text(config, "config.json");
  bool all = true;
  visit_configs(json, "", [&](const std::string& name, const std::string& class_name, Json& layer) {
    if (class_name != "Dense" && class_name != "EinsumDense" && class_name != "Embedding") return;
    const bool is_meant = matches_any(name, patterns), has = layer.value("lora_rank", Json()) == how.rank;
    const bool same = layer.value("lora_alpha", Json()) == how.alpha.value_or(static_cast<double>(how.rank));
    all = all && (is_meant ? has && same : layer.value("lora_rank", Json()).is_null());
  });
  return all;
}

void revive(const std::vector<graph::WeightSpec>& specs, std::vector<Tensor>& weights, std::uint64_t seed) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!is_first_factor(specs[i])) continue;
    if (is_zero(weights[i])) weights[i] = weights::initialize(specs[i], seed);
  }
}

StoredWeights stored_weights(const std::vector<graph::WeightSpec>& specs, const std::vector<Tensor>& weights,
                             const keras::Model& model) {
  StoredWeights out{specs, weights, {}};
  if (std::ranges::none_of(specs, is_first_factor)) return out;
  const Alphas alphas(model);
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < specs.size(); ++i) places.emplace(specs[i].path, i);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!is_first_factor(specs[i])) continue;
    const auto found = places.find(kernel_of(specs[i].path));
    if (found == places.end()) throw internal_error("unknown weight '{}'", kernel_of(specs[i].path));
    const std::size_t kernel = found->second, second = i + 1;
    const double rank = static_cast<double>(weights[second].shape()[0]);
    const double alpha = alphas.of(specs[i].path).value_or(rank);
    if (!is_floating(weights[kernel].dtype()) && !is_zero(weights[i]) && !is_zero(weights[second]))
      throw bad_input("'{}': a LoRA adapter cannot be merged into quantized weights; quantize the merged model",
                      printable(specs[kernel].path));
    out.weights[kernel] = merged(weights[kernel], weights[i], weights[second], alpha / rank);
    for (const std::size_t each : {kernel, i, second}) out.unmerged[static_cast<int>(each)] = weights[each];
  }
  const std::vector<Tensor> all = std::exchange(out.weights, {});
  out.specs.clear();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (last_of(specs[i].path).starts_with("lora_")) continue;
    out.specs.push_back(specs[i]);
    out.weights.push_back(all[i]);
  }
  return out;
}

}  // namespace attn::train
