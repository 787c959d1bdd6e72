// The objects of a compile_config as Keras writes them: an optimizer, a loss. Private to the module.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attn/train/loss_scaling.h"

namespace attn::train {

/// Returns an object of a class with an empty config.
[[nodiscard]] nlohmann::ordered_json object_of(const char* module, const std::string& class_name);

/// Returns the object of the optimizer itself: the inner one if its loss is scaled.
[[nodiscard]] nlohmann::ordered_json& optimizer_in(nlohmann::ordered_json& serialized);

/// Returns the optimizer with this scaling of its loss, as Keras writes it: dynamic scaling wraps it in another one.
[[nodiscard]] nlohmann::ordered_json scaled(nlohmann::ordered_json serialized, const LossScaling& scaling);

/// Returns the config of the optimizer itself. Throws Error (bad_input) if the optimizer is no object.
[[nodiscard]] nlohmann::ordered_json& optimizer_config(nlohmann::ordered_json& compile_config);

/// Sets an object's class so that Keras finds it: only compile() accepts "adam".
void name_class(nlohmann::ordered_json& serialized);

}  // namespace attn::train
