// Detects the quantization of layers inside layers from a weight file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "attn/keras/options.h"
#include "classes/layer.h"

namespace attn::keras {

/// The quantization that a file shows, by the pointers of layers in the config (Layer::pointer). Keras 3.15 writes no
/// policy for the dense maps inside MultiHeadAttention, and so cannot load its own files. Empty if the config is
/// complete.
[[nodiscard]] std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>> hidden_quantization(
    Layer& root, const ReadOptions& options);

}  // namespace attn::keras
