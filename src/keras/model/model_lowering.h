// Applies layers like keras.Layer.__call__: casts, binds arguments, builds, calls, and attaches masks to the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/options.h"
#include "attn/keras/text_stage.h"
#include "classes/layer.h"
#include "classes/lowering.h"
#include "config/json.h"

namespace attn::keras {

/// The limits of lowering. A config of a few kilobytes can nest models that each call the next one twice; lowering them
/// all would take hours.
inline constexpr std::size_t kMostCalls = 100'000;          // calls of layers, including those inside each call of a
                                                            // model
inline constexpr std::size_t kMostRepeats = 20'000;         // calls of layers that were called before
inline constexpr std::size_t kMostNameBytes = 16UL << 20U;  // bytes of names such as "block/dense", over all layers or
                                                            // calls

/// Returns the message for names that exceed kMostNameBytes.
[[nodiscard]] std::string too_long_names();

class MaskRecorder;

class ModelLowering final : public Lowering {
 public:
  /// `symbolic`: shapes may be unknown, and are Keras's symbolic shapes (for summaries). Otherwise the lowering is for
  /// a run.
  ModelLowering(graph::Graph& graph, bool symbolic) : Lowering(graph, symbolic) {}

  /// Sizes that replace unknown ones in the results of custom layers, all of whose elements are 0. The graph is then
  /// for counting, not for running. If empty, such a layer is an error.
  struct AssumedSizes {
    std::int64_t batch = 1, length = 1;
  };
  std::optional<AssumedSizes> opened;

  /// The results of text layers so far.
  std::vector<TextStage> texts;
  /// For a run: the default number of terms in a row of text, and the known shapes of graph inputs.
  std::int64_t text_length = kDefaultSequenceLength;
  std::map<std::string, Shape> given_shapes;
  graph::ValueId encoded_texts(const std::vector<TextSource>& sources,
                               std::shared_ptr<const text::Encoding> encoding) override;

  /// For each layer that is one object with another layer (Functional::one), that other layer.
  std::map<const Layer*, const Layer*> ones;

  /// Records masks; null if they are not traced.
  MaskRecorder* recorder = nullptr;
  [[nodiscard]] bool watches_masks() const override { return recorder != nullptr; }
  void note_mask_use() override { mask_used_ = true; }
  void add_scores(graph::ValueId scores) override;

  Arg apply(Layer& layer, const Arg& args, const Arg& kwargs) override;
  graph::ValueId weight(const Layer& layer, int index) override;
  /// Declares a layer's variable with its full name, before it is used.
  void declare(const Layer& layer, int index, const graph::WeightSpec& spec) {
    weights_[{one(layer), index}] = builder().weight(spec);
  }
  /// Returns the layer for each of the graph's layers.
  [[nodiscard]] const std::vector<const Layer*>& callees() const noexcept { return callees_; }

 private:
  [[nodiscard]] const Layer* one(const Layer& layer) const {
    const auto found = ones.find(&layer);
    return found == ones.end() ? &layer : found->second;
  }
  using BoundArguments = std::map<std::string, Arg, std::less<>>;
  static BoundArguments bind(Layer& layer, const Arg& args, const Arg& kwargs);
  /// Converts arrays to tensors, and casts float tensors to `dtype`, the layer's dtype, if it has one.
  Arg as_inputs(const Arg& arg, std::optional<DType> dtype);
  static void fill_masks(Layer& layer, BoundArguments& bound);
  /// Throws Error (bad_input) if a layer that computes with numbers would read strings.
  static void check_texts(const Layer& layer, const Arg& args, const Arg& kwargs);
  void count(const Layer& layer);

  Layer* current_ = nullptr;
  std::vector<const Layer*> callees_;
  std::set<const Layer*> called_;
  std::size_t name_bytes_ = 0;
  bool mask_used_ = false;
  std::map<std::string, int> scores_given_, texts_given_;  // number of scores and texts so far, by name of the layer
  bool watching_ = true;  // the enclosing layer is a model whose calls are rows of the trace
  std::map<std::pair<const Layer*, int>, graph::ValueId> weights_;
};

}  // namespace attn::keras
