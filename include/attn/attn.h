// attn as a library: opens, summarizes, runs and trains a Keras model, and generates text. CMake: find_package(attn),
// target attn::attn.
//
//     attn::Model model = attn::Model::open("encoder.keras");
//     std::cout << model.summary();
//     for (const attn::NamedTensor& output : model.prepare().run({})) std::cout << output.name << "\n";
//
// Arrays are attn::Tensor (attn/base/tensor.h): dense, row-major, shared by copies. Errors are thrown as attn::Error
// (attn/base/error.h), whose message is a sentence and whose code is the program's exit code.
#pragma once

#include <cstdint>
#include <functional>
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

namespace library {
class Probe;
}

struct OpenOptions {
  std::optional<Shape> input_shape;          ///< without the batch axis; for a layer or a chain without an input
  std::optional<std::string> keras_version;  ///< the version that wrote the model, if its file lacks it: "3.12"
  std::string compat = "none";  ///< "keras-hub": read a Hugging Face config as KerasHub does, errors included
};

struct RunOptions {
  std::string device = "cpu";  ///< cpu, cuda, cuda:N, or auto
  std::string backend;         ///< reference, onednn or cuda; empty: the fastest of the device
  /// Compute in float32, bfloat16, float16 or float64 instead of the model's policy. int8, int4 or int4:BLOCK (each
  /// block of BLOCK weights has its own scale) quantize the weights, as Keras's model.quantize does.
  std::optional<std::string> dtype;
  std::optional<std::string> weights;  ///< a file; default: the model's own, or else drawn from initializers and seed
  std::optional<std::int64_t> batch;   ///< size of an unknown batch axis (default 1)
  std::optional<std::int64_t> sequence_length;  ///< size of other unknown axes (default 128)
  std::map<std::string, Shape> input_shapes;    ///< complete input shapes by name; they override the two above
  std::uint64_t seed = 0;                       ///< seed of drawn weights and inputs
  int threads = 0;                              ///< 0: all cores
  bool scores = false;                          ///< keep the attention scores of every attention layer
  std::string matmul_precision = "highest";  ///< float32 products in: highest (float32), high (TF32), medium (bfloat16)
  std::optional<std::int64_t> memory_limit;  ///< in bytes, for the whole process; the system's limits also apply
  /// Compute no position that the padding mask hides: outputs are 0 there. Each pass is compiled for its inputs.
  bool skip_padding = false;
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

/// Text to token ids and back. Immutable: threads may share one, and copies are the same tokenizer.
class Tokenizer {
 public:
  /// Opens the tokenizer of a preset folder of KerasHub, of a task's .keras file, or of a Hugging Face folder. Throws
  /// Error (bad_input) if there is none.
  [[nodiscard]] static Tokenizer open(const std::string& path);

  /// The ids of a text in UTF-8. With `specials`, names of special tokens in the text, such as "<|endoftext|>", become
  /// these tokens. Throws Error (usage) for invalid UTF-8.
  [[nodiscard]] std::vector<std::int32_t> encode(const std::string& text, bool specials = true) const;
  /// The text of ids, special ones included; bytes that are not UTF-8 become U+FFFD. Throws Error (usage) for an id
  /// outside the vocabulary.
  [[nodiscard]] std::string decode(const std::vector<std::int32_t>& ids) const;
  /// The spelling of a token in its file ("Ġthe"); nothing for an invalid id.
  [[nodiscard]] std::optional<std::string> token(std::int32_t id) const;
  /// The number of tokens.
  [[nodiscard]] std::int64_t size() const;
  /// The ids of the start, end and padding tokens; empty if the tokenizer has no such token.
  [[nodiscard]] std::optional<std::int32_t> start_id() const;
  [[nodiscard]] std::optional<std::int32_t> end_id() const;
  [[nodiscard]] std::optional<std::int32_t> pad_id() const;

 private:
  friend class Generator;
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts);
  std::shared_ptr<const Parts> parts_;
};

struct GenerateOptions {
  std::string sampler;  ///< greedy, random, top_k, top_p, beam or contrastive; empty: greedy for Gemma, otherwise top_k
  double temperature = 1.0;                ///< at least 1e-30
  std::optional<std::int64_t> top_k;       ///< for top_k (default 5), top_p and contrastive
  double top_p = 0.1;                      ///< nucleus probability for top_p
  std::int64_t beams = 5;                  ///< for beam
  double alpha = 0.6;                      ///< degeneration penalty for contrastive
  std::optional<std::int64_t> seed;        ///< random if empty
  std::optional<std::int64_t> max_length;  ///< tokens of a sequence, the prompt included (default: the preprocessor's)
  std::optional<std::int64_t> max_new_tokens;
  std::optional<std::vector<std::int32_t>> stop_ids;  ///< tokens that end a text (default: the tokenizer's)
  std::vector<std::string> stop;                      ///< a text ends where one of these would begin
  bool strip_prompt = false;                          ///< return texts without their prompts
};

