#include "attn/train/read_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/rng.h"
#include "attn/base/rows.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/tensor_file.h"
#include "attn/open/byte_text.h"
#include "attn/open/inputs.h"
#include "attn/train/data.h"

namespace attn::train {
namespace {

/// Returns the inputs and targets of a text.
std::vector<NamedTensor> text_arrays(const keras::Model& model, const std::string& file,
                                     std::optional<std::int64_t> sequence_length) {
  keras::LowerOptions options;
  options.batch = 1;
  options.sequence_length = sequence_length;
  const graph::Graph graph = model.lower(options);
  const bool takes_text = graph.inputs.size() == 1 && is_integer(graph.value(graph.inputs[0]).dtype) &&
                          graph.value(graph.inputs[0]).shape.rank() == 2;
  if (!takes_text)
    throw bad_input("{}: text data requires a model with one integer input (batch, length)", printable(file));
  const graph::Value& input = graph.value(graph.inputs[0]);
  const io::Bytes text = io::read_file(file);
  const Dim length = input.shape[1], rows = text.size() == 0 ? 0 : (static_cast<Dim>(text.size()) - 1) / length;
  if (rows == 0)
    throw bad_input("{}: the file has {} bytes; a row and its targets need {}", printable(file), text.size(),
                    length + 1);
  return {{input.name, open::rows_of_bytes(text.span(), rows, length)},
          {"y", open::rows_of_bytes(text.span().subspan(1), rows, length)}};
}

/// Returns the file's only array, or the array named `name`, under that name.
io::Arrays array_called(const std::string& name, io::Arrays read, const std::string& file) {
  const std::size_t count = read.tensors.size() + read.texts.size();
  if (count != 1) {
    std::erase_if(read.tensors, [&](const NamedTensor& array) { return array.name != name; });
    std::erase_if(read.texts, [&](const NamedTexts& array) { return array.name != name; });
  }
  for (NamedTensor& array : read.tensors) array.name = name;
  for (NamedTexts& array : read.texts) array.name = name;
  if (read.tensors.size() + read.texts.size() == 1) return read;
  throw bad_input("{}: contains {} arrays, none of them named '{}'", printable(file), count, printable(name));
}

/// Returns the arrays for a word of read_data.
io::Arrays arrays_of(const std::string& name, const std::string& file, const keras::Model& model,
                     const DataReading& reading) {
  if (is_table(file)) {
    if (name.empty()) return {table_arrays(model, file, reading), {}};
    return {{table_as_array(name, file)}, {}};
  }
  if (!name.empty()) return array_called(name, io::read_arrays(file), file);
  const bool is_bytes = file.ends_with(".txt") && model.text_inputs().empty();
  return is_bytes ? io::Arrays{text_arrays(model, file, reading.sequence_length), {}} : io::read_arrays(file);
}

/// Concatenates the rows of all parts. A single one is not copied.
Tensor joined(const std::vector<Tensor>& parts) {
  if (parts.size() == 1) return parts.front();
  Shape shape = parts.front().shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.shape()[0];
  Tensor out(parts.front().dtype(), shape);
  std::byte* to = out.data();
  for (const Tensor& part : parts) to = std::copy_n(part.data(), part.bytes(), to);
  return out;
}

/// Returns whether the rows of `next` can follow those of `first`: apart from the number of rows, the arrays have the
/// same type.
bool continues_rows(const Tensor& first, const Tensor& next) {
  Shape shape = next.shape();
  shape[0] = first.shape()[0];
  return next.dtype() == first.dtype() && shape == first.shape();
}

/// Gives the array the name that training has for it. Throws Error (bad_input) for a name of no input and no target,
/// and for a single number.
void expect_array(const std::vector<std::string>& inputs, NamedTensor& array, const std::string& place) {
  const bool is_input = std::ranges::find(inputs, array.name) != inputs.end();
  if (!is_input && array.name == "target") array.name = "y";
  if (!is_input && !is_target(array.name))
    throw bad_input(
        "{}: the array '{}' is neither an input of the model nor a target{}; its inputs are {}, and targets are named "
        "y or y:<output>",
        printable(place), printable(array.name), did_you_mean(array.name, std::span<const std::string>(inputs)),
        printable(join(inputs, ", ")))
        .about("inputs");
  if (array.tensor.shape().rank() == 0)
    throw bad_input("{}: the array '{}' is a scalar; expected one row per sample", printable(place),
                    printable(array.name));
}

/// Throws Error (bad_input) where arrays differ in their numbers of rows.
void expect_rows(const open::GivenInputs& given) {
  for (const auto& [name, tensor] : given.arrays) {
    const auto& [first, rows] = *given.arrays.begin();
    if (tensor.shape()[0] != rows.shape()[0])
      throw bad_input("{}: the array '{}' has {} rows, and '{}' has {}", printable(given.files.at(name)),
                      printable(name), tensor.shape()[0], printable(first), rows.shape()[0]);
  }
}

}  // namespace

open::GivenInputs read_data(const keras::Model& model, const std::vector<std::string>& files,
                            const DataReading& reading) {
  open::GivenInputs out;
  std::map<std::string, std::vector<Tensor>> parts;
  const std::vector<std::string> inputs = model.array_names();
  for (const std::string& word : files) {
    const auto [name_of_one, file] = open::named_file(word);
    io::Arrays read = arrays_of(name_of_one, file, model, reading);
    for (auto& [name, tensor] : open::encoded_texts(model, read.texts, read.tensors, file))
      read.tensors.push_back({name, tensor});
    for (NamedTensor& array : read.tensors) {
      expect_array(inputs, array, file);
      std::vector<Tensor>& before = parts[array.name];
      std::string& where = out.files[array.name];
      if (!before.empty() && !continues_rows(before.front(), array.tensor))
        throw bad_input("{}: the array '{}' is {} {}, and cannot continue that of {}, which is {} {}", printable(file),
                        printable(array.name), name_of(array.tensor.dtype()), array.tensor.shape().str(),
                        printable(where), name_of(before.front().dtype()), before.front().shape().str());
      before.push_back(array.tensor);
      where += (where.empty() ? "" : ", ") + file;
    }
  }
  for (auto& [name, tensors] : parts) out.arrays.emplace(name, joined(std::exchange(tensors, {})));
  expect_rows(out);
  return out;
}

open::GivenInputs named_data(const keras::Model& model, const std::map<std::string, Tensor>& arrays) {
  constexpr const char* kPlace = "data";
  const std::vector<std::string> inputs = model.array_names();
  open::GivenInputs out;
  for (const auto& [name, tensor] : arrays) {
    NamedTensor array{name, tensor};
    expect_array(inputs, array, kPlace);
    out.files[array.name] = kPlace;
    out.arrays.emplace(std::move(array.name), std::move(array.tensor));
  }
  expect_rows(out);
  return out;
}

void add_class_weights(open::GivenInputs& data, const std::string& json) {
  const auto weights_by_class = nlohmann::json::parse(json, nullptr, false);
  std::map<std::int64_t, double> weights;
  for (const auto& [name, weight] : weights_by_class.items()) {
    const auto label = parse_number<std::int64_t>(name);
    if (!weights_by_class.is_object() || !label || name != std::to_string(*label) || !weight.is_number() ||
        weight < 0 || weight.get<double>() > static_cast<double>(std::numeric_limits<float>::max()))
      throw bad_usage("`class_weight`: expected an object of numbers by class, as in {{\"0\": 1, \"1\": 5}}");
    weights[*label] = weight;
  }
  if (weights.empty())
    throw bad_usage("`class_weight`: expected an object of numbers by class, as in {{\"0\": 1, \"1\": 5}}");
  const auto target = data.arrays.find("y");
  if (target == data.arrays.end())
    throw bad_usage("`class_weight` requires a single target 'y'; use sample_weight:<output> instead");
  if (!data.arrays.emplace("sample_weight", class_weights(target->second, weights)).second)
    throw bad_usage("`class_weight` and sample_weight exclude each other");
}

void expect_labels(const keras::LossGraph& loss, const open::GivenInputs& data) {
  for (const keras::Target& target : loss.targets) {
    const std::string& name = loss.graph.value(target.value).name;
    const auto found = data.arrays.find(name);
    if (!target.bounded || found == data.arrays.end()) continue;
    const Tensor& labels = found->second;
    for (std::int64_t i = 0; i < labels.size(); ++i) {
      const double label = std::trunc(labels.at(i));
      if (label >= 0.0 && label < static_cast<double>(target.classes)) continue;
      if (target.ignored && label == static_cast<double>(*target.ignored)) continue;
      const auto file = data.files.find(name);
      throw bad_input(
          "{}the array '{}' has the label {} in row {}, which is not one of the {} classes of the loss, 0 to {}",
          file == data.files.end() ? "" : printable(file->second) + ": ", printable(name), labels.at(i),
          i / (labels.size() / labels.shape()[0]), target.classes, target.classes - 1);
    }
  }
}

void expect_indices(const graph::Graph& graph, const open::GivenInputs& data) {
  // For each value that only passes the numbers of an input on, that input.
  std::map<graph::ValueId, graph::ValueId> same;
  for (const graph::ValueId input : graph.inputs) same[input] = input;
  for (const graph::Node& node : graph.nodes) {
    const bool keeps = std::holds_alternative<graph::Cast>(node.op) || std::holds_alternative<graph::Reshape>(node.op);
    if (keeps && same.contains(node.inputs[0])) same[node.outputs[0]] = same[node.inputs[0]];
    const auto* const gather = std::get_if<graph::Gather>(&node.op);
    if (gather == nullptr || !same.contains(node.inputs[1])) continue;
    const std::string& name = graph.value(same[node.inputs[1]]).name;
    const auto found = data.arrays.find(name);
    if (found == data.arrays.end()) continue;
    const Tensor& indices = found->second;
    const auto size = static_cast<double>(graph.value(node.inputs[0]).shape[gather->axis]);
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      const double index = std::trunc(indices.at(i));
      if (index >= -size && index < size) continue;
      const auto file = data.files.find(name);
      throw bad_input("{}the array '{}' has the index {} in row {}, and the table of the layer '{}' has {} entries",
                      file == data.files.end() ? "" : printable(file->second) + ": ", printable(name), indices.at(i),
                      i / (indices.size() / indices.shape()[0]),
                      node.layer == graph::kNone ? "" : printable(graph.layers[graph::at(node.layer)].name), size);
    }
  }
}

