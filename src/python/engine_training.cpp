// Training, weights and text of attn::python::Engine.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <utility>

#include "arrays.h"
#include "attn/base/error.h"
#include "engine.h"

namespace nb = nanobind;

namespace attn::python {
namespace {

/// Lets Ctrl-C end a training. A Python error ends it as a C++ exception.
void check_signals() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

std::string Engine::fit(nb::handle x, const nb::dict& targets, nb::handle validation, TrainOptions options,
                        const nb::object& on_epoch) {
  const Inputs data = data_of(x, targets);
  Inputs held_out;
  if (!validation.is_none()) {
    const auto pair = nb::borrow<nb::tuple>(validation);
    held_out = data_of(pair[0], nb::borrow<nb::dict>(pair[1]));
  }
  FitEvents events;
  events.step = check_signals;
  events.epoch = [&](std::int64_t epoch, const std::map<std::string, double>& values) {
    const nb::gil_scoped_acquire acquire;
    on_epoch(epoch, values);
  };
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  options.weights = options_.weights;
  options.seed = options_.seed + fits_++;
  options.threads = options_.threads;
  Trainer trainer = model_->trainer(data, options, held_out);
  std::string end;
  std::exception_ptr failure;
  try {
    end = trainer.fit(events).end;
  } catch (...) {
    failure = std::current_exception();
  }
  replace(trainer.model());
  if (failure) std::rethrow_exception(failure);
  return end;
}

nb::list Engine::evaluate(nb::handle x, const nb::dict& targets, std::int64_t batch_size) {
  const Inputs data = data_of(x, targets);
  TrainOptions options;
  options.batch_size = batch_size;
  std::vector<std::string> names;
  std::map<std::string, double> values;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(lock_);
    options.weights = options_.weights;
    options.seed = options_.seed;
    options.threads = options_.threads;
    Trainer trainer = model_->trainer(data, options);
    names = trainer.value_names();
    values = trainer.evaluate(data);
  }
  nb::list out;
  for (const std::string& name : names)
    if (const auto found = values.find(name); found != values.end()) out.append(nb::make_tuple(name, found->second));
  return out;
}

nb::tuple Engine::gradients(nb::handle x, const nb::dict& targets, const GradientOptions& how) {
  const Inputs data = data_of(x, targets);
  Gradients gradients;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(lock_);
    gradients = model_->gradients(data, how, options_);
  }
  nb::dict arrays;
  for (const NamedTensor& gradient : gradients.gradients) arrays[gradient.name.c_str()] = array_of(gradient.tensor);
  return nb::make_tuple(gradients.loss, arrays);
}

nb::list Engine::weights() const {
  const std::shared_ptr<const Model> model = model_;
  const RunOptions options = options_;
  std::vector<NamedTensor> weights;
  {
    const nb::gil_scoped_release release;
    weights = model->weights(options);
  }
  nb::list out;
  for (const NamedTensor& weight : weights)  // the caller may change a copy
    out.append(nb::make_tuple(weight.name, array_of(weight.tensor.cast(weight.tensor.dtype()))));
  return out;
}

void Engine::set_weights(const nb::dict& arrays) {
  std::vector<NamedTensor> weights;
  for (const auto& [name, array] : arrays) {
    const auto path = nb::cast<std::string>(name);
    const Tensor given = tensor_of(array, path);
    weights.push_back({path, given.cast(given.dtype())});
  }
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  replace(model_->with_weights(weights));
}

void Engine::load_weights(const std::string& path) {
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  RunOptions options = options_;
  options.weights = path;
  replace(model_->with_weights(model_->weights(options)));
}

void Engine::compile(const std::string& config) {
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  replace(model_->compiled(config, options_));
}

void Engine::quantize(const std::string& how) {
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  replace(model_->quantized(how, options_));
}

void Engine::save(const std::string& path, const SaveOptions& how) const {
  const std::shared_ptr<const Model> model = model_;
  const RunOptions options = options_;
  const nb::gil_scoped_release release;
  model->save(path, how, options);
}

std::vector<std::string> Engine::generate(const std::vector<std::string>& prompts, const GenerateOptions& options) {
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  return generator().generate(prompts, options);
}

std::vector<std::vector<std::int32_t>> Engine::generate_ids(const std::vector<std::vector<std::int32_t>>& prompts,
                                                            const GenerateOptions& options) {
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  return generator().generate_ids(prompts, options);
}

nb::object Engine::score(const std::vector<std::int32_t>& ids) {
  Tensor out;
  {
    const nb::gil_scoped_release release;
    const std::lock_guard guard(lock_);
    const std::vector<double> scores = generator().score(ids);
    out = Tensor(DType::float64, {static_cast<Dim>(scores.size())});
    for (std::size_t i = 0; i < scores.size(); ++i) out.set(static_cast<std::int64_t>(i), scores[i]);
  }
  return array_of(out);
}

std::vector<std::int32_t> Engine::encode_prompt(const std::string& text) {
  const nb::gil_scoped_release release;
  const std::lock_guard guard(lock_);
  return generator().encode(text);
}

}  // namespace attn::python
