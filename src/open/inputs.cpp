#include "attn/open/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/byte_text.h"
#include "attn/open/model.h"
#include "attn/open/texts.h"
#include "attn/run/inputs.h"

namespace attn::open {
namespace {

/// Returns the array of this name, or the only one, under this name.
io::Arrays pick(const io::Arrays& arrays, const std::string& name, const std::string& path) {
  const std::size_t count = arrays.tensors.size() + arrays.texts.size();
  io::Arrays out;
  for (const NamedTensor& array : arrays.tensors)
    if (count == 1 || array.name == name) out.tensors.push_back({name, array.tensor});
  for (const NamedTexts& array : arrays.texts)
    if (count == 1 || array.name == name) out.texts.push_back({name, array.texts});
  if (!out.tensors.empty() || !out.texts.empty()) return out;
  throw bad_input("{}: contains {} arrays, none of them named '{}'", printable(path), count, printable(name));
}

/// The arrays of a file by the names of the inputs that take them. `others` gets the names of arrays that no input
/// takes; without it they are rejected.
class FileInputs {
 public:
  FileInputs(const keras::Model& model, const io::Arrays& arrays, const std::string& path,
             std::vector<std::string>* others)
      : model_(model), arrays_(arrays), path_(path), others_(others) {
    for (const keras::TextInput& input : model.text_inputs()) of_texts_.push_back(input.name);
    of_numbers_ = model.input_names();
    std::erase_if(of_numbers_, [&](const std::string& name) { return contains(of_texts_, name); });
  }

  /// Returns the arrays that contain strings.
  [[nodiscard]] std::map<std::string, TextArray> texts() const {
    std::map<std::string, TextArray> out;
    for (const NamedTexts& array : arrays_.texts) {
      if (of_texts_.empty()) {
        if (others_ != nullptr && names_numbers()) {
          others_->push_back(array.name);
          continue;
        }
        throw bad_input("{}: contains strings, but the model's inputs are numbers: {}", printable(path_),
                        printable(join(of_numbers_, ", ")))
            .about("inputs");
      }
      if (contains(of_texts_, array.name)) {
        out.emplace(array.name, array.texts);
      } else if (is_for_any(array)) {
        out.emplace(of_texts_.front(), array.texts);
      } else if (others_ != nullptr && names_some() && !is_misspelt(array.name)) {
        others_->push_back(array.name);
      } else {
        refuse(array);
      }
    }
    return out;
  }

  /// Returns the arrays that contain numbers.
  [[nodiscard]] std::map<std::string, Tensor> numbers() const {
    if (arrays_.tensors.empty() && !arrays_.texts.empty()) return {};
    const bool is_single = arrays_.tensors.size() == 1 && arrays_.texts.empty() && model_.input_names().size() == 1;
    for (const NamedTensor& array : arrays_.tensors)
      if (contains(of_texts_, array.name) || (is_single && !of_texts_.empty()))
        throw bad_input("{}: the input '{}' takes strings, but its array is {}", printable(path_),
                        printable(of_texts_.front()), name_of(array.tensor.dtype()))
            .about("inputs");
    if (others_ != nullptr && !arrays_.texts.empty() && !names_numbers() && names_texts()) {
      for (const NamedTensor& array : arrays_.tensors) others_->push_back(array.name);
      return {};
    }
    return run::name_inputs(of_numbers_, arrays_.tensors, path_, others_);
  }

 private:
  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  }
  [[nodiscard]] bool names_numbers() const {
    return std::ranges::any_of(arrays_.tensors, [&](const auto& array) { return contains(of_numbers_, array.name); });
  }
  [[nodiscard]] bool names_texts() const {
    return std::ranges::any_of(arrays_.texts, [&](const auto& array) { return contains(of_texts_, array.name); });
  }
  [[nodiscard]] bool names_some() const { return names_numbers() || names_texts(); }
  [[nodiscard]] bool has_no_name(const NamedTexts& array) const {
    return array.name.empty() || path_.ends_with(".npy");
  }
  /// Returns whether the array is the only one of its file, and the model has only one input of strings. Their names
  /// then need not match.
  [[nodiscard]] bool is_for_any(const NamedTexts& array) const {
    if (arrays_.texts.size() != 1 || of_texts_.size() != 1) return false;
    return has_no_name(array) || (others_ != nullptr && arrays_.tensors.empty() && of_numbers_.empty());
  }
  [[nodiscard]] bool is_misspelt(const std::string& name) const {
    std::map<std::string, Tensor> given;
    for (const NamedTexts& array : arrays_.texts) given.emplace(array.name, Tensor());
    return run::is_misspelt(name, of_texts_, given);
  }
  [[noreturn]] void refuse(const NamedTexts& array) const {
    throw bad_input("{}: {}; the inputs of strings are {}", printable(path_),
                    has_no_name(array) ? "the input for its strings is ambiguous: give `inputs` NAME=FILE"
                                       : fmt::format("the model has no string input '{}'{}", printable(array.name),
                                                     did_you_mean(array.name, std::span<const std::string>(of_texts_))),
                    printable(join(of_texts_, ", ")));
  }

  const keras::Model& model_;
  const io::Arrays& arrays_;
  const std::string& path_;
  std::vector<std::string>* others_;
  std::vector<std::string> of_texts_, of_numbers_;
};

/// The arrays of all files, by the names of the model's inputs.
struct Named {
  std::map<std::string, Tensor> numbers;
  std::map<std::string, TextArray> texts;
  std::map<std::string, std::string> files;  ///< the file of each array
  std::vector<std::string> others;           ///< "'y' of data.npz": arrays that no input takes

