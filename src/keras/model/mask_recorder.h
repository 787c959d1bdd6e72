// Watches the masks of tensors while a model is lowered.
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
  using Bound = std::map<std::string, Arg, std::less<>>;

  MaskRecorder(const graph::Graph& graph, MaskTrace& trace) : graph_(graph), trace_(trace) {}

  /// A tensor that the layer `name` gives without being called.
  void add_input(const TensorPtr& tensor, const std::string& name) { origins_[tensor] = name; }

  /// A call that has begun.
  struct Call {
    std::size_t row = 0;
    std::size_t first_node = 0;
    std::vector<TensorPtr> read;                                    ///< as the caller gave them
    std::vector<std::pair<std::string, graph::ValueId>> arguments;  ///< masks by the arguments they came in
    std::vector<graph::ValueId> masks;                              ///< all that came in
    std::vector<bool> masked;                                       ///< which of `read` had one
    bool from_scratch = true;                                       ///< no mask came in
    std::set<std::size_t> losses;                                   ///< of masks that what it reads lacks
  };

  /// `bound` are the arguments with their masks filled in, `args` and `kwargs` what the caller gave.
  [[nodiscard]] Call begin(const Layer& layer, const Bound& bound, const Arg& args, const Arg& kwargs);
  /// The layer has computed its results, and has not given masks to them yet. `uses_masks`: also where no operation of
  /// the graph shows it.
  void computed(const Call& call, bool uses_masks);
  void end(Call& call, const Layer& layer, const std::vector<TensorPtr>& outputs);
  /// Puts the warnings into the trace.
  void finish();

 private:
  [[nodiscard]] std::string origin(const TensorPtr& tensor) const;
  [[nodiscard]] MaskedTensor described(const TensorPtr& tensor) const;
  void warn_of_loss(const MaskRow& row, const Layer& layer, Call& call);
  void follow_losses(const MaskRow& row, const Layer& layer, const Call& call, const std::vector<TensorPtr>& outputs);

  /// A loss is worth a warning where it is `due`: where a layer that uses masks goes without, or Keras warns itself.
  struct Warning {
    std::string text;
    bool is_due = false;
  };
  /// Gives its number; one of the same text is the same warning.
  std::size_t warn(const std::string& text, bool is_due);

  const graph::Graph& graph_;
  MaskTrace& trace_;
  int level_ = 0;
  std::string scope_;
  std::map<std::string, int> calls_;
  // Held, so that no other tensor takes their place.
  std::map<TensorPtr, std::string> origins_;
  std::map<TensorPtr, std::string> taken_;  // whose mask was taken off, and by whom
  std::vector<Warning> warnings_;
  std::map<std::string, std::size_t> said_;
  std::map<TensorPtr, std::set<std::size_t>> losses_;  // what a tensor without a mask has lost, by the warnings
};

}  // namespace attn::keras
