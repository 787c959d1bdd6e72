#include "config/quantization_config.h"

#include <utility>

#include "attn/base/text.h"
#include "config/built_in.h"

namespace attn::keras {
namespace {

using graph::IntegerRange;

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