/// A decoder model that continues texts. Not thread-safe.
class Generator {
 public:
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  /// Continues texts, all in one batch; each begins with the tokenizer's start token if the model's preprocessor adds
  /// one. Throws Error: usage for options out of range, bad_input for a model without a tokenizer.
  [[nodiscard]] std::vector<std::string> generate(const std::vector<std::string>& prompts,
                                                  const GenerateOptions& options = {});
  /// Continues token ids; the results include them. Prompts have at least one token.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> generate_ids(
      const std::vector<std::vector<std::int32_t>>& prompts, const GenerateOptions& options = {});
  /// The natural logarithm of the probability of each token except the first, given those before it: float64.
  [[nodiscard]] std::vector<double> score(const std::vector<std::int32_t>& ids);
  /// The ids of a text, with the start token if the model's preprocessor adds one. Throws Error (bad_input) if there is
  /// no tokenizer.
  [[nodiscard]] std::vector<std::int32_t> encode(const std::string& text) const;
  /// The tokenizer of the model's files. Throws Error (bad_input) if there is none.
  [[nodiscard]] Tokenizer tokenizer() const;

 private:
  friend class Model;
  struct Parts;
  explicit Generator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

struct TrainOptions {
  std::optional<std::string> loss, optimizer;   ///< a name, or JSON as Keras writes it; default: the model's own
  std::optional<std::string> metrics;           ///< names between commas, or JSON; default: the model's own
  std::map<std::int64_t, double> class_weight;  ///< weight of the samples of each class; for a single target
  std::optional<double> learning_rate;          ///< default: the optimizer's
  std::optional<std::string> weights;           ///< a file; default: the model's own, or else drawn
  std::int64_t epochs = 1, batch_size = 32;
  bool shuffle = true;
  double validation_split = 0.0;  ///< the last part of the rows is not trained on, but evaluated after each epoch
  std::uint64_t seed = 0;         ///< seed of drawn weights, of the order of rows, and of dropout
  int threads = 0;                ///< 0: all cores
  std::optional<std::int64_t> memory_limit;  ///< in bytes, for the whole process
};

/// The results of a training.
struct History {
  /// Values for each epoch, by name: "loss", metrics, "val_loss", …
  std::map<std::string, std::vector<double>> values;
  std::int64_t epochs = 0, steps = 0;  ///< done
  std::string end;                     ///< "epochs", or "not finite" if a step had no finite loss
};

/// Functions that a training calls; either may be empty. One that throws ends the training.
struct FitEvents {
  std::function<void()> step;  ///< after each step
  /// After each epoch, counted from 1, with its values by name.
  std::function<void(std::int64_t epoch, const std::map<std::string, double>& values)> epoch;
};

class Model;

/// A model in training, with the data that it is trained on. Not thread-safe.
class Trainer {
 public:
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  /// Trains for TrainOptions::epochs epochs, as Keras's fit() does. May be called once. Throws Error.
  [[nodiscard]] History fit(const FitEvents& events = {});
  /// Returns the loss and the metrics over arrays with the names that Model::trainer expects. Throws Error.
  [[nodiscard]] std::map<std::string, double> evaluate(const std::map<std::string, Tensor>& data);
  /// The names of the values of evaluate() in Keras's order: "loss", the losses of several outputs, the metrics.
  [[nodiscard]] std::vector<std::string> value_names() const;
  /// The weights by their paths ("dense/kernel"), as copies.
  [[nodiscard]] std::vector<NamedTensor> weights() const;
  /// Writes the model, its weights and the optimizer's state as a .keras archive, which keras.models.load_model reads.
  /// Throws Error.
  void save(const std::string& path);
  /// Returns the trained model, with copies of its weights and of the optimizer's state in memory. It has the loss,
  /// metrics and optimizer of this training, so a new Trainer of it continues.
  [[nodiscard]] Model model() const;

