// attn as a library: open a Keras model, look at it, run it. CMake: find_package(attn), target attn::attn.
//
//     attn::Model model = attn::Model::open("encoder.keras");
//     std::cout << model.summary();
//     for (const attn::NamedTensor& output : model.prepare().run({})) std::cout << output.name << "\n";
//
// Arrays are attn::Tensor (attn/base/tensor.h): dense, row-major, shared by copies. What goes wrong is thrown as
// attn::Error (attn/base/error.h), whose message is a sentence and whose code is the program's exit code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/base/text_array.h"

namespace attn {

struct OpenOptions {
  std::optional<Shape> input_shape;          ///< without the batch: of a single layer, or a chain that knows no input
  std::optional<std::string> keras_version;  ///< that wrote the model, where its file does not say: "3.12"
  std::string compat = "none";               ///< "keras-hub": read a Hugging Face config as KerasHub does, errors too
};

struct RunOptions {
  std::string device = "cpu";          ///< cpu, cuda, cuda:N, or auto
  std::string backend;                 ///< reference, onednn or cuda; empty: the device's best
  std::optional<std::string> dtype;    ///< compute in float32, bfloat16 or float16 instead of the model's policy
  std::optional<std::string> weights;  ///< a file; else the model's own, else drawn from initializers and seed
  std::optional<std::int64_t> batch;   ///< for an unknown batch (1)
  std::optional<std::int64_t> sequence_length;  ///< for other unknown lengths (128)
  std::map<std::string, Shape> input_shapes;    ///< whole shapes of inputs, by name; they go before the two above
  std::uint64_t seed = 0;                       ///< of weights and inputs that are drawn
  int threads = 0;                              ///< 0: all cores
  bool scores = false;                          ///< keep the attention weights of every attention layer
};

/// A layer, or an operation between layers, as a model's summary has it.
struct Layer {
  std::string name, class_name;
  std::string output_shape;  ///< as Keras prints it: "(None, 50, 512)"
  std::uint64_t params = 0, trainable_params = 0;
  std::vector<std::string> connected_to;  ///< "input_layer[0][0]"
};

/// A model with its weights, compiled for one set of shapes. Not for two threads at once.
class Runner {
 public:
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// The names and shapes of what goes in, with zeros in them, in the model's order.
  [[nodiscard]] std::vector<NamedTensor> inputs() const;
  /// A forward pass over arrays by the names of the inputs; random numbers that the seed decides for those that are
  /// missing. The results are views that the next pass overwrites. Throws Error.
  std::vector<NamedTensor> run(const std::map<std::string, Tensor>& inputs);
  /// The attention weights of the last pass, by layer, where RunOptions::scores asked for them.
  [[nodiscard]] std::vector<NamedTensor> scores() const;
  /// The same of the first of the batch as a picture, SVG; "" where there are none.
  [[nodiscard]] std::string attention_maps() const;

 private:
  friend class Model;
  struct Parts;
  explicit Runner(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// A Keras model as its config describes it. It holds no weights.
///
/// Several threads may call the const methods of one Model at a time: they take turns where they look into its layers,
/// and read weights and compile side by side. Each Runner is for one thread at a time; those of one Model are
/// independent of each other, and of the Model, which need not outlive them. Only a Model that no other thread uses may
/// be moved, assigned to or destroyed.
class Model {
 public:
  /// Keras JSON, a .keras archive, a whole-model .h5, or a short encoder config, told apart by content; "-" is stdin.
  /// Throws Error.
  [[nodiscard]] static Model open(const std::string& path, const OpenOptions& options = {});
  /// The same from text. `name` stands for the file in messages.
  [[nodiscard]] static Model parse(const std::string& name, std::string text, const OpenOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<std::string> input_names() const;
  /// Those of them that are of strings.
  [[nodiscard]] std::vector<std::string> text_input_names() const;
  /// What the model's layers of text make of strings, and of numbers that they hash, which are given by the names of
  /// inputs: arrays for a Runner, by the names of these layers. Throws Error.
  [[nodiscard]] std::map<std::string, Tensor> encode_texts(const std::map<std::string, TextArray>& texts,
                                                           const std::map<std::string, Tensor>& numbers = {}) const;
  /// The strings in what a Runner gave, by the names of outputs: of models that look words up at their end, whose
  /// Runners give places in a vocabulary. Throws Error.
  [[nodiscard]] std::map<std::string, TextArray> decode_texts(const std::vector<NamedTensor>& outputs) const;
  /// What was read leniently.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// What keras.Model.summary(line_length=…) prints, byte for byte; without a length no name is cut.
  [[nodiscard]] std::string summary(std::optional<int> line_length = {}) const;
  /// The layers at the top, in Keras's order.
  [[nodiscard]] std::vector<Layer> layers() const;
  /// The layers and what flows between them as a picture, SVG.
  [[nodiscard]] std::string plot() const;
  /// JSON that keras.models.model_from_json loads.
  [[nodiscard]] std::string config() const;
  /// Reads or draws the weights and compiles for the shapes. Throws Error.
  [[nodiscard]] Runner prepare(const RunOptions& options = {}) const;

 private:
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn
