#include "config/dtype_policy.h"

#include <array>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

constexpr std::string_view kFrom = "_from_";

/// Reads a quantized policy, whose config has a mode and the name of the unquantized policy.
DTypePolicy read_quantized(const Ref& ref, const Ref& config) {
  const Ref mode = config["mode"];
  const auto how = Quantization::named(mode.text());
  if (!how || how->policy_class() != ref["class_name"].text())
    mode.fail(fmt::format("'{}' is not a mode of a {}", printable(mode.text()), printable(ref["class_name"].text())));
  const auto source = config.find("source_name");
  DTypePolicy out;
  if (source && !source->is_null()) {
    const auto named = DTypePolicy::named(source->text());
    if (!named || named->quantization) source->fail(fmt::format("unknown dtype '{}'", printable(source->text())));
    out = *named;
  }
  out.quantize(*how);
  if (const auto length = config.find("amax_history_length")) out.quantization->amax_history = length->integer_from(1);
  return out;
}

constexpr std::string_view kAny = ".*";

/// Returns whether a path matches a pattern whose only wildcard is ".*".
bool fits(std::string_view pattern, std::string_view path) {
  const auto first = pattern.find(kAny);
  if (first == std::string_view::npos) return pattern == path;
  if (!path.starts_with(pattern.substr(0, first))) return false;
  path.remove_prefix(first);
  pattern.remove_prefix(first + kAny.size());
  for (auto next = pattern.find(kAny); next != std::string_view::npos; next = pattern.find(kAny)) {
    const auto at = path.find(pattern.substr(0, next));  // the first match leaves the longest rest of the path
    if (at == std::string_view::npos) return false;
    path.remove_prefix(at + next);
    pattern.remove_prefix(next + kAny.size());
  }
  return path.ends_with(pattern);
}

/// Rejects regular expressions except ".*", because matching them could take unlimited time.
void check_pattern(const Ref& policies, const std::string& key) {
  std::string rest = key;
  for (auto at = rest.find(kAny); at != std::string::npos; at = rest.find(kAny)) rest.erase(at, kAny.size());
  if (rest.find_first_of("*+?[](){}|^$\\") != std::string::npos)
    policies.fail(fmt::format("'{}': only '.*' is supported in regular expressions for layer paths", shortened(key)));
}

DTypePolicy read_map(const Ref& ref, const Ref& config) {
  DTypePolicy out = DTypePolicy::read(config["default_policy"]);
  if (out.map) config["default_policy"].fail("a DTypePolicyMap cannot be the default of another");
  auto map = std::make_shared<PolicyMap>();
  map->json = ref.json();
  const Ref policies = config["policy_map"];
  policies.expect_object();
  for (const auto& [path, policy] : policies.members()) {
    check_pattern(policies, path);
    DTypePolicy of_layer = DTypePolicy::read(policy);
    if (of_layer.map) policy.fail("a DTypePolicyMap cannot be part of another");
    // A policy without a name has the dtypes of the default policy.
    const auto own =
        policy.is_object() ? policy["config"].find(of_layer.quantization ? "source_name" : "name") : policy;
    if (own && own->is_null()) {
      of_layer.name = out.name;
      of_layer.compute = out.compute;
      of_layer.variable = out.variable;
      if (of_layer.quantization) of_layer.quantize(*of_layer.quantization);
    }
    map->by_path.emplace(path, std::move(of_layer));
  }
  out.map = std::move(map);
  return out;
}

/// Returns the policy of a layer in a map, or null. The key is the layer's path, or ends in it (in the map of a single
/// layer), or is the only pattern that matches.
const DTypePolicy* find(const PolicyMap& map, const std::string& path) {
  if (const auto exact = map.by_path.find(path); exact != map.by_path.end()) return &exact->second;
  const DTypePolicy* found = nullptr;
  for (const auto& [key, policy] : map.by_path) {
    if (key.ends_with("/" + path)) return &policy;
    if (key.find(kAny) == std::string::npos || !fits(key, path)) continue;
    if (found != nullptr)
      throw bad_input("the layer '{}' matches several keys of its DTypePolicyMap", printable(path)).about("dtype");
    found = &policy;
  }
  return found;
}

}  // namespace