  void add(const keras::Model& model, const io::Arrays& arrays, const std::string& path) {
    std::vector<std::string> beside;
    const FileInputs inputs(model, arrays, path, &beside);
    for (auto& [name, tensor] : inputs.numbers()) take(numbers, name, tensor, path);
    for (auto& [name, array] : inputs.texts()) take(texts, name, array, path);
    for (const std::string& name : beside)
      others.push_back(fmt::format("'{}' of {}", printable(name), printable(path)));
  }
  void add(const std::string& name, const Tensor& rows, const std::string& path) { take(numbers, name, rows, path); }

 private:
  template <typename Array>
  void take(std::map<std::string, Array>& in, const std::string& name, const Array& array, const std::string& path) {
    if (!files.emplace(name, path).second) throw bad_usage("the input '{}' is given twice", printable(name));
    in.emplace(name, array);
  }
};

/// `place` is for messages: the file, or nothing for several.
std::map<std::string, Tensor> encoded(const keras::Model& model, const std::map<std::string, TextArray>& texts,
                                      const std::map<std::string, Tensor>& numbers, const std::string& place) {
  try {
    return encode_texts(model, texts, numbers);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input || place.empty()) throw;
    throw bad_input("{}: {}", printable(place), error.what());
  }
}

GivenInputs given(const keras::Model& model, Named named) {
  std::set<std::string> paths;
  for (const auto& [name, path] : named.files) paths.insert(path);
  GivenInputs out;
  const auto made = encoded(model, named.texts, named.numbers, paths.size() == 1 ? *paths.begin() : "");
  out.arrays = std::move(named.numbers);
  out.files = std::move(named.files);
  out.others = std::move(named.others);
  if (const auto fault = model.array_fault(out.arrays))
    throw bad_input("{}: the input '{}' {}", printable(out.files.at(fault->input)), printable(fault->input),
                    fault->what);
  if (made.empty()) return out;
  for (const keras::TextStage& stage : model.text_stages()) {
    const auto array = made.find(stage.name);
    if (array == made.end()) continue;
    out.arrays.emplace(stage.name, array->second);
    out.files[stage.name] = out.files.at(stage.inputs.front());
  }
  return out;
}

}  // namespace

std::pair<std::string, std::string> named_file(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos || is_file(word)) return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::map<std::string, Tensor> encoded_texts(const keras::Model& model, const std::vector<NamedTexts>& texts,
                                            const std::vector<NamedTensor>& numbers, const std::string& path) {
  std::map<std::string, Tensor> of_numbers;
  for (const NamedTensor& array : numbers) of_numbers.emplace(array.name, array.tensor);
  return encoded(model, FileInputs(model, {{}, texts}, path, nullptr).texts(), of_numbers, path);
}

GivenInputs name_inputs(const keras::Model& model, const io::Arrays& arrays, const std::string& path) {
  Named named;
  named.add(model, arrays, path);
  return given(model, std::move(named));
}

namespace {

/// Returns the input for a text whose bytes are the tokens of the model; nothing for other files and models.
std::optional<ByteInput> byte_text(const keras::Model& model, const std::string& path, const Execution& execution) {
  return path.ends_with(".txt") ? byte_input(model, execution.sequence_length) : std::nullopt;
}

}  // namespace

GivenInputs read_inputs(const keras::Model& model, const std::vector<std::string>& words, const Execution& execution,
                        const Listener& listener, std::optional<std::int64_t> most_rows) {
  Named named;
  for (const std::string& word : words) {
    const auto [name, path] = named_file(word);
    if (const auto bytes = byte_text(model, path, execution); bytes && (name.empty() || name == bytes->name)) {
      const auto rows = execution.batch ? execution.batch : most_rows;
      named.add(bytes->name, read_byte_rows(model, *bytes, path, execution.sequence_length, rows), path);
      continue;
    }
    const io::Arrays arrays = io::read_arrays(path);
    named.add(model, name.empty() ? arrays : pick(arrays, name, path), path);
  }
  GivenInputs out = given(model, std::move(named));
  warn_of_others(out, listener);
  return out;
}

void warn_of_others(const GivenInputs& given, const Listener& listener) {
  if (given.others.empty()) return;
  listener.warn(fmt::format("{} ignored, as the model has no such input: {}",
                            given.others.size() == 1 ? "an array is" : "arrays are", join(given.others, ", ")));
}

keras::LowerOptions lower_options(const Execution& execution, const GivenInputs& given) {
  keras::LowerOptions options;
  options.batch = execution.batch;
  options.sequence_length = execution.sequence_length;
  if (!is_quantization(execution.dtype)) options.dtype = execution.dtype;
  for (const auto& [name, tensor] : given.arrays) options.input_shapes.emplace(name, tensor.shape());
  return options;
}

void warn_of_given_batch(const Execution& execution, const GivenInputs& given, const Listener& listener) {
  if (!execution.batch) return;
  for (const auto& [name, tensor] : given.arrays)
    if (tensor.shape().rank() > 0 && tensor.shape()[0] != *execution.batch)
      return listener.warn(fmt::format("`batch` {} is not used: the array given for '{}' has a batch of {}",
                                       *execution.batch, printable(name), tensor.shape()[0]));
}

}  // namespace attn::open
