#include "attn/open/texts.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/text/decimals.h"

namespace attn::open {
namespace {

/// Reshapes the strings to the input's shape.
TextArray fitted(const keras::TextInput& input, TextArray texts) {
  const Shape given = texts.shape;
  if (given.rank() + 1 == input.shape.rank() && input.shape[-1] == 1) texts.shape.push_back(1);
  bool fits = texts.shape.rank() == input.shape.rank();
  for (int axis = 0; fits && axis < texts.shape.rank(); ++axis)
    fits = input.shape[axis] == kUnknown || input.shape[axis] == texts.shape[axis];
  if (!fits)
    throw bad_input("the input '{}' has the shape {}, but its strings have {}", printable(input.name),
                    input.shape.str(), given.str());
  return texts;
}

/// Returns the term at an index, as in TensorFlow's table: out-of-vocabulary indices map to the OOV term.
const std::string& term_at(const text::Lookup& terms, std::int64_t place) {
  if (terms.mask && place == 0) return *terms.mask;
  const std::int64_t at = place - terms.first;
  const bool known = at >= 0 && at < static_cast<std::int64_t>(terms.terms.size());
  return known ? terms.terms[static_cast<std::size_t>(at)] : terms.other_name;
}

}  // namespace

Outputs decode_texts(const std::vector<keras::TextOutput>& texts, const std::vector<NamedTensor>& outputs) {
  Outputs out;
  for (const NamedTensor& output : outputs) {
    const auto text = std::ranges::find(texts, output.name, &keras::TextOutput::name);
    if (text == texts.end()) {
      out.numbers.push_back(output);
      continue;
    }
    TextArray strings{output.tensor.shape(), {}};
    for (std::int64_t i = 0; i < output.tensor.size(); ++i)
      strings.values.push_back(term_at(*text->terms, static_cast<std::int64_t>(output.tensor.at(i))));
    out.texts.push_back({output.name, std::move(strings)});
  }
  return out;
}

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
        throw bad_input("it crosses {}, but some of these are missing", printable(join(stage.inputs, ", ")));
      out.emplace(stage.name, text::encode(*stage.encoding, arrays));
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input) throw;
      throw bad_input("'{}': {}", printable(stage.name), error.what());
    }
  }
  return out;
}

}  // namespace attn::open