std::optional<DTypePolicy> DTypePolicy::named(std::string_view name) {
  if (name == "mixed_float16") return DTypePolicy{std::string(name), DType::float16, DType::float32};
  if (name == "mixed_bfloat16") return DTypePolicy{std::string(name), DType::bfloat16, DType::float32};
  if (const auto from = name.find(kFrom); from != std::string_view::npos) {
    const auto how = Quantization::named(name.substr(0, from));
    auto out = named(name.substr(from + kFrom.size()));
    if (!how || !out || out->quantization) return std::nullopt;
    out->quantize(*how);
    return out;
  }
  const auto dtype = dtype_of(name);
  if (!dtype) return std::nullopt;
  return DTypePolicy{std::string(name), *dtype, *dtype};
}

DTypePolicy DTypePolicy::read(const Ref& ref) {
  if (ref.is_null()) return {};
  if (!ref.is_string() && !ref.is_object()) ref.fail("expected a dtype policy, got " + ref.kind());
  if (ref.is_object()) {
    const Ref class_name = ref["class_name"], config = ref["config"];
    const std::string& kind = class_name.text();
    config.expect_object();
    if (kind == "DTypePolicyMap") return read_map(ref, config);
    if (kind == "QuantizedDTypePolicy" || kind == "Int4DTypePolicy" || kind == "QuantizedFloat8DTypePolicy" ||
        kind == "GPTQDTypePolicy" || kind == "AWQDTypePolicy")
      return read_quantized(ref, config);
    if (kind != "DTypePolicy" && kind != "Policy" && kind != "PolicyV1" && kind != "FloatDTypePolicy")
      class_name.fail(fmt::format("the dtype policy '{}' is not supported", printable(kind)));
    return read(config["name"]);
  }
  if (auto policy = named(ref.text())) return *policy;
  if (ref.text().find(kFrom) != std::string::npos)
    ref.fail(fmt::format("the quantized dtype policy '{}' is not known", printable(ref.text())));
  static constexpr std::array<std::string_view, 6> kNames = {"float32",  "float64",       "float16",
                                                             "bfloat16", "mixed_float16", "mixed_bfloat16"};
  ref.fail(fmt::format("unknown dtype '{}'{}", printable(ref.text()), did_you_mean(ref.text(), kNames)));
}

std::string DTypePolicy::source_name() const {
  const auto from = name.find(kFrom);
  return from == std::string::npos ? name : name.substr(from + kFrom.size());
}

void DTypePolicy::quantize(const Quantization& how) {
  name = how.name() + std::string(kFrom) + source_name();
  quantization = how;
}

DTypePolicy DTypePolicy::of(std::string_view sublayer, std::string_view attribute) const {
  DTypePolicy out = *this;
  if (!path.empty()) out.path += "/";
  out.path += sublayer;
  if (!place.empty()) out.place += "/";
  out.place += attribute;
  // A composite layer's policy applies to its sublayers. With a map, its default policy applies to layers that it does
  // not list.
  const DTypePolicy* const own = map ? find(*map, out.path) : nullptr;
  if (own != nullptr) {
    out.name = own->name;
    out.compute = own->compute;
    out.variable = own->variable;
    out.quantization = own->quantization;
  } else if (map) {
    out.quantization.reset();
    out.name = source_name();
  }
  if (out.quantization) return out;
  if (asked) {
    out.quantize(*asked);
  } else if (stored) {
    if (const auto found = stored->find(out.place); found != stored->end()) out.quantize(found->second);
  }
  return out;
}

Json DTypePolicy::json() const {
  if (map) return map->json;
  if (!quantization)
    return {{"module", "keras"},
            {"class_name", "DTypePolicy"},
            {"config", Json::object({{"name", name}})},
            {"registered_name", nullptr}};
  Json config = {{"mode", quantization->name()}, {"source_name", source_name()}};
  if (quantization->mode == QuantizationMode::float8) config["amax_history_length"] = quantization->amax_history;
  return {{"module", "keras.dtype_policies"},
          {"class_name", std::string(quantization->policy_class())},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

}  // namespace attn::keras
