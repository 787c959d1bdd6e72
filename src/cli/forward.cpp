#include "forward.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/run/inputs.h"
#include "model_source.h"
#include "shared_options.h"

namespace attn::cli {
namespace {

NamedTensor pick(const std::vector<NamedTensor>& arrays, const std::string& name, const std::string& path) {
  if (arrays.size() == 1) return {name, arrays.front().tensor};
  for (const NamedTensor& array : arrays)
    if (array.name == name) return array;
  throw bad_input("{}: holds {} arrays, none of them called '{}'", printable(path), arrays.size(), printable(name));
}

}  // namespace

void add_forward(Options& options, Execution& execution, std::vector<std::string>& inputs) {
  add_execution(options, execution);
  add_device(options, execution.device);
  options.add(
      "--dtype", execution.dtype, "DTYPE",
      "compute in float32, bfloat16 or float16 instead of the model's own policy; or with weights made int8, int4 or "
      "int4:BLOCK as model.quantize makes them");
  add_batch(options, execution.batch);
  add_sequence_length(options, execution.sequence_length);
  add_threads(options, execution.threads);
  add_inputs(options, inputs);
}

GivenInputs read_inputs(const keras::Model& model, const std::vector<std::string>& words) {
  GivenInputs out;
  const std::vector<std::string> names = model.input_names();
  for (const std::string& word : words) {
    // A path may hold "=": what is there as a file is one.
    const auto equals = word.find('=');
    const bool named = equals != std::string::npos && !is_file(word);
    const std::string path = named ? word.substr(equals + 1) : word;
    std::vector<NamedTensor> arrays = io::read_tensors(path);
    if (named) arrays = {pick(arrays, word.substr(0, equals), path)};
    for (auto& [name, tensor] : run::name_inputs(names, arrays, path)) {
      out.files[name] = path;
      if (!out.arrays.emplace(name, tensor).second) throw bad_usage("the input '{}' is given twice", printable(name));
    }
  }
  return out;
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
