// Einsum equations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::graph {

/// "abc,cde->abde" parsed into one letter per axis. A letter repeated within one input selects its diagonal; a letter
/// missing in the output is summed over. A letter has the same size everywhere: 1 is not broadcast.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;
};

/// Parses an explicit equation (with "->", without ellipsis; spaces are ignored). Throws Error (bad_input) if it is
/// malformed, or if its output repeats a letter or has one that no input has.
[[nodiscard]] EinsumEquation parse_einsum(std::string_view equation);

}  // namespace attn::graph
