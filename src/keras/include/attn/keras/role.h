// The role of a class in a model.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// The purpose of a layer or operation. Drawings, explanations and questions such as "which layer is the first
/// attention?" depend on the role, and never on a part of a name.
enum class Role : std::uint8_t {
  other,
  input,          ///< an input of the model
  tokens,         ///< looks up vectors for integers
  embedding,      ///< computes vectors for positions or patches, or rotates vectors by position
  attention,      ///< projects query, key and value into heads that attend
  dot_attention,  ///< attention without projections
  transformer,    ///< contains blocks with attention
  normalization,
  kernel,        ///< multiplies by a kernel: dense layers, convolutions, recurrent layers and their cells
  activation,    ///< a function of each element, or of each vector
  merge,         ///< combines several inputs
  pooling,       ///< means or maxima over windows
  arrangement,   ///< moves elements
  pass_through,  ///< returns its input
  training,      ///< acts only in training
  model,         ///< has layers and a graph of its own
  chain,         ///< a model whose layers follow each other
};

[[nodiscard]] constexpr bool is_attention(Role role) { return role == Role::attention || role == Role::dot_attention; }

/// Returns the role in summaries of the layer or operation with this class name; `other` for an unknown name.
[[nodiscard]] Role role_of(std::string_view class_name);

}  // namespace attn::keras
