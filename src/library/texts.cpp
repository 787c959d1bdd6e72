#include "attn/library/texts.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/text/decimals.h"

namespace attn::library {
namespace {

/// The strings in the shape of the input.
TextArray fitted(const keras::TextInput& input, TextArray texts) {
  const Shape given = texts.shape;
  if (given.rank() + 1 == input.shape.rank() && input.shape[-1] == 1) texts.shape.push_back(1);
  bool fits = texts.shape.rank() == input.shape.rank();
  for (int axis = 0; fits && axis < texts.shape.rank(); ++axis)
    fits = input.shape[axis] == kUnknown || input.shape[axis] == texts.shape[axis];
  if (!fits)
    throw bad_input("the input '{}' has the shape {}, the strings given for it have {}", printable(input.name),
                    input.shape.str(), given.str());
  return texts;
}

}  // namespace

std::map<std::string, Tensor> encode_texts(const keras::Model& model, const std::map<std::string, TextArray>& texts,
                                           const std::map<std::string, Tensor>& numbers) {
  std::map<std::string, Tensor> out;
  if (texts.empty() && numbers.empty()) return out;
  std::map<std::string, TextArray> in;
  for (const keras::TextInput& input : model.text_inputs())
    if (const auto given = texts.find(input.name); given != texts.end())
      in.emplace(input.name, fitted(input, given->second));
  for (const keras::TextStage& stage : model.text_stages()) {
    std::vector<TextArray> arrays;
    for (const std::string& input : stage.inputs) {
      if (const auto text = in.find(input); text != in.end()) {
        arrays.push_back(text->second);
      } else if (const auto number = numbers.find(input); number != numbers.end()) {
        arrays.push_back(text::decimals_of(number->second));
      }
    }
    if (arrays.empty()) continue;
    try {
      if (arrays.size() < stage.inputs.size())
        throw bad_input("it crosses {}, and not all of them are given", printable(join(stage.inputs, ", ")));
      out.emplace(stage.name, text::encode(*stage.encoding, arrays));
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input) throw;
      throw bad_input("'{}': {}", printable(stage.name), error.what());
    }
  }
  return out;
}

}  // namespace attn::library
