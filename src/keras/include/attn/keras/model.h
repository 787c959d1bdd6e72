// A Keras model as its config tells it: read, inspect, lower, write.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/anatomy.h"
#include "attn/keras/loss_graph.h"
#include "attn/keras/masks.h"
#include "attn/keras/options.h"
#include "attn/keras/problem.h"
#include "attn/keras/summary.h"
#include "attn/keras/task_info.h"
#include "attn/keras/text_stage.h"

namespace attn::keras {

/// A weight in a .weights.h5 or .keras file.
struct StoredWeight {
  std::string place;  ///< "layers/dense/vars/0"
  Shape shape;
  DType dtype = DType::float32;
};

/// A layer of an older .h5 file with its weights, whose places are their paths: "block/dense/kernel".
struct StoredLayer {
  std::string name;
  std::vector<StoredWeight> weights;
};

/// Holds a model or a single layer. Movable; not for two threads at once.
class Model {
 public:
  /// Reads `text`: Keras JSON of a model or a layer, a bare config, or the short encoder config. `source` names it in
  /// messages. Throws Error (bad_input).
  [[nodiscard]] static Model read(const std::string& source, std::string text, const ReadOptions& options = {});
  /// Everything that is wrong with such a text, and what will surprise (Problem::warning), in the order of the file.
  /// A thousand problems end the reading, and a last one says so. Where the JSON itself cannot be read, or a whole that
  /// the rest depends on, that is the only problem.
  [[nodiscard]] static std::vector<Problem> validate(const std::string& source, std::string text,
                                                     const ReadOptions& options = {});
  /// A layer of class `class_name` from key=value pairs; values are JSON, or plain words.
  [[nodiscard]] static Model make_layer(const std::string& class_name,
                                        const std::vector<std::pair<std::string, std::string>>& arguments);
  /// The classes that make_layer knows.
  [[nodiscard]] static std::vector<std::string> layer_classes();
  /// The text of configs/encoder.json, which is compiled in.
  [[nodiscard]] static const std::string& builtin_encoder();

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::string class_name() const;
  /// Is it one layer, not a model? Then it can be shown (`config`), and once it is built also summarised and run.
  [[nodiscard]] bool is_single_layer() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// The names of all layers and operations, in order; those of nested models after them as "block/dense".
  [[nodiscard]] std::vector<std::string> layer_names() const;
  /// The names of the input layers, in order.
  [[nodiscard]] std::vector<std::string> input_names() const;
  /// Those of them that are of strings, and what layers make of these: inputs of graphs, in their place.
  [[nodiscard]] std::vector<TextInput> text_inputs() const;
  [[nodiscard]] std::vector<TextStage> text_stages() const;
  /// The outputs of its graphs that stand for strings. Throws Error (bad_input) where the model computes with strings.
  [[nodiscard]] std::vector<TextOutput> text_outputs() const;
  /// The names of the arrays that go into its graphs: those of input layers of numbers, and of layers of text.
  [[nodiscard]] std::vector<std::string> array_names() const;
  /// The name of the first attention layer, or nothing.
  [[nodiscard]] std::optional<std::string> first_attention() const;

  /// The classes of its layers that are somebody's own, whose Python code is never run; each once, as they occur.
  [[nodiscard]] std::vector<std::string> custom_classes() const;
  /// Gives custom layers, and those that cannot be built for them, the weights that a file has in their places.
  void take_stored(std::span<const StoredWeight> stored);
  /// Gives them those of an older .h5 file, which keeps weights by the layers of the model.
  void take_stored(std::span<const StoredLayer> stored);
  /// Has it custom layers whose weights no file has shown?
  [[nodiscard]] bool has_unknown_params() const;
  /// Throws Error (bad_input) where the model has a custom layer.
  void require_no_custom_class() const;

  /// What it says as a task of KerasHub; nothing where it is none.
  [[nodiscard]] std::optional<TaskInfo> task() const;
  /// Does LowerOptions::decode mean anything to the model: do its logits tell of the next token?
  [[nodiscard]] bool decodes() const;
  /// How many positions it has learned a vector for, of which no sequence has more; nothing where it learns none.
  [[nodiscard]] std::optional<std::int64_t> most_positions() const;
  /// What model.summary() shows. Throws Error (bad_input) for a layer that was never built.
  [[nodiscard]] Summary summary() const;
  /// Where masks are made, used and lost in a call of the model. Throws Error (bad_input) as summary() does.
  [[nodiscard]] MaskTrace masks() const;
  /// All variables in the order of model.weights.
  [[nodiscard]] std::vector<graph::WeightSpec> weights() const;
  /// Arrays that .weights.h5 keeps beside the variables, by their places.
  [[nodiscard]] std::vector<NamedTensor> kept_arrays() const;
  /// The model as a graph of known shapes. Its weights are those of weights(), in that order. Throws Error (bad_input).
  [[nodiscard]] graph::Graph lower(const LowerOptions& options) const;
  /// The model with its loss behind it, and with what layers do in training. Throws Error (bad_input), also where the
  /// model cannot be trained.
  [[nodiscard]] LossGraph lower_loss(const LowerOptions& options, const LossOptions& loss) const;
  /// Sets `trainable` of these layers, named as layer_names does it, and of all within them to false: steps leave their
  /// variables as they are. Throws Error (usage) for a name that no layer has.
  void freeze(const std::vector<std::string>& layers);
  /// What compile() was told, as the file keeps it: JSON, or nothing.
  [[nodiscard]] std::optional<std::string> compile_config() const;
  /// Does LowerOptions::sequence_length mean anything to the model, or does it fix its lengths to others?
  [[nodiscard]] bool reaches_length(std::int64_t length) const;
  /// The same graph, and which of its layers and weights belong to which part of the model.
  [[nodiscard]] Anatomy anatomy(const LowerOptions& options) const;
  /// The text of config.json in a Hugging Face folder of this model; `dtype` is what its weights are stored in. Throws
  /// Error (bad_input) for what transformers has no class for.
  [[nodiscard]] std::string hugging_face_config(const std::string& dtype) const;
  /// The config as Keras writes or prints it.
  [[nodiscard]] std::string config(const ConfigOptions& options) const;

 private:
  struct Parts;
  [[nodiscard]] bool takes_length(std::int64_t length) const;
  /// The model with another sequence length, which a short encoder config can make; it is kept as long as this one.
  /// Null where there is none.
  [[nodiscard]] const Model* resized(std::int64_t length) const;

  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn::keras
