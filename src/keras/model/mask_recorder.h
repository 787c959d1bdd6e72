// Traces the masks of tensors while a model is lowered.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "attn/keras/masks.h"
#include "classes/layer.h"

namespace attn::keras {

class MaskRecorder {
 public:
  using BoundArguments = std::map<std::string, Arg, std::less<>>;

  MaskRecorder(const graph::Graph& graph, MaskTrace& trace) : graph_(graph), trace_(trace) {}

  /// Registers a tensor that the layer `name` provides without a call.
  void add_input(const TensorPtr& tensor, const std::string& name) { origins_[tensor] = name; }

  /// A call in progress.
  struct Call {
    std::size_t row = 0;
    std::size_t first_node = 0;
    std::vector<TensorPtr> read;                                    ///< inputs as passed by the caller
    std::vector<std::pair<std::string, graph::ValueId>> arguments;  ///< masks by argument
    std::vector<graph::ValueId> masks;                              ///< all masks of the inputs
    std::vector<bool> masked;      ///< for each tensor in `read`, whether it had a mask
    bool from_scratch = true;      ///< no input has a mask
    std::set<std::size_t> losses;  ///< masks that the inputs have lost, as indices of warnings
  };

  /// `bound` are the arguments with their masks filled in, `args` and `kwargs` those of the caller.
  [[nodiscard]] Call begin(const Layer& layer, const BoundArguments& bound, const Arg& args, const Arg& kwargs);
  /// Called when the layer has computed its results, before they get masks. `uses_masks`: also if no operation of the
  /// graph shows it.
  void computed(const Call& call, bool uses_masks);
  void end(Call& call, const Layer& layer, const std::vector<TensorPtr>& outputs);
  /// Adds the warnings to the trace.
  void finish();

 private:
  [[nodiscard]] std::string origin(const TensorPtr& tensor) const;
  [[nodiscard]] MaskedTensor described(const TensorPtr& tensor) const;
  void warn_of_loss(const MaskRow& row, const Layer& layer, Call& call);
  void follow_losses(const MaskRow& row, const Layer& layer, const Call& call, const std::vector<TensorPtr>& outputs);

  /// A loss is reported if it is `due`: a layer that uses masks lacks the mask, or Keras itself warns.
  struct Warning {
    std::string text;
    bool is_due = false;
  };
  /// Adds a warning and returns its index; a repeated text is the same warning.
  std::size_t warn(const std::string& text, bool is_due);

  const graph::Graph& graph_;
  MaskTrace& trace_;
  int level_ = 0;
  std::string scope_;
  std::map<std::string, int> calls_;
  // The layer that computed each tensor. The pointers keep the tensors alive, so that no other tensor gets the same
  // address.
  std::map<TensorPtr, std::string> origins_;
  std::map<TensorPtr, std::string> taken_;  // tensors whose mask was removed, and the layer that did it
  std::vector<Warning> warnings_;
  std::map<std::string, std::size_t> said_;
  std::map<TensorPtr, std::set<std::size_t>> losses_;  // losses of a tensor without a mask, as indices of warnings
};

}  // namespace attn::keras
