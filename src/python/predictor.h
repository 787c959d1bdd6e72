// A model that is compiled on demand for the shapes of its inputs.
#pragma once

#include <nanobind/nanobind.h>

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attn/attn.h"

namespace attn::python {

class Predictor {
 public:
  Predictor(Model model, RunOptions options) : model_(std::move(model)), options_(std::move(options)) {}

  [[nodiscard]] const Model& model() const noexcept { return model_; }

  nanobind::object predict(nanobind::handle x);
  nanobind::dict scores(nanobind::handle x);
  /// The attention maps of a pass as SVG; of random inputs if x is None.
  std::string attention_maps(nanobind::handle x);

 private:
  using Inputs = std::map<std::string, Tensor>;
  struct Compiled {
    std::map<std::string, Shape> shapes;
    bool scores = false;
    Runner runner;
  };

  /// The values passed for each input; borrowed from x.
  [[nodiscard]] std::vector<std::pair<std::string, nanobind::handle>> arrays_of(nanobind::handle x) const;
  /// The same as numeric arrays: strings are encoded by the model.
  [[nodiscard]] Inputs inputs_of(nanobind::handle x) const;
  /// The runner for these shapes; the most recent ones are kept. The lock must be held.
  Runner& runner_for(const Inputs& inputs, bool scores);

  Model model_;
  RunOptions options_;
  std::vector<std::string> names_ = model_.input_names();
  std::vector<std::string> text_names_ = model_.text_input_names();
  std::mutex lock_;  // guards the runners, each of which is for one thread at a time
  std::list<Compiled> compiled_;
};

}  // namespace attn::python
