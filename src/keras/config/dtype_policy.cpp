#include "config/dtype_policy.h"

#include <array>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

/// " of int8": how a quantized policy quantizes.
std::string mode_of(const Ref& policy) {
  const auto config = policy.find("config");
  if (!config || !config->is_object()) return "";
  const auto mode = config->find("mode");
  return mode && mode->is_string() ? fmt::format(" of {}", printable(mode->text())) : "";
}

}  // namespace

std::optional<DTypePolicy> DTypePolicy::named(std::string_view name) {
  if (name == "mixed_float16") return DTypePolicy{std::string(name), DType::float16, DType::float32};
  if (name == "mixed_bfloat16") return DTypePolicy{std::string(name), DType::bfloat16, DType::float32};
  const auto dtype = dtype_of(name);
  if (!dtype) return std::nullopt;
  return DTypePolicy{std::string(name), *dtype, *dtype};
}

DTypePolicy DTypePolicy::read(const Ref& ref) {
  if (ref.is_null()) return {};
  if (!ref.is_string() && !ref.is_object()) ref.fail("expected a dtype policy, got " + ref.kind());
  if (ref.is_object()) {
    const Ref class_name = ref["class_name"];
    if (class_name.text() != "DTypePolicy" && class_name.text() != "Policy" && class_name.text() != "PolicyV1" &&
        class_name.text() != "FloatDTypePolicy")
      class_name.fail(
          fmt::format("the dtype policy '{}'{} is not supported", printable(class_name.text()), mode_of(ref)));
    return read(ref["config"]["name"]);
  }
  if (auto policy = named(ref.text())) return *policy;
  if (ref.text().find("_from_") != std::string::npos)
    ref.fail(fmt::format("the quantized dtype policy '{}' is not supported", printable(ref.text())));
  static constexpr std::array<std::string_view, 6> kNames = {"float32",  "float64",       "float16",
                                                             "bfloat16", "mixed_float16", "mixed_bfloat16"};
  ref.fail(fmt::format("unknown dtype '{}'{}", printable(ref.text()), did_you_mean(ref.text(), kNames)));
}

Json DTypePolicy::json() const {
  return {{"module", "keras"},
          {"class_name", "DTypePolicy"},
          {"config", Json::object({{"name", name}})},
          {"registered_name", nullptr}};
}

}  // namespace attn::keras
