// Custom functions and classes in a compile_config. Private to the module.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace attn::train {

/// Throws Error (bad_input) if custom functions or classes remain in a compile_config, of which a file has only the
/// names. The message has the options that replace them.
void refuse_custom(const nlohmann::ordered_json& compile_config);

}  // namespace attn::train
