// Detects the quantization of layers inside layers from a weight file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "attn/keras/options.h"
#include "classes/layer.h"

namespace attn::keras {

/// Returns the quantization that the weight file shows, by the pointers of layers in the config (Layer::pointer); empty
/// if the config is complete. Keras 3.15 writes no policy for the dense maps inside MultiHeadAttention, and so cannot
/// load its own files.
[[nodiscard]] std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> hidden_quantization(
    Layer& root, const ReadOptions& options);

}  // namespace attn::keras
