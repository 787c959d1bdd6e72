#include "frontends/hidden_quantization.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "attn/base/text.h"
#include "model/variables.h"

namespace attn::keras {
namespace {

constexpr std::int64_t kSmallFile = std::int64_t{1} << 20;
constexpr std::size_t kFloat8Arrays = 7;  // number of arrays of a float8 layer with a kernel, besides the bias

/// A dense map or an embedding inside another layer, without quantization according to its config.
struct InnerLayer {
  std::string pointer;  ///< JSON pointer of the enclosing layer whose config is in the file
  std::string place;    ///< place relative to the enclosing layer's key, without "/vars"
  std::string stored;   ///< full key in the weight file, including "/vars/"
  Shape kernel;
  bool has_bias = false;
};

std::string place_of(const std::string& store_path) {
  return store_path.substr(0, store_path.rfind('/') + 1);  // including the final "vars/"
}

std::string kind_of(const graph::WeightSpec& spec) { return spec.path.substr(spec.path.rfind('/') + 1); }

std::vector<InnerLayer> inner_layers(Layer& root) {
  std::map<std::string, std::string> places;  // key of the outermost layer at each pointer
  std::vector<InnerLayer> out;
  visit_variables(root, [&](const Variable& variable) {
    const graph::WeightSpec spec = variable.named();
    const std::string& around = places.emplace(variable.layer.pointer, variable.store).first->second;
    const std::string place = place_of(spec.store_path);
    const std::string kind = kind_of(spec);
    if (place.size() <= around.size() + std::string_view("vars/").size() || !place.starts_with(around)) return;
    if ((kind == "kernel" || kind == "embeddings") && is_floating(spec.dtype)) {
      InnerLayer inner{variable.layer.pointer, place.substr(around.size()), place, spec.shape};
      inner.place.resize(inner.place.size() - std::string_view("/vars/").size());
      out.push_back(std::move(inner));
    } else if (kind == "bias" && !out.empty() && out.back().stored == place) {
      out.back().has_bias = true;
    }
  });
  return out;
}

/// Returns the group size: the number of inputs whose group index is 0, wherever they are. If all inputs have index 0,
/// the size may be their number or more; the result is then that number, but at least Keras's default, 128.
Dim group_size(const Tensor& groups) {
  constexpr Dim kOwn = 128;  // Keras's default
  Dim first = 0;
  for (std::int64_t i = 0; i < groups.size(); ++i) first += groups.at(i) == 0.0 ? 1 : 0;
  if (first == 0) return kOwn;
  return first == groups.size() ? std::max(first, kOwn) : first;
}

/// Returns the quantization that a layer's arrays show; empty if the arrays are not quantized, or are inconsistent.
std::optional<Quantization> shown_by(const std::vector<Tensor>& arrays, const InnerLayer& inner) {
  const std::size_t bias = inner.has_bias ? 1 : 0;
  if (arrays.empty()) return std::nullopt;
  Quantization out;
  if (arrays[0].dtype() == DType::int8) {
    const bool grouped = arrays.size() >= 4 + bias;
    if (arrays[0].shape() == inner.kernel && !grouped) return out;
    out.mode = QuantizationMode::int4;
    out.bits = 4;
    if (grouped) out.group = group_size(arrays.back());
    return out;
  }
  if (arrays.size() >= kFloat8Arrays + bias && is_floating(arrays[0].dtype())) {
    out.mode = QuantizationMode::float8;
    out.amax_history = arrays[2 + bias].size();
    return out;
  }
  if (arrays.size() >= 4 + bias && arrays[bias].dtype() == DType::uint8) {
    out.mode = arrays.size() > 4 + bias ? QuantizationMode::awq : QuantizationMode::gptq;
    if (arrays[bias].shape().rank() != 2 || arrays[1 + bias].shape().rank() != 2) return std::nullopt;
    const Dim columns = arrays[1 + bias].shape()[0];
    out.bits = arrays[bias].shape()[0] == columns ? 8 : 4;
    out.group = group_size(arrays.back());
    return out;
  }
  return std::nullopt;
}

/// Returns whether the weight file should be inspected.
bool may_hide(Layer& root, const ReadOptions& options) {
  if (options.stored_bytes < kSmallFile) return true;
  std::int64_t bytes = 0;
  bool is_quantized = false;
  visit_variables(root, [&](const Variable& variable) {
    bytes += variable.spec().shape.size() * bytes_of(variable.spec().dtype);
    is_quantized = is_quantized || variable.layer.policy.quantization.has_value();
  });
  return is_quantized || options.stored_bytes < bytes;
}

}  // namespace

std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> hidden_quantization(
    Layer& root, const ReadOptions& options) {
  std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> out;
  const std::vector<InnerLayer> inner = inner_layers(root);
  if (inner.empty() || !options.stored || !may_hide(root, options)) return out;
  std::map<std::string, std::map<std::int64_t, Tensor>> numbered;
  for (const NamedTensor& array : options.stored()) {
    const std::string number = array.name.substr(array.name.rfind('/') + 1);
    constexpr std::size_t kMostDigits = 4;
    if (number.empty() || number.size() > kMostDigits || number.find_first_not_of("0123456789") != std::string::npos)
      continue;
    numbered[place_of(array.name)].emplace(std::stoll(number), array.tensor);
  }
  std::map<std::string, StoredQuantization> found;
  for (const InnerLayer& layer : inner) {
    const auto at = numbered.find(layer.stored);
    if (at == numbered.end()) continue;
    std::vector<Tensor> list;
    for (const auto& [number, array] : at->second) list.push_back(array);
    if (const auto how = shown_by(list, layer)) found[layer.pointer].emplace(layer.place, *how);
  }
  for (auto& [pointer, of_layer] : found)
    out.emplace(pointer, std::make_shared<const StoredQuantization>(std::move(of_layer)));
  return out;
}

}  // namespace attn::keras
