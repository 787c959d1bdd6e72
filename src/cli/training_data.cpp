#include "training_data.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"

namespace attn::cli {
namespace {

bool is_target(std::string_view name) {
  return name == "y" || name == "sample_weight" || name.starts_with("y:") || name.starts_with("sample_weight:");
}

}  // namespace

GivenInputs read_training_data(const keras::Model& model, const std::vector<std::string>& files) {
  GivenInputs out;
  const std::vector<std::string> inputs = model.input_names();
  for (const std::string& file : files) {
    for (NamedTensor& array : io::read_tensors(file)) {
      const bool is_input = std::ranges::find(inputs, array.name) != inputs.end();
      if (!is_input && array.name == "target") array.name = "y";
      if (!is_input && !is_target(array.name))
        throw bad_input(
            "{}: the array '{}' is no input of the model and no target{}; its inputs are {}, and targets are "
            "called y or y:<output>",
            printable(file), printable(array.name), did_you_mean(array.name, std::span<const std::string>(inputs)),
            printable(join(inputs, ", ")));
      if (array.tensor.shape().rank() == 0)
        throw bad_input("{}: the array '{}' is one number; data has a row for each sample", printable(file),
                        printable(array.name));
      if (!out.arrays.emplace(array.name, array.tensor).second)
        throw bad_usage("the array '{}' is given twice", printable(array.name));
      out.files[array.name] = file;
    }
  }
  for (const auto& [name, tensor] : out.arrays) {
    const auto& [first, rows] = *out.arrays.begin();
    if (tensor.shape()[0] != rows.shape()[0])
      throw bad_input("{}: the array '{}' has {} rows, and '{}' has {}", printable(out.files[name]), printable(name),
                      tensor.shape()[0], printable(first), rows.shape()[0]);
  }
  return out;
}

void keep_rows(GivenInputs& data, std::int64_t rows) {
  for (auto& [name, tensor] : data.arrays) {
    if (tensor.shape()[0] <= rows) continue;
    Shape shape = tensor.shape();
    shape[0] = rows;
    tensor = Tensor(tensor.dtype(), shape, tensor.owner());
  }
}

std::map<std::string, graph::TensorType> target_types(const keras::Model& model, const GivenInputs& data) {
  const std::vector<std::string> inputs = model.input_names();
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

}  // namespace attn::cli
