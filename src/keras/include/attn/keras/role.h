// What a class is in a model.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// What a layer or operation is there for. Drawings, explanations and questions such as "which layer is the first
/// attention?" go by it, and never by a part of a name.
enum class Role : std::uint8_t {
  other,
  input,          ///< stands for what comes in
  tokens,         ///< looks vectors up for integers
  embedding,      ///< makes vectors of positions or patches, or turns vectors by their positions
  attention,      ///< projects query, key and value into heads that attend
  dot_attention,  ///< attends with query, key and value as they come
  transformer,    ///< holds blocks with attention in them
  normalization,
  kernel,        ///< multiplies by a kernel: dense, convolutions, recurrent layers and their cells
  activation,    ///< a function of each number, or of each vector
  merge,         ///< combines several inputs
  pooling,       ///< means or maxima of windows
  arrangement,   ///< moves numbers
  pass_through,  ///< gives back what it gets
  training,      ///< acts in training only
  model,         ///< has layers and a graph of its own
  chain,         ///< is a model whose layers follow each other
};

[[nodiscard]] constexpr bool is_attention(Role role) { return role == Role::attention || role == Role::dot_attention; }

/// The role of the layer or operation of this class, as summaries name it; `other` for a name that is not known.
[[nodiscard]] Role role_of(std::string_view class_name);

}  // namespace attn::keras
