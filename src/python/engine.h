// A model that is compiled on demand for the shapes of its inputs, and replaced by what training makes of it.
#pragma once

#include <nanobind/nanobind.h>

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attn.h"
#include "attn/library/probe.h"

namespace attn::python {

class Engine {
 public:
  Engine(Model model, RunOptions options);

  /// Returns the current model. The pointer keeps it alive if another model replaces it. The GIL must be held.
  [[nodiscard]] std::shared_ptr<const Model> model() const { return model_; }
  [[nodiscard]] const RunOptions& options() const { return options_; }

  /// Runs passes of `batch_size` rows; one pass over all of them if it is None, or if the model fixes its batch.
  nanobind::object predict(nanobind::handle x, std::optional<std::int64_t> batch_size);
  nanobind::dict scores(nanobind::handle x);
  /// Returns the attention maps of a pass as SVG; the inputs are random if x is None.
  std::string attention_maps(nanobind::handle x);

  /// Trains, and keeps the trained model even if a callback ends the training. `validation` is None, or a pair of x and
  /// targets. `on_epoch` is called with the number of the epoch and its values. Returns the reason for the end.
  std::string fit(nanobind::handle x, const nanobind::dict& targets, nanobind::handle validation, TrainOptions options,
                  const nanobind::object& on_epoch);
  /// Returns the names and values of the loss and the metrics, in Keras's order.
  nanobind::list evaluate(nanobind::handle x, const nanobind::dict& targets, std::int64_t batch_size);
  /// Returns the loss, and a dict of gradients.
  nanobind::tuple gradients(nanobind::handle x, const nanobind::dict& targets, const GradientOptions& how);

  [[nodiscard]] nanobind::list weights() const;
  /// Replaces weights by copies of these arrays; the keys are names of weights.
  void set_weights(const nanobind::dict& arrays);
  /// Replaces the weights by those of a file.
  void load_weights(const std::string& path);
  void compile(const std::string& config);
  void quantize(const std::string& how);
  void save(const std::string& path, const SaveOptions& how) const;

  std::vector<std::string> generate(const std::vector<std::string>& prompts, const GenerateOptions& options);
  std::vector<std::vector<std::int32_t>> generate_ids(const std::vector<std::vector<std::int32_t>>& prompts,
                                                      const GenerateOptions& options);
  nanobind::object score(const std::vector<std::int32_t>& ids);
  /// Returns the ids of a text as generate() reads it.
  std::vector<std::int32_t> encode_prompt(const std::string& text);

  /// Returns the result of a question about the inside of the model, which must contain no Python object.
  template <typename Ask>
  auto probed(const Ask& ask) {
    const nanobind::gil_scoped_release release;
    const std::lock_guard guard(lock_);
    return ask(probe());
  }
  /// The same about two models.
  template <typename Ask>
  auto probed(Engine& other, const Ask& ask) {
    if (&other == this) return probed([&](const library::Probe& own) { return ask(own, own); });
    const nanobind::gil_scoped_release release;
    const std::scoped_lock guard(lock_, other.lock_);
    return ask(probe(), other.probe());
  }

 private:
  using Inputs = std::map<std::string, Tensor>;
  struct Compiled {
    std::map<std::string, Shape> shapes;
    bool scores = false;
    Runner runner;
  };

  /// Returns the values in x that belong to each input, as borrowed references.
  [[nodiscard]] std::vector<std::pair<std::string, nanobind::handle>> arrays_of(nanobind::handle x) const;
  /// Returns the inputs in x as numeric arrays: the model's text layers encode strings.
  [[nodiscard]] Inputs inputs_of(nanobind::handle x) const;
  /// Returns the arrays of x and of `targets`, by name.
  [[nodiscard]] Inputs data_of(nanobind::handle x, const nanobind::dict& targets) const;
  /// Returns the runner for inputs of these shapes. The most recent runners are kept. The lock must be held.
  Runner& runner_for(const Inputs& inputs, bool scores);
  /// Returns the generator, which the first call creates. The lock must be held.
  Generator& generator();
  /// Returns the model under study, which the first call opens. The lock must be held.
  const library::Probe& probe();
  std::vector<NamedTensor> outputs_of(const Inputs& inputs, std::optional<std::int64_t> batch_size);
  /// Puts another model in place of this one. Its weights are in memory, so options_.weights has no meaning any more.
  /// The lock must be held, and the GIL not.
  void replace(Model model);

  std::shared_ptr<const Model> model_;  // model_ and options_ change only while both the lock and the GIL are held
  RunOptions options_;
  std::vector<std::string> names_ = model_->input_names();
  std::vector<std::string> text_names_ = model_->text_input_names();
  std::uint64_t fits_ = 0;  // number of trainings so far: each draws another order of rows
  std::mutex lock_;  // guards the other members from names_ on, which only one thread may use at a time; locked without
                     // the GIL
  std::list<Compiled> compiled_;
  std::optional<Generator> generator_;
  std::optional<library::Probe> probe_;
};

}  // namespace attn::python
