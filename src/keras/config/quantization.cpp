#include "config/quantization.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "attn/base/text.h"
#include "config/built_in.h"

namespace attn::keras {
namespace {

using graph::IntegerRange;

constexpr std::array<std::pair<QuantizationMode, std::string_view>, 5> kModes = {{{QuantizationMode::int8, "int8"},
                                                                                  {QuantizationMode::int4, "int4"},
                                                                                  {QuantizationMode::float8, "float8"},
                                                                                  {QuantizationMode::gptq, "gptq"},
                                                                                  {QuantizationMode::awq, "awq"}}};

std::optional<std::int64_t> integer_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a group size: −1 or a positive size.
bool take_group(const std::string& text, std::optional<Dim>& group) {
  const auto size = integer_of(text);
  if (!size || *size < -1 || *size == 0 || *size > kMaxSize) return false;
  group = *size == -1 ? std::nullopt : std::optional<Dim>(*size);
  return true;
}

/// Returns the range and ε of an AbsMaxQuantizer.
IntegerRange range_of(const Ref& quantizer) {
  quantizer.expect_object();
  check_built_in(quantizer);
  const Ref class_name = quantizer["class_name"];
  if (class_name.text() != "AbsMaxQuantizer")
    class_name.fail(
        fmt::format("the quantizer '{}' is not known; expected AbsMaxQuantizer", printable(class_name.text())));
  IntegerRange out;
  const Ref config = quantizer["config"];
  if (const auto range = config.find("value_range")) {
    if (!range->is_array() || range->size() != 2) range->fail("expected two numbers, got " + range->kind());
    out.low = (*range)[0].number();
    out.high = (*range)[1].number();
    if (out.low < -128.0 || out.high > 127.0 || !(out.low < out.high))
      range->fail("expected a range within −128 and 127");
  }
  if (const auto epsilon = config.find("epsilon")) out.epsilon = epsilon->number();
  return out;
}

Json object_of(std::string_view class_name, Json config) {
  return {{"module", "keras.quantizers"},
          {"class_name", std::string(class_name)},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

}  // namespace

std::string_view name_of(QuantizationMode mode) {
  return std::ranges::find(kModes, mode, &std::pair<QuantizationMode, std::string_view>::first)->second;
}

std::optional<Quantization> Quantization::named(std::string_view name) {
  const std::vector<std::string> parts = split(name, '/');
  const auto* const found = std::ranges::find_if(kModes, [&](const auto& row) { return row.second == parts.front(); });
  if (found == kModes.end()) return std::nullopt;
  Quantization out;
  out.mode = found->first;
  switch (out.mode) {
    case QuantizationMode::int8:
    case QuantizationMode::float8:
      return parts.size() == 1 ? std::optional(out) : std::nullopt;
    case QuantizationMode::int4:
      out.bits = 4;
      out.names_group = parts.size() > 1;
      if (parts.size() > 2 || (parts.size() == 2 && !take_group(parts[1], out.group))) return std::nullopt;
      return out;
    case QuantizationMode::gptq:
    case QuantizationMode::awq: {
      if (parts.size() != 3 || !take_group(parts[2], out.group)) return std::nullopt;
      const auto bits = integer_of(parts[1]);
      const bool fits =
          bits && (*bits == 4 || (out.mode == QuantizationMode::gptq && (*bits == 2 || *bits == 3 || *bits == 8)));
      if (!fits) return std::nullopt;
      out.bits = static_cast<int>(*bits);
      return out;
    }
  }
  return std::nullopt;
}

std::string Quantization::name() const {
  const std::string mode_name(name_of(mode));
  const std::string size = group ? std::to_string(*group) : "-1";
  switch (mode) {
    case QuantizationMode::int4:
      return names_group ? mode_name + "/" + size : mode_name;
    case QuantizationMode::gptq:
    case QuantizationMode::awq:
      return fmt::format("{}/{}/{}", mode_name, bits, size);
    default:
      return mode_name;
  }
}

std::string_view Quantization::policy_class() const {
  switch (mode) {
    case QuantizationMode::int4:
      return names_group ? "Int4DTypePolicy" : "QuantizedDTypePolicy";
    case QuantizationMode::float8:
      return "QuantizedFloat8DTypePolicy";
    case QuantizationMode::gptq:
      return "GPTQDTypePolicy";
    case QuantizationMode::awq:
      return "AWQDTypePolicy";
    case QuantizationMode::int8:
      break;
  }
  return "QuantizedDTypePolicy";
}

QuantizationConfig QuantizationConfig::of(const Quantization& how) {
  QuantizationConfig out;
  out.named_ = how;
  if (how.mode == QuantizationMode::int8) {
    Json range = python_tuple({-127, 127});
    Json quantizer =
        object_of("AbsMaxQuantizer", {{"value_range", std::move(range)}, {"epsilon", 1e-7}, {"output_dtype", "int8"}});
    out.json_ = object_of("Int8QuantizationConfig",
                          {{"weight_quantizer", nullptr}, {"activation_quantizer", std::move(quantizer)}});
    out.inputs_ = IntegerRange{};
  } else {
    out.json_ = object_of("Int4QuantizationConfig", {{"weight_quantizer", nullptr},
                                                     {"activation_quantizer", nullptr},
                                                     {"block_size", how.group ? Json(*how.group) : Json()}});
  }
  return out;
}

void read_field(const Ref& ref, QuantizationConfig& value, std::vector<std::string>&) {
  value = {};
  if (ref.is_null()) return;
  ref.expect_object();
  check_built_in(ref);
  const Ref class_name = ref["class_name"], config = ref["config"];
  const std::string& name = class_name.text();
  const auto quantizer = [&](const char* key) -> std::optional<IntegerRange> {
    const auto found = config.find(key);
    if (!found || found->is_null()) return std::nullopt;
    return range_of(*found);
  };
  Quantization named;
  if (name == "Int8QuantizationConfig" || name == "Int4QuantizationConfig") {
    value.inputs_ = quantizer("activation_quantizer");
    (void)quantizer("weight_quantizer");  // it describes how the weights were made, so it has no effect
  }
  if (name == "Int4QuantizationConfig") {
    named.mode = QuantizationMode::int4;
    named.bits = 4;
    if (const auto size = config.find("block_size"); size && !size->is_null() && size->integer() != -1)
      named.group = size->integer_from(1);
  } else if (name == "Float8QuantizationConfig") {
    named.mode = QuantizationMode::float8;
  } else if (name == "GPTQConfig" || name == "AWQConfig") {
    named.mode = name == "GPTQConfig" ? QuantizationMode::gptq : QuantizationMode::awq;
    named.bits = 4;
    if (const auto bits = config.find("weight_bits")) named.bits = static_cast<int>(bits->integer_from(2));
    if (const auto size = config.find("group_size"); size && size->integer() != -1) named.group = size->integer_from(1);
  } else if (name != "Int8QuantizationConfig") {
    class_name.fail(fmt::format("the quantization config '{}' is not known", printable(name)));
  }
  value.named_ = named;
  value.json_ = ref.json();
}

Json write_field(const QuantizationConfig& value, int /*version*/) { return value.json(); }

}  // namespace attn::keras
