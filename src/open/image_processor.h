// The image processors of transformers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace attn::open {

/// Returns KerasHub's converter for an image processor of transformers, as a serialized layer. An image that is resized
/// and then cropped to another size has a Sequential of both. `place` is for messages. Throws Error (bad_input) for a
/// processor with steps that KerasHub's converters do not have.
[[nodiscard]] nlohmann::json converter_of_processor(const nlohmann::json& processor, const std::string& place);

}  // namespace attn::open
