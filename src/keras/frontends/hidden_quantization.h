// How layers inside of layers are quantized, as their numbers in a file show it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "attn/keras/options.h"
#include "classes/layer.h"

namespace attn::keras {

/// What a file shows, by the places of the layers in the config (Layer::pointer): Keras 3.15 writes no policy for the
/// dense maps inside of MultiHeadAttention, and so cannot read what it wrote. Empty where all is said.
[[nodiscard]] std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> hidden_quantization(
    Layer& root, const ReadOptions& options);

}  // namespace attn::keras