 private:
  friend class Model;
  struct Parts;
  explicit Trainer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

struct GradientOptions {
  std::optional<std::string> loss;  ///< a name, or JSON as Keras writes it; default: the model's own, or else mse
  std::vector<std::string> wrt;     ///< patterns of paths of weights, with * and ?; default: all trainable weights
  bool input_gradients = false;     ///< also gradients of floating-point inputs, named "input:x"
  bool training = true;             ///< layers behave as in training, for example normalize by batch statistics …
  bool dropout = false;             ///< … and also apply dropout
};

struct Gradients {
  double loss = 0;
  std::vector<NamedTensor>
      gradients;  ///< by path, in the order of the weights; 0 where the loss does not depend on one
};

struct SaveOptions {
  /// preset (a folder of KerasHub), hf (a folder of Hugging Face) or keras (a task's .keras): the whole model with its
  /// tokenizer. Default: by the path's extension .keras, .weights.h5, .h5, .safetensors or .npz, of which the first
  /// holds the model too.
  std::optional<std::string> form;
  std::optional<std::string> dtype;  ///< of the stored floating-point numbers: float32, float16 or bfloat16
};

/// A Keras model: its config, and its weights where they are in memory (with_weights, quantized, Trainer::model).
/// Otherwise they are read from the model's file, or drawn, when they are needed.
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
  /// Opens a model from its text. `name` stands for the file in messages.
  [[nodiscard]] static Model parse(const std::string& name, std::string text, const OpenOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<std::string> input_names() const;
  /// The shapes of a Runner's inputs by name, with kUnknown where the model leaves a size open.
  [[nodiscard]] std::map<std::string, Shape> input_shapes() const;
  /// The names of the outputs, as in Keras's model.output_names: of the layers that compute them, or keys of a dict.
  [[nodiscard]] std::vector<std::string> output_names() const;
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
  /// The text that keras.Model.summary prints with these arguments, byte for byte; without a length no name is
  /// truncated.
  [[nodiscard]] std::string summary(std::optional<int> line_length = {}, bool expand_nested = false,
                                    bool show_trainable = false) const;
  /// The number of elements of all weights, as keras.Model.count_params returns it.
  [[nodiscard]] std::uint64_t count_params() const;
  /// The top-level layers in Keras's order.
  [[nodiscard]] std::vector<Layer> layers() const;
  /// The layers and their connections as an SVG image.
  [[nodiscard]] std::string plot() const;
  /// Returns JSON that keras.models.model_from_json loads.
  [[nodiscard]] std::string config() const;
  /// Reads or draws the weights and compiles the model for the shapes. Throws Error: no_memory, before anything large
  /// is allocated, if the model does not fit.
  [[nodiscard]] Runner prepare(const RunOptions& options = {}) const;
  /// Prepares a training on arrays with a row for each sample: the model's inputs by name, targets "y" or "y:<output>",
  /// and weights of samples "sample_weight" or "sample_weight:<output>". `validation` holds the same for data that is
  /// evaluated after each epoch. Throws Error.
  [[nodiscard]] Trainer trainer(const std::map<std::string, Tensor>& data, const TrainOptions& options = {},
                                const std::map<std::string, Tensor>& validation = {}) const;
  /// Prepares the generation of text by a task of KerasHub or a model of Hugging Face that was opened from its files;
  /// RunOptions::input_shapes and scores have no effect. Throws Error (bad_input) for a model that is not a decoder.
  [[nodiscard]] Generator generator(const RunOptions& options = {}) const;
  /// Returns the loss and its gradients over arrays with the names that trainer() expects. Missing arrays are drawn
  /// from the seed. Throws Error.
  [[nodiscard]] Gradients gradients(const std::map<std::string, Tensor>& data, const GradientOptions& how = {},
                                    const RunOptions& options = {}) const;

  /// The paths of the weights, "dense/kernel", in the order of Keras's model.weights.
  [[nodiscard]] std::vector<std::string> weight_names() const;
  /// Returns the weights with these names, from memory, from the file, or drawn. Only RunOptions::weights, seed and
  /// threads have an effect, here and in the functions below. Throws Error.
  [[nodiscard]] std::vector<NamedTensor> weights(const RunOptions& options = {}) const;
  /// Returns the model with these weights, matched by their names; it shares their memory. Throws Error (bad_input) if
  /// one is missing, or of another shape.
  [[nodiscard]] Model with_weights(const std::vector<NamedTensor>& weights) const;
  /// Returns the model as compile() leaves it, with its weights in memory and a new optimizer. `compile_config` is JSON
  /// as Keras's get_compile_config writes it: optimizer, loss, loss_weights, metrics, weighted_metrics; a name may
  /// stand for an object. Throws Error.
  [[nodiscard]] Model compiled(const std::string& compile_config, const RunOptions& options = {}) const;
  /// Returns the model that Keras's model.quantize leaves: int8, int4 (in blocks of 128), int4:BLOCK or int4:-1. Throws
  /// Error.
  [[nodiscard]] Model quantized(const std::string& how, const RunOptions& options = {}) const;
  /// Writes the weights, the optimizer's state if there is one, and with some forms the model, atomically. Throws
  /// Error.
  void save(const std::string& path, const SaveOptions& how = {}, const RunOptions& options = {}) const;

 private:
  friend class Trainer;
  friend class library::Probe;
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn
