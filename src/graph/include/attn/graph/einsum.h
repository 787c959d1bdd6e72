// Einsum equations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::graph {

/// "abc,cde->abde" taken apart: one letter per axis. A letter that is repeated within one input means its diagonal; a
/// letter that is missing in the output is summed over. A letter has one size everywhere: 1 is not broadcast.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;
};

/// Parses an explicit equation (with "->", without ellipsis; spaces do not count). Throws Error (bad_input) where it is
/// malformed, or its output repeats a letter or has one that no input has.
[[nodiscard]] EinsumEquation parse_einsum(std::string_view equation);

}  // namespace attn::graph
