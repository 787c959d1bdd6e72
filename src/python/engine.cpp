#include "engine.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>

#include "arrays.h"
#include "attn/base/error.h"
#include "attn/base/rows.h"
#include "attn/base/text.h"
#include "attn/run/inputs.h"

namespace nb = nanobind;

namespace attn::python {
namespace {

/// Returns a copy that the caller owns: the next pass overwrites the runner's results.
Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  return copy;
}

std::vector<NamedTensor> copies_of(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> out;
  for (const NamedTensor& tensor : tensors) out.push_back({tensor.name, copy_of(tensor.tensor)});
  return out;
}

/// Converts a str, bytes, lists of them, or a NumPy array of them.
TextArray texts_of(nb::handle x, const std::string& name) {
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(x).attr("astype")("O");
  TextArray out;
  for (const nb::handle size : nb::borrow<nb::tuple>(array.attr("shape"))) out.shape.push_back(nb::cast<Dim>(size));
  for (const nb::handle item : nb::borrow<nb::list>(array.attr("ravel")().attr("tolist")())) {
    if (nb::isinstance<nb::bytes>(item)) {
      const auto bytes = nb::borrow<nb::bytes>(item);
      out.values.emplace_back(bytes.c_str(), bytes.size());
    } else if (nb::isinstance<nb::str>(item)) {
      out.values.push_back(nb::cast<std::string>(item));
    } else {
      throw bad_input("the input '{}' is of strings", name);
    }
  }
  return out;
}

/// Returns whether the outputs have numbers as names: a model does so if its outputs are not a dict.
bool are_numbered(const std::vector<NamedTensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name != "output_" + std::to_string(i)) return false;
  return true;
}

/// Returns an array of NumPy's unicode strings.
nb::object array_of_texts(const TextArray& texts) {
  nb::list strings;
  for (const std::string& text : texts.values) strings.append(nb::str(text.data(), text.size()));
  nb::list shape;
  for (const Dim dim : texts.shape) shape.append(dim);
  return nb::module_::import_("numpy").attr("array")(strings, nb::arg("dtype") = "str").attr("reshape")(shape);
}

/// Returns rows from `first` on, at most `count`, of each array.
std::map<std::string, Tensor> rows_of(const std::map<std::string, Tensor>& inputs, Dim first, Dim count) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : inputs)
    out.emplace(name, rows_view(tensor, first, std::min(count, tensor.shape()[0] - first)));
  return out;
}

/// Returns the number of rows, if all inputs have the same; otherwise empty.
std::optional<Dim> common_rows(const std::map<std::string, Tensor>& inputs) {
  std::optional<Dim> out;
  for (const auto& [name, tensor] : inputs) {
    if (tensor.shape().rank() == 0 || (out && *out != tensor.shape()[0])) return std::nullopt;
    out = tensor.shape()[0];
  }
  return out;
}

/// Joins the outputs of passes over parts of the rows.
std::vector<NamedTensor> joined(const std::vector<std::vector<NamedTensor>>& parts) {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < parts.front().size(); ++i) {
    Shape shape = parts.front()[i].tensor.shape();
    const std::string& name = parts.front()[i].name;
    if (shape.rank() == 0)
      throw bad_usage(
          "the output '{}' has no batch axis, so it has no rows to join: call the model in place of predict",
          printable(name));
    shape[0] = 0;
    for (const auto& part : parts) shape[0] += part[i].tensor.shape()[0];
    Tensor whole(parts.front()[i].tensor.dtype(), shape);
    std::byte* to = whole.data();
    for (const auto& part : parts) to = std::copy_n(part[i].tensor.data(), part[i].tensor.bytes(), to);
    out.push_back({name, std::move(whole)});
  }
  return out;
}

nb::dict by_name(const std::vector<NamedTensor>& tensors) {
  nb::dict out;
  for (const NamedTensor& tensor : tensors) out[tensor.name.c_str()] = array_of(tensor.tensor);
  return out;
}

}  // namespace

Engine::Engine(Model model, RunOptions options)
    : model_(std::make_shared<const Model>(std::move(model))), options_(std::move(options)) {}

std::vector<std::pair<std::string, nb::handle>> Engine::arrays_of(nb::handle x) const {
  std::vector<std::pair<std::string, nb::handle>> out;
  if (nb::isinstance<nb::dict>(x)) {
    for (const auto& [name, array] : nb::borrow<nb::dict>(x)) {
      if (!nb::isinstance<nb::str>(name)) throw bad_input("the names of inputs are strings");
      out.emplace_back(nb::cast<std::string>(name), array);
    }
    return out;
  }
  if (names_.size() == 1) return {{names_[0], x}};
  if (!nb::isinstance<nb::list>(x) && !nb::isinstance<nb::tuple>(x))
    throw bad_input("the model has {} inputs; give a list of arrays, or a dict by their names: {}", names_.size(),
                    printable(join(names_, ", ")));
  if (nb::len(x) != names_.size()) throw bad_input("{} arrays were given for {} inputs", nb::len(x), names_.size());
  for (const nb::handle array : x) out.emplace_back(names_[out.size()], array);
  return out;
}

