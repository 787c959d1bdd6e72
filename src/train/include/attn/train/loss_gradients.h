// The gradients of a model's loss by its weights and inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/keras/loss_graph.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"

namespace attn::train {

struct GradientRequest {
  std::optional<std::string> loss, output;  ///< loss and output as in keras::LossOptions
  bool training = true;                     ///< layers behave as in training …
  bool drops = false;                       ///< … and also apply dropout and noise
  bool inputs = false;                      ///< also give the gradients by inputs of floating-point numbers
  std::vector<std::string> wrt;             ///< patterns of paths of weights; all trainable weights if empty
};

/// An array whose gradient is requested.
struct WantedGradient {
  std::string name;  ///< name of the array: "dense/kernel", "input:x"
  graph::ValueId value = graph::kNone;
};

/// Lowers the model with its loss for these arrays. Throws Error.
[[nodiscard]] keras::LossGraph lower_loss(const open::LoadedModel& loaded, const open::GivenInputs& given,
                                          const open::Execution& execution, const GradientRequest& request,
                                          const std::optional<std::string>& dtype);

/// Returns the trainable weights in their order, and the inputs if they were requested. Throws Error if there is none.
[[nodiscard]] std::vector<WantedGradient> wanted_gradients(const graph::Graph& graph, const keras::Model& model,
                                                           const GradientRequest& request);

/// Returns the graph whose outputs are the loss, its terms, and the existing gradients.
[[nodiscard]] graph::Graph with_gradients(const keras::LossGraph& lowered, const std::vector<WantedGradient>& wanted);

/// Returns the gradient of each array in the outputs of such a graph; null if the loss does not depend on the array.
[[nodiscard]] std::vector<const Tensor*> gradients_in(const std::vector<NamedTensor>& outputs,
                                                      const keras::LossGraph& lowered,
                                                      const std::vector<WantedGradient>& wanted);

/// Returns the loss, then all gradients: zeros if the loss does not depend on an array, as in Keras.
[[nodiscard]] std::vector<NamedTensor> named_gradients(const std::vector<NamedTensor>& outputs,
                                                       const keras::LossGraph& lowered,
                                                       const std::vector<WantedGradient>& wanted);

/// Adds random targets for those that the data lacks, and the random numbers of layers that draw.
void complete_arrays(const keras::LossGraph& lowered, std::uint64_t seed, open::GivenInputs& given);

}  // namespace attn::train
