// A Keras model from its config: read, inspect, lower, write.
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

/// A model or a single layer. Movable; not thread-safe.
class Model {
 public:
  /// Reads `text`: Keras JSON of a model or a layer, a bare config, or the short encoder config. `source` is its name
  /// for messages. Throws Error (bad_input).
  [[nodiscard]] static Model read(const std::string& source, std::string text, const ReadOptions& options = {});
  /// Returns all errors and warnings (Problem::warning) of such a text, in the order of the file. Reading stops after a
  /// thousand problems, which is then the last one. If the JSON is invalid, or a part that everything depends on, that
  /// is the only problem.
  [[nodiscard]] static std::vector<Problem> validate(const std::string& source, std::string text,
                                                     const ReadOptions& options = {});
  /// Creates a layer of class `class_name` from key=value pairs; values are JSON or plain words.
  [[nodiscard]] static Model make_layer(const std::string& class_name,
                                        const std::vector<std::pair<std::string, std::string>>& arguments);
  /// The classes that make_layer supports.
  [[nodiscard]] static std::vector<std::string> layer_classes();
  /// The text of configs/encoder.json, which is embedded.
  [[nodiscard]] static const std::string& builtin_encoder();

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::string class_name() const;
  /// Whether it is a single layer. A layer can be displayed (`config`), and once it is built also summarized and run.
  [[nodiscard]] bool is_single_layer() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// The names of all layers and operations, in order; those of nested models follow these as "block/dense".
  [[nodiscard]] std::vector<std::string> layer_names() const;
  /// The names of the input layers, in order.
  [[nodiscard]] std::vector<std::string> input_names() const;
  /// The string inputs, and the results of the layers that read them, which are inputs of graphs instead.
  [[nodiscard]] std::vector<TextInput> text_inputs() const;
  [[nodiscard]] std::vector<TextStage> text_stages() const;
  /// The outputs of its graphs that represent strings. Throws Error (bad_input) if the model computes with strings.
  [[nodiscard]] std::vector<TextOutput> text_outputs() const;
  /// The names of the input arrays of its graphs: those of numeric input layers, and of text layers.
  [[nodiscard]] std::vector<std::string> array_names() const;
  /// The name of the first attention layer; empty if there is none.
  [[nodiscard]] std::optional<std::string> first_attention() const;

  /// The custom classes of its layers, whose Python code is never run; without duplicates, in order of occurrence.
  [[nodiscard]] std::vector<std::string> custom_classes() const;
  /// Assigns the stored weights of a file to custom layers, and to layers that cannot be built because of them.
  void take_stored(std::span<const StoredWeight> stored);
  /// Assigns the stored weights of an older .h5 file, which has them by layer of the model, to custom layers. Layers
  /// that cannot be built because of custom layers get theirs too.
  void take_stored(std::span<const StoredLayer> stored);
  /// Whether it has custom layers whose weights are not known from a file.
  [[nodiscard]] bool has_unknown_params() const;
  /// Throws Error (bad_input) if the model has a custom layer.
  void require_no_custom_class() const;

  /// The KerasHub task information; empty if it is not a task.
  [[nodiscard]] std::optional<TaskInfo> task() const;
  /// Whether LowerOptions::decode applies: its logits predict the next token.
  [[nodiscard]] bool decodes() const;
  /// The maximum sequence length by its trained position embeddings; empty if it has none.
  [[nodiscard]] std::optional<std::int64_t> most_positions() const;
  /// The contents of model.summary(). Throws Error (bad_input) for a layer that was never built.
  [[nodiscard]] Summary summary() const;
  /// The creation, use and loss of masks in a call of the model. Throws Error (bad_input) like summary().
  [[nodiscard]] MaskTrace masks() const;
  /// All variables in the order of model.weights.
  [[nodiscard]] std::vector<graph::WeightSpec> weights() const;
  /// The arrays in .weights.h5 besides the variables, by key.
  [[nodiscard]] std::vector<NamedTensor> kept_arrays() const;
  /// Lowers the model to a graph with known shapes. Its weights are those of weights(), in that order. Throws Error
  /// (bad_input).
  [[nodiscard]] graph::Graph lower(const LowerOptions& options) const;
  /// Lowers the model with its loss and training behavior. Throws Error (bad_input), also if the model cannot be
  /// trained.
  [[nodiscard]] LossGraph lower_loss(const LowerOptions& options, const LossOptions& loss) const;
  /// Sets `trainable` of these layers (names as in layer_names) and of everything inside to false, so that steps do not
  /// change their variables. Throws Error (usage) for an unknown name.
  void freeze(const std::vector<std::string>& layers);
  /// The arguments of compile() in the file: JSON, or empty.
  [[nodiscard]] std::optional<std::string> compile_config() const;
  /// Whether LowerOptions::sequence_length applies: the model does not fix its lengths to others.
  [[nodiscard]] bool reaches_length(std::int64_t length) const;
  /// Lowers the model as lower() does, and assigns the graph's layers and weights to parts of the model. Throws Error
  /// (bad_input).
  [[nodiscard]] Anatomy anatomy(const LowerOptions& options) const;
  /// The text of config.json in a Hugging Face folder of this model; `dtype` is the dtype of its stored weights. Throws
  /// Error (bad_input) for a model that transformers has no class for.
  [[nodiscard]] std::string hugging_face_config(const std::string& dtype) const;
  /// The config in Keras's format.
  [[nodiscard]] std::string config(const ConfigOptions& options) const;

 private:
  struct Parts;
  [[nodiscard]] bool takes_length(std::int64_t length) const;
  /// The model with another sequence length, which a short encoder config can create; it lives as long as this one.
  /// Null if there is none.
  [[nodiscard]] const Model* resized(std::int64_t length) const;

  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn::keras