open::GivenInputs split_off(open::GivenInputs& given, double share) {
  open::GivenInputs out;
  for (auto& [name, tensor] : given.arrays) {
    const std::int64_t all = tensor.shape()[0];
    const auto stay = static_cast<std::int64_t>(static_cast<double>(all) * (1.0 - share));
    if (stay == 0 || stay == all)
      throw bad_usage("`validation_split` {}: expected at least one of {} rows on each side", share, all);
    out.arrays.emplace(name, rows_view(tensor, stay, all - stay));
    tensor = rows_view(tensor, 0, stay);
  }
  return out;
}

void keep_rows(open::GivenInputs& data, std::int64_t rows) {
  for (auto& [name, tensor] : data.arrays) {
    if (tensor.shape()[0] <= rows) continue;
    Shape shape = tensor.shape();
    shape[0] = rows;
    tensor = Tensor(tensor.dtype(), shape, tensor.owner());
  }
}

std::map<std::string, graph::TensorType> target_types(const keras::Model& model, const open::GivenInputs& data) {
  const std::vector<std::string> inputs = model.array_names();
  std::map<std::string, graph::TensorType> types;
  for (const auto& [name, tensor] : data.arrays)
    if (std::ranges::find(inputs, name) == inputs.end()) types[name] = {tensor.dtype(), tensor.shape()};
  return types;
}