Engine::Inputs Engine::inputs_of(nb::handle x) const {
  const auto takes_text = [&](const std::string& name) {
    return std::find(text_names_.begin(), text_names_.end(), name) != text_names_.end();
  };
  std::vector<NamedTensor> numbers;
  std::map<std::string, TextArray> texts;
  for (const auto& [name, array] : arrays_of(x)) {
    if (takes_text(name)) {
      texts.emplace(name, texts_of(array, name));
    } else {
      numbers.push_back({name, tensor_of(array, name)});
    }
  }
  std::vector<std::string> names;  // names of numeric outputs
  std::copy_if(names_.begin(), names_.end(), std::back_inserter(names), std::not_fn(takes_text));
  Inputs out;
  if (!names.empty() || !numbers.empty()) out = run::name_inputs(names, numbers, "x");
  for (const std::string& name : names_)
    if (!out.contains(name) && !texts.contains(name))
      throw bad_input("x has no array for the input '{}'", printable(name));
  for (auto& [name, tensor] : model_->encode_texts(texts, out)) out.emplace(name, tensor);
  return out;
}

Engine::Inputs Engine::data_of(nb::handle x, const nb::dict& targets) const {
  Inputs out = inputs_of(x);
  for (const auto& [name, array] : targets) {
    const auto text = nb::cast<std::string>(name);
    out.emplace(text, tensor_of(array, text));
  }
  return out;
}

void Engine::replace(Model model) {
  auto next = std::make_shared<const Model>(std::move(model));
  compiled_.clear();
  generator_.reset();
  probe_.reset();
  const nb::gil_scoped_acquire acquire;
  model_ = std::move(next);
  options_.weights.reset();
}

Runner& Engine::runner_for(const Inputs& inputs, bool scores) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : inputs) shapes.emplace(name, tensor.shape());
  const auto found = std::find_if(compiled_.begin(), compiled_.end(), [&](const Compiled& compiled) {
    return compiled.scores == scores && compiled.shapes == shapes;
  });
  if (found != compiled_.end()) {
    compiled_.splice(compiled_.begin(), compiled_, found);
  } else {
    RunOptions options = options_;
    options.input_shapes = shapes;
    options.scores = scores;
    compiled_.push_front({std::move(shapes), scores, model_->prepare(options)});
    constexpr std::size_t kKept = 4;  // number of compiled models that are kept; each has its own packed weights
    if (compiled_.size() > kKept) compiled_.pop_back();
  }
  return compiled_.front().runner;
}

Generator& Engine::generator() {
  if (!generator_) generator_.emplace(model_->generator(options_));
  return *generator_;
}

const library::Probe& Engine::probe() {
  if (!probe_) probe_.emplace(*model_, options_);
  return *probe_;
}

std::vector<NamedTensor> Engine::outputs_of(const Inputs& inputs, std::optional<std::int64_t> batch_size) {
  const std::optional<Dim> rows = common_rows(inputs);
  bool splits = batch_size && rows && *rows > *batch_size;
  if (splits) {
    for (const auto& [name, shape] : model_->input_shapes())
      splits = splits && shape.rank() > 0 && shape[0] == kUnknown;
  }
  if (!splits) return copies_of(runner_for(inputs, false).run(inputs));
  std::vector<std::vector<NamedTensor>> parts;
  for (Dim first = 0; first < *rows; first += *batch_size) {
    const Inputs part = rows_of(inputs, first, *batch_size);
    parts.push_back(copies_of(runner_for(part, false).run(part)));
  }
  return joined(parts);
}

nb::object Engine::predict(nb::handle x, std::optional<std::int64_t> batch_size) {
  if (batch_size && *batch_size < 1) throw bad_usage("batch_size {}: expected 1 or more", *batch_size);
  const Inputs inputs = inputs_of(x);
  std::vector<NamedTensor> outputs;
  std::map<std::string, TextArray> texts;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(lock_);
    outputs = outputs_of(inputs, batch_size);
    texts = model_->decode_texts(outputs);
  }
  const auto array = [&](const NamedTensor& output) {
    const auto text = texts.find(output.name);
    return text == texts.end() ? array_of(output.tensor) : array_of_texts(text->second);
  };
  if (!are_numbered(outputs)) {
    nb::dict dict;
    for (const NamedTensor& output : outputs) dict[output.name.c_str()] = array(output);
    return dict;
  }
  if (outputs.size() == 1) return array(outputs[0]);
  nb::list list;
  for (const NamedTensor& output : outputs) list.append(array(output));
  return list;
}

nb::dict Engine::scores(nb::handle x) {
  const Inputs inputs = inputs_of(x);
  std::vector<NamedTensor> scores;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(lock_);
    Runner& runner = runner_for(inputs, true);
    runner.run(inputs);
    scores = copies_of(runner.scores());
  }
  return by_name(scores);
}

std::string Engine::attention_maps(nb::handle x) {
  const Inputs inputs = x.is_none() ? Inputs() : inputs_of(x);
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  Runner& runner = runner_for(inputs, true);
  runner.run(inputs);
  return runner.attention_maps();
}

}  // namespace attn::python
