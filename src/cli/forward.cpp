#include "forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/library/texts.h"
#include "attn/run/inputs.h"
#include "model_source.h"
#include "shared_options.h"

namespace attn::cli {
namespace {

/// The array of this name, or the only one that there is, under it.
io::Arrays pick(const io::Arrays& arrays, const std::string& name, const std::string& path) {
  const std::size_t count = arrays.tensors.size() + arrays.texts.size();
  io::Arrays out;
  for (const NamedTensor& array : arrays.tensors)
    if (count == 1 || array.name == name) out.tensors.push_back({name, array.tensor});
  for (const NamedTexts& array : arrays.texts)
    if (count == 1 || array.name == name) out.texts.push_back({name, array.texts});
  if (!out.tensors.empty() || !out.texts.empty()) return out;
  throw bad_input("{}: holds {} arrays, none of them called '{}'", printable(path), count, printable(name));
}

/// The arrays of strings by the names of the inputs that take them.
std::map<std::string, TextArray> name_texts(const keras::Model& model, const std::vector<NamedTexts>& texts,
                                            const std::string& path) {
  std::vector<std::string> names;
  for (const keras::TextInput& input : model.text_inputs()) names.push_back(input.name);
  const auto is_name = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  std::map<std::string, TextArray> out;
  for (const NamedTexts& array : texts) {
    if (names.empty())
      throw bad_input("{}: holds strings, and the inputs of the model are of numbers: {}", printable(path),
                      printable(join(model.input_names(), ", ")));
    const bool tells_none = array.name.empty() || path.ends_with(".npy");
    if (!is_name(array.name) && !(tells_none && texts.size() == 1 && names.size() == 1))
      throw bad_input("{}: {}; the inputs of strings are {}", printable(path),
                      tells_none ? "which input its strings are for is not told: give --input NAME=FILE"
                                 : fmt::format("the model has no input of strings '{}'{}", printable(array.name),
                                               did_you_mean(array.name, std::span<const std::string>(names))),
                      printable(join(names, ", ")));
    out.emplace(is_name(array.name) ? array.name : names.front(), array.texts);
  }
  return out;
}

/// The arrays of numbers by the names of the inputs that take them.
std::map<std::string, Tensor> name_numbers(const keras::Model& model, const io::Arrays& arrays,
                                           const std::string& path) {
  if (arrays.tensors.empty() && !arrays.texts.empty()) return {};
  std::vector<std::string> names = model.input_names();
  for (const keras::TextInput& input : model.text_inputs()) {
    for (const NamedTensor& array : arrays.tensors)
      if (array.name == input.name || names.size() == 1)
        throw bad_input("{}: the input '{}' is of strings, the array given for it is {}", printable(path),
                        printable(input.name), name_of(array.tensor.dtype()));
    std::erase(names, input.name);
  }
  return run::name_inputs(names, arrays.tensors, path);
}

/// What files hold, by the names of the model's inputs.
struct Named {
  std::map<std::string, Tensor> numbers;
  std::map<std::string, TextArray> texts;
  std::map<std::string, std::string> files;  ///< of each

  void add(const keras::Model& model, const io::Arrays& arrays, const std::string& path) {
    for (auto& [name, tensor] : name_numbers(model, arrays, path)) take(numbers, name, tensor, path);
    for (auto& [name, array] : name_texts(model, arrays.texts, path)) take(texts, name, array, path);
  }

 private:
  template <typename Array>
  void take(std::map<std::string, Array>& in, const std::string& name, const Array& array, const std::string& path) {
    if (!files.emplace(name, path).second) throw bad_usage("the input '{}' is given twice", printable(name));
    in.emplace(name, array);
  }
};

/// `place` is for messages: the file, or nothing where there are several.
std::map<std::string, Tensor> encoded(const keras::Model& model, const std::map<std::string, TextArray>& texts,
                                      const std::map<std::string, Tensor>& numbers, const std::string& place) {
  try {
    return library::encode_texts(model, texts, numbers);
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

void add_forward(Options& options, Execution& execution, std::vector<std::string>& inputs) {
  add_execution(options, execution);
  add_device(options, execution.device);
  add_dtype_of_weights(options, execution.dtype);
  add_batch(options, execution.batch);
  add_sequence_length(options, execution.sequence_length);
  add_threads(options, execution.threads);
  add_inputs(options, inputs);
}

std::map<std::string, Tensor> encoded_texts(const keras::Model& model, const std::vector<NamedTexts>& texts,
                                            const std::vector<NamedTensor>& numbers, const std::string& path) {
  std::map<std::string, Tensor> of_numbers;
  for (const NamedTensor& array : numbers) of_numbers.emplace(array.name, array.tensor);
  return encoded(model, name_texts(model, texts, path), of_numbers, path);
}

GivenInputs name_inputs(const keras::Model& model, const io::Arrays& arrays, const std::string& path) {
  Named named;
  named.add(model, arrays, path);
  return given(model, std::move(named));
}

GivenInputs read_inputs(const keras::Model& model, const std::vector<std::string>& words) {
  Named named;
  for (const std::string& word : words) {
    // A path may hold "=": what is there as a file is one.
    const auto equals = word.find('=');
    const bool tells_name = equals != std::string::npos && !is_file(word);
    const std::string path = tells_name ? word.substr(equals + 1) : word;
    const io::Arrays arrays = io::read_arrays(path);
    named.add(model, tells_name ? pick(arrays, word.substr(0, equals), path) : arrays, path);
  }
  return given(model, std::move(named));
}

keras::LowerOptions lower_options(const Execution& execution, const GivenInputs& given) {
  keras::LowerOptions options;
  options.batch = execution.batch;
  options.sequence_length = execution.sequence_length;
  if (!is_quantization(execution.dtype)) options.dtype = execution.dtype;
  for (const auto& [name, tensor] : given.arrays) options.input_shapes.emplace(name, tensor.shape());
  return options;
}

void warn_of_given_batch(const Execution& execution, const GivenInputs& given, const Console& console) {
  if (!execution.batch) return;
  for (const auto& [name, tensor] : given.arrays)
    if (tensor.shape().rank() > 0 && tensor.shape()[0] != *execution.batch)
      return console.warn(fmt::format("--batch {} is not used: the array given for '{}' has a batch of {}",
                                      *execution.batch, printable(name), tensor.shape()[0]));
}

std::vector<report::InputReport> describe_inputs(const graph::Graph& graph, const GivenInputs& given) {
  std::vector<report::InputReport> out;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    const auto file = given.files.find(value.name);
    out.push_back({value.name, std::string(name_of(value.dtype)), value.shape,
                   file == given.files.end() ? "random" : file->second});
  }
  return out;
}

}  // namespace attn::cli
