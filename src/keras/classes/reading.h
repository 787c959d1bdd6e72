// Reads layers and operations from configs, and writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/keras/version.h"
#include "classes/class_info.h"
#include "config/json.h"

namespace attn::keras {

/// Creates an operation of keras.ops from its parameters, without a config.
[[nodiscard]] LayerPtr make_operation(std::string_view class_name, Json parameters);

/// Reads a layer or operation from its serialized object {module, class_name, config, …}. Unknown classes, and those
/// that could run code or open files, are rejected with their name.
[[nodiscard]] LayerPtr read_layer(const Ref& ref, std::vector<std::string>& warnings);
/// Reads a layer of class `class_name` from its bare config.
[[nodiscard]] LayerPtr read_layer_config(std::string_view class_name, const Ref& config,
                                         std::vector<std::string>& warnings);

/// Returns get_config() of a layer.
[[nodiscard]] Json layer_config(Layer& layer, Version version);
/// Returns serialize_keras_object of a layer.
[[nodiscard]] Json layer_json(Layer& layer, Version version);

/// Reads a field that is a layer or null (Bidirectional, TimeDistributed).
void read_field(const Ref& ref, LayerPtr& value, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const LayerPtr& value, Version version);

}  // namespace attn::keras
