// A training that is ready for its first step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/communicators/communicator.h"
#include "attn/open/inputs.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/train/epoch_callbacks.h"
#include "attn/train/fit.h"
#include "attn/train/setup.h"
#include "attn/train/state.h"
#include "attn/train/trainer.h"

namespace attn::train {

/// The parts of a training.
struct Job {
  FitOptions options;
  std::unique_ptr<backends::Backend> backend;
  std::optional<open::LoadedModel> loaded;
  std::string compiled;  ///< compile_config of the model, as JSON
  optimizers::Settings settings;
  open::GivenInputs given, held_out;
  std::optional<Data> rows, validation_rows;
  State state;
  keras::LossGraph shown;  ///< the graph of the first batch
  std::optional<EpochCallbacks> callbacks;
  std::unique_ptr<Trainer> trainer;
  std::vector<Tensor> taken_over;  ///< the optimizer's variables that a file had
  std::int64_t memory = 0;         ///< bytes of memory that training takes

  /// Returns the first rows of the data, one batch of them.
  [[nodiscard]] Batch first_batch() const;
};

/// Makes all of `job`: whatever can fail before the first step does so here. `ranks` may be null. Throws Error.
void prepare(Job& job, const Setup& setup, communicators::Communicator* ranks, const open::Listener& listener);

/// Makes all of `job` that evaluate() needs: no step can be taken with it. Throws Error.
void prepare_evaluation(Job& job, const Setup& setup, const open::Listener& listener);

/// Prepares `job` with arrays in memory, by the names that read_data gives them, instead of setup.files. Whatever can
/// fail before the first step does so here. Throws Error.
void prepare(Job& job, const Setup& setup, std::map<std::string, Tensor> data, std::map<std::string, Tensor> validation,
             const open::Listener& listener);

}  // namespace attn::train
