#include "attn/graph/einsum.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::graph {

EinsumEquation parse_einsum(std::string_view equation) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  const auto arrow = text.find("->");
  if (arrow == std::string::npos) throw bad_input("the equation '{}' has no '->'", printable(equation));

  EinsumEquation parsed;
  parsed.inputs = split(std::string_view(text).substr(0, arrow), ',');
  parsed.output = text.substr(arrow + 2);

  const auto check_letters = [&](const std::string& term) {
    for (const char c : term) {
      if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z')) {
        throw bad_input("the equation '{}' has '{}' where a letter belongs", printable(equation), printable({&c, 1}));
      }
    }
  };
  for (const std::string& input : parsed.inputs) check_letters(input);
  check_letters(parsed.output);
  for (const char letter : parsed.output) {
    if (std::count(parsed.output.begin(), parsed.output.end(), letter) > 1) {
      throw bad_input("the output of the equation '{}' repeats '{}'", printable(equation), letter);
    }
    const bool known = std::any_of(parsed.inputs.begin(), parsed.inputs.end(), [letter](const std::string& input) {
      return input.find(letter) != std::string::npos;
    });
    if (!known) throw bad_input("no input of the equation '{}' has '{}'", printable(equation), letter);
  }
  return parsed;
}

}  // namespace attn::graph
