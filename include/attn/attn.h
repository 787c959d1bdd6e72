// attn as a library: opens, summarizes and runs a Keras model. CMake: find_package(attn), target attn::attn.
//
//     attn::Model model = attn::Model::open("encoder.keras");
//     std::cout << model.summary();
//     for (const attn::NamedTensor& output : model.prepare().run({})) std::cout << output.name << "\n";
//
// Arrays are attn::Tensor (attn/base/tensor.h): dense, row-major, shared by copies. Errors are thrown as attn::Error
// (attn/base/error.h), whose message is a sentence and whose code is the program's exit code.
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
  std::optional<Shape> input_shape;          ///< without the batch axis; for a layer or a chain without an input
  std::optional<std::string> keras_version;  ///< that wrote the model, unless its file contains it: "3.12"
  std::string compat = "none";               ///< "keras-hub": read a Hugging Face config as KerasHub does, errors too
};

struct RunOptions {
  std::string device = "cpu";          ///< cpu, cuda, cuda:N, or auto
  std::string backend;                 ///< reference, onednn or cuda; empty: the fastest of the device
  std::optional<std::string> dtype;    ///< compute in float32, bfloat16 or float16 instead of the model's policy
  std::optional<std::string> weights;  ///< a file; default: the model's own, or else drawn from initializers and seed
  std::optional<std::int64_t> batch;   ///< size of an unknown batch axis (default 1)
  std::optional<std::int64_t> sequence_length;  ///< size of other unknown axes (default 128)
  std::map<std::string, Shape> input_shapes;    ///< complete input shapes by name; they override the two above
  std::uint64_t seed = 0;                       ///< seed of drawn weights and inputs
  int threads = 0;                              ///< 0: all cores
  bool scores = false;                          ///< keep the attention scores of every attention layer
};

/// A layer, or an operation between layers, as in the model's summary.
struct Layer {
  std::string name, class_name;
  std::string output_shape;  ///< in Keras's format: "(None, 50, 512)"
  std::uint64_t params = 0, trainable_params = 0;
  std::vector<std::string> connected_to;  ///< "input_layer[0][0]"
};

/// A model with its weights, compiled for one set of shapes. Not thread-safe.
class Runner {
 public:
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// The names and shapes of the inputs, zero-filled, in the model's order.
  [[nodiscard]] std::vector<NamedTensor> inputs() const;
  /// Runs a forward pass over arrays by input name; missing inputs are filled with random numbers from the seed. The
  /// results are views that the next pass overwrites. Throws Error.
  std::vector<NamedTensor> run(const std::map<std::string, Tensor>& inputs);
  /// The attention scores of the last pass, by layer, if RunOptions::scores was set.
  [[nodiscard]] std::vector<NamedTensor> scores() const;
  /// The scores of the first batch entry as an SVG image; "" if there are none.
  [[nodiscard]] std::string attention_maps() const;

 private:
  friend class Model;
  struct Parts;
  explicit Runner(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// A Keras model as described by its config, without weights.
///
/// The const methods of one Model are thread-safe: access to its layers is serialized, while reading weights and
/// compiling run in parallel. A Runner is for one thread at a time; the Runners of one Model are independent of each
/// other and of the Model, which they may outlive. A Model may be moved, assigned to or destroyed only while no other
/// thread uses it.
class Model {
 public:
  /// Opens Keras JSON, a .keras archive, a whole-model .h5, or a short encoder config; the format is detected by
  /// content. "-" is stdin. Throws Error.
  [[nodiscard]] static Model open(const std::string& path, const OpenOptions& options = {});
  /// The same for text. `name` stands for the file in messages.
  [[nodiscard]] static Model parse(const std::string& name, std::string text, const OpenOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<std::string> input_names() const;
  /// The names of the inputs that take strings.
  [[nodiscard]] std::vector<std::string> text_input_names() const;
  /// Encodes strings, and numbers to be hashed, by the model's text layers. The arguments are keyed by input name; the
  /// result is keyed by the names of these layers, as input for a Runner. Throws Error.
  [[nodiscard]] std::map<std::string, Tensor> encode_texts(const std::map<std::string, TextArray>& texts,
                                                           const std::map<std::string, Tensor>& numbers = {}) const;
  /// Decodes a Runner's outputs into strings, keyed by output name, for models that end in a vocabulary lookup: their
  /// Runners return vocabulary indices. Throws Error.
  [[nodiscard]] std::map<std::string, TextArray> decode_texts(const std::vector<NamedTensor>& outputs) const;
  /// Warnings about deviations that were accepted while reading.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// The text that keras.Model.summary(line_length=…) prints, byte for byte; without a length no name is truncated.
  [[nodiscard]] std::string summary(std::optional<int> line_length = {}) const;
  /// The top-level layers in Keras's order.
  [[nodiscard]] std::vector<Layer> layers() const;
  /// The layers and their connections as an SVG image.
  [[nodiscard]] std::string plot() const;
  /// Returns JSON that keras.models.model_from_json loads.
  [[nodiscard]] std::string config() const;
  /// Reads or draws the weights and compiles the model for the shapes. Throws Error.
  [[nodiscard]] Runner prepare(const RunOptions& options = {}) const;

 private:
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn
