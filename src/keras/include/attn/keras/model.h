// A Keras model from its config: read, inspect, lower, write.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/anatomy.h"
#include "attn/keras/array_fault.h"
#include "attn/keras/image_texts.h"
#include "attn/keras/loss_graph.h"
#include "attn/keras/masks.h"
#include "attn/keras/media_prompt.h"
#include "attn/keras/options.h"
#include "attn/keras/problem.h"
#include "attn/keras/summary.h"
#include "attn/keras/task_info.h"
#include "attn/keras/text_stage.h"

namespace attn::keras {

/// A weight in a .weights.h5 or .keras file.
struct StoredWeight {
  std::string place;  ///< key of the weight: "layers/dense/vars/0"
  Shape shape;
  DType dtype = DType::float32;
};

/// A layer of an older .h5 file with its weights. The place of each weight is its path: "block/dense/kernel".
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
  /// thousand problems, and a last warning then announces that there may be more. If the JSON, or a part on which
  /// everything depends, is invalid, that is the only problem.
  [[nodiscard]] static std::vector<Problem> validate(const std::string& source, std::string text,
                                                     const ReadOptions& options = {});
  /// Creates a layer of class `class_name` from key=value pairs, whose values are JSON or plain words.
  [[nodiscard]] static Model make_layer(const std::string& class_name,
                                        const std::vector<std::pair<std::string, std::string>>& arguments);
  /// Returns the classes that make_layer supports.
  [[nodiscard]] static std::vector<std::string> layer_classes();
  /// Returns the text of configs/encoder.json, which is embedded.
  [[nodiscard]] static const std::string& builtin_encoder();

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::string class_name() const;
  /// Returns whether the model is a single layer. A layer can be displayed (`config`); once it is built, it can also be
  /// summarized and run.
  [[nodiscard]] bool is_single_layer() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// Returns the names of all layers and operations, in order. A nested model is followed by its layers, as
  /// "block/dense".
  [[nodiscard]] std::vector<std::string> layer_names() const;
  /// Returns the names of the input layers, in order.
  [[nodiscard]] std::vector<std::string> input_names() const;
  /// Returns the string inputs, and the results of the layers that read them. These results are inputs of the model's
  /// graphs, in place of the strings.
  [[nodiscard]] std::vector<TextInput> text_inputs() const;
  [[nodiscard]] std::vector<TextStage> text_stages() const;
  /// Returns the outputs of the model's graphs that represent strings. Throws Error (bad_input) if the model computes
  /// with strings.
  [[nodiscard]] std::vector<TextOutput> text_outputs() const;
  /// Returns the names of the input arrays of the model's graphs: those of numeric input layers, and of text layers.
  [[nodiscard]] std::vector<std::string> array_names() const;
  /// Returns the name of the first attention layer; empty if there is none.
  [[nodiscard]] std::optional<std::string> first_attention() const;

  /// Returns the custom classes of the model's layers, without duplicates and in order of occurrence. Their Python code
  /// is never run.
  [[nodiscard]] std::vector<std::string> custom_classes() const;
  /// Assigns the stored weights of a file to custom layers, and to layers that cannot be built because of them.
  void take_stored(std::span<const StoredWeight> stored);
  /// Assigns the stored weights of an older .h5 file to custom layers. Such a file lists weights by layer of the model.
  /// Layers that cannot be built because of custom layers get their weights too.
  void take_stored(std::span<const StoredLayer> stored);
  /// Returns whether the model has custom layers whose weights are not known from a file.
  [[nodiscard]] bool has_unknown_params() const;
  /// Throws Error (bad_input) if the model has a custom layer.
  void require_no_custom_class() const;

  /// Returns the KerasHub task information; empty if the model is not a task.
  [[nodiscard]] std::optional<TaskInfo> task() const;
  /// Returns whether LowerOptions::decode applies: the model's logits predict the next token.
  [[nodiscard]] bool decodes() const;
  /// Returns how the model compares images with texts; empty if it does not.
  [[nodiscard]] std::optional<ImageTexts> image_texts() const;
  /// Returns how the model's prompts contain images and sounds, for each modality that it reads.
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const;
  /// Returns why arrays, by the names of their inputs, do not fit each other; empty if they do, or if attn finds it out
  /// while lowering.
  [[nodiscard]] std::optional<ArrayFault> array_fault(const std::map<std::string, Tensor>& arrays) const;
  /// Returns the maximum sequence length in tokens that trained position embeddings allow; empty if the model has none.
  [[nodiscard]] std::optional<std::int64_t> most_positions() const;
  /// Returns the contents of model.summary(). Throws Error (bad_input) for a layer that was never built.
  [[nodiscard]] Summary summary() const;
  /// Returns for a call of the model where masks are created, used and lost. Throws Error (bad_input) like summary().
  [[nodiscard]] MaskTrace masks() const;
  /// Returns all variables in the order of model.weights.
  [[nodiscard]] std::vector<graph::WeightSpec> weights() const;
  /// Returns the arrays in .weights.h5 besides the variables, with their keys.
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
  /// Returns the arguments of compile() in the file as JSON; empty if there are none.
  [[nodiscard]] std::optional<std::string> compile_config() const;
  /// Returns whether LowerOptions::sequence_length can be `length`: the model does not fix its lengths to other
  /// numbers.
  [[nodiscard]] bool reaches_length(std::int64_t length) const;
  /// Lowers the model as lower() does, and assigns the graph's layers and weights to parts of the model. Throws Error
  /// (bad_input).
  [[nodiscard]] Anatomy anatomy(const LowerOptions& options) const;
  /// Returns the text of config.json in a Hugging Face folder of this model; `dtype` is the dtype of the stored
  /// weights. Throws Error (bad_input) if transformers has no class for the model.
  [[nodiscard]] std::string hugging_face_config(const std::string& dtype) const;
  /// Returns the config in Keras's format.
  [[nodiscard]] std::string config(const ConfigOptions& options) const;

 private:
  struct Parts;
  [[nodiscard]] bool takes_length(std::int64_t length) const;
  /// Returns the model with another sequence length, or null. Only a short encoder config can create it. It lives as
  /// long as this model.
  [[nodiscard]] const Model* resized(std::int64_t length) const;

  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn::keras
