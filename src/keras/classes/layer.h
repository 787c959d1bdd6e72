// The base class of Keras layers and operations: fields, weights, lowering, and mask rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/arg.h"
#include "classes/assets.h"
#include "classes/class_info.h"
#include "classes/weights.h"
#include "config/fields.h"

namespace attn::keras {

class Call;

/// A call of a layer in a config.
struct NodeSpec {
  Arg args;             // ArgList
  Arg kwargs;           // ArgDict
  std::string pointer;  // location in the file, for messages
};

class Layer {
 public:
  virtual ~Layer() = default;

  // ---- the config
  std::string name;
  bool trainable = true;
  DTypePolicy policy;
  Json activity_regularizer;           ///< null without a regularizer
  const ClassInfo* info = nullptr;     ///< the record of the layer's class
  std::vector<NodeSpec> nodes;         ///< calls in the enclosing model
  Json envelope = Json::object();      ///< module, registered_name, build_config and inbound_nodes as read
  std::string pointer;                 ///< location of the config, for messages
  const Document* document = nullptr;  ///< null if the config is in no file
  /// The config that another layer gave this one; the layers inside this one refer to it.
  std::shared_ptr<const Document> own_document;

  /// Reads or writes the whole get_config() in Keras's order: name, trainable, dtype, then the fields of the class.
  virtual void config(Fields& f);
  /// Reads or writes the fields of the class.
  virtual void fields(Fields&) {}
  /// Checks constraints between fields, after reading; `config` is for messages.
  virtual void check(const Ref& /*config*/) {}

  /// Quantizes the weights of the layer and its sublayers, like model.quantize. Called before it is built.
  virtual void quantize(const Quantization& how) { policy.asked = how; }
  /// Returns whether a policy quantizes weights that belong directly to this layer.
  [[nodiscard]] virtual bool quantizes() const { return false; }

  /// Loads the data of the layer that an archive stores besides config and variables. Throws Error (bad_input).
  virtual void take_assets(const Assets& /*assets*/) {}
  /// Adds the data of take_assets() to the config, which then needs no archive.
  virtual void state_assets() {}
  /// Returns the arrays in .weights.h5 that are not variables, by their names after "vars/".
  [[nodiscard]] virtual std::vector<NamedTensor> kept_arrays() const { return {}; }

  // ---- calls
  /// Whether it reads strings, which are not tensors of a graph.
  [[nodiscard]] virtual bool takes_texts() const { return false; }
  /// Returns the names of call()'s arguments, in order. Other arguments are rejected; "mask" and "x_mask" are filled in
  /// from tensors.
  [[nodiscard]] virtual std::span<const std::string_view> arguments() const;
  /// Returns whether the first argument is a list of tensors (merge layers, Attention).
  [[nodiscard]] virtual bool takes_list() const { return false; }
  /// Declares the variables. Runs once, before the first call, whose shapes it reads.
  virtual void build(Weights&, Call&) {}
  /// Adds the operations of one call and returns its results: a TensorPtr, an ArgList or an ArgDict.
  virtual Arg call(Call& call) = 0;
  /// Returns the maximum sequence length; empty: unlimited.
  [[nodiscard]] virtual std::optional<std::int64_t> most_positions() const { return std::nullopt; }
  /// Returns the shapes in Keras's summary, if Keras's symbolic shapes differ from the computed ones; empty if they
  /// agree.
  [[nodiscard]] virtual std::optional<std::vector<Shape>> symbolic_shapes(Call&) { return std::nullopt; }

  // ---- masks (in Layer.__call__ of keras/src/layers/layer.py, step 6 and the code after step 7)
  /// Whether it propagates masks. If not, the mask of the input is dropped, and Keras warns.
  [[nodiscard]] virtual bool supports_masking() const { return false; }
  /// Returns the masks of the outputs, given those of the first argument's tensors. An output that already has a mask
  /// keeps it.
  [[nodiscard]] virtual Masks compute_mask(Call&, const Masks& previous) { return previous; }
  /// Returns the dtype to which float inputs are cast before the call; empty: no cast.
  [[nodiscard]] virtual std::optional<DType> input_dtype() const { return policy.compute; }
  /// Returns whether this is an operation (keras.ops), which has no weights, no dtype, no mask and no "built".
  [[nodiscard]] virtual bool is_operation() const { return false; }
  /// Returns the layers in `model.layers`, for a model; otherwise empty.
  [[nodiscard]] virtual std::vector<Layer*> layers() const { return {}; }
  /// A layer whose variables follow this layer's own variables.
  struct Sublayer {
    Layer* layer = nullptr;
    std::string path;       ///< the part of their variable paths after this layer's, with its "/"
    std::string store;      ///< the part of their keys in .weights.h5 after this layer's: "layers/dense/",
                            ///< "forward_layer/"
    bool detached = false;  ///< it was built earlier, so its paths do not include this layer's
  };
  [[nodiscard]] virtual std::vector<Sublayer> sublayers() { return {}; }
  /// Returns the index of a variable of the first sublayer that this layer also holds as its own, before the variables
  /// that it declares.
  [[nodiscard]] virtual std::optional<int> borrowed_weight() const { return std::nullopt; }

  /// For a model: returns the layer that represents this one, if two of the model's layers are the same object in
  /// Keras.
  [[nodiscard]] virtual const Layer* one(const Layer& layer) const { return &layer; }
  /// Replaces sublayers by members of the enclosing model with the same shared-object id.
  virtual void share(const std::map<std::int64_t, Layer*>& /*members*/) {}

  // ---- for explanations and warnings
  /// The names of its variables' sizes, as in ClassInfo::symbols.
  [[nodiscard]] virtual std::string symbols() const { return std::string(info->symbols); }
  /// The heads of an attention layer with projections.
  struct Heads {
    std::int64_t count = 0, size = 0;
    bool scaled_late = false;  ///< whether query and key are multiplied before the scaling
  };
  [[nodiscard]] virtual std::optional<Heads> heads() const { return std::nullopt; }
  /// Returns the numbers in the config that the layer computes with, by key.
  [[nodiscard]] virtual std::vector<std::pair<std::string_view, double>> constants() const { return {}; }

  // ---- models, which are also layers
  /// Whether it is a model with layers and a graph of its own, whose calls are its rows.
  [[nodiscard]] virtual bool is_model() const { return false; }
  /// Returns whether this is a functional model, not a Sequential. Keras counts its calls from 1 in some places. It is
  /// built before the enclosing layer, so its variable paths do not include that layer's name.
  [[nodiscard]] virtual bool is_functional() const { return false; }
  /// Completes the reading of the serialized object: a model connects its members. `before` is the number of problems
  /// at the start. Throws Error (bad_input).
  virtual void finish_reading(const Document& /*document*/, std::size_t /*before*/) {}

  // ---- results of lowering
  bool built = false;
  std::vector<graph::WeightSpec> weights;  ///< names are relative to the layer
  /// The quantized inner layers whose variables this layer declares itself, by their paths in its policy.
  std::vector<std::pair<std::string, Quantization>> quantized_parts;
  std::vector<std::vector<Shape>> node_shapes;  ///< output shapes of each symbolic call, flattened

  [[nodiscard]] std::string_view class_name() const;
  /// Returns whether the layer comes from a Keras 2 model, whose mask rules differ.
  [[nodiscard]] bool follows_keras2() const { return document != nullptr && document->is_keras2(); }
  /// Throws Error (bad_input) with this layer's location.
  [[noreturn]] void fail(const std::string& message, const char* field = "") const;
};

}  // namespace attn::keras