void draw_targets(const keras::LossGraph& loss, std::uint64_t seed, std::map<std::string, Tensor>& arrays) {
  for (const keras::Target& target : loss.targets) {
    const graph::Value& value = loss.graph.value(target.value);
    if (arrays.contains(value.name)) continue;
    Tensor tensor(value.dtype, value.shape);
    RandomStream stream(seed, value.name);
    const double classes = static_cast<double>(target.classes);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      switch (target.labels) {
        case keras::Labels::numbers:
          tensor.set(i, stream.normal());
          break;
        case keras::Labels::positive:
        case keras::Labels::probabilities:
          tensor.set(i, 0.1 + stream.uniform());
          break;
        case keras::Labels::classes:
          tensor.set(i, std::floor(stream.uniform() * classes));
          break;
        case keras::Labels::binary:
          tensor.set(i, stream.uniform() < 0.5 ? 0.0 : 1.0);
          break;
        case keras::Labels::one_hot:
          break;
      }
    }
    const std::int64_t row = target.classes;
    for (std::int64_t start = 0; row > 0 && start < tensor.size(); start += row) {
      if (target.labels == keras::Labels::one_hot)
        tensor.set(start + static_cast<std::int64_t>(stream.uniform() * classes), 1.0);
      double sum = 0.0;
      for (std::int64_t i = start; i < start + row; ++i) sum += tensor.at(i);
      if (target.labels == keras::Labels::probabilities)
        for (std::int64_t i = start; i < start + row; ++i) tensor.set(i, tensor.at(i) / sum);
    }
    arrays.emplace(value.name, tensor);
  }
}

}  // namespace attn::train
