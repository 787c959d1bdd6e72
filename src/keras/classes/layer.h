// What every Keras layer and operation is to us: fields, weights, a lowering to operations, and a rule for masks.
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

/// One call of a layer in a config.
struct NodeSpec {
  Arg args;             // ArgList
  Arg kwargs;           // ArgDict
  std::string pointer;  // where it stands in the file, for messages
};

class Layer {
 public:
  virtual ~Layer() = default;

  // ---- what the config says
  std::string name;
  bool trainable = true;
  DTypePolicy policy;
  Json activity_regularizer;           ///< null: none
  const ClassInfo* info = nullptr;     ///< what is known of its class
  std::vector<NodeSpec> nodes;         ///< its calls in the model around it
  Json envelope = Json::object();      ///< module, registered_name, build_config, inbound_nodes as read
  std::string pointer;                 ///< where its config stands, for messages
  const Document* document = nullptr;  ///< null for what no file holds

  /// Everything get_config() holds, in Keras's order: name, trainable, dtype, then the class's own fields.
  virtual void config(Fields& f);
  /// The class's own fields.
  virtual void fields(Fields&) {}
  /// Checks what fields cannot check alone, after reading; `config` is for messages.
  virtual void check(const Ref& /*config*/) {}

  /// Makes the weights of the layer, and of those that it makes, integers, as model.quantize does: before it is built.
  virtual void quantize(const Quantization& how) { policy.asked = how; }
  /// Are its own weights what a policy quantizes?
  [[nodiscard]] virtual bool quantizes() const { return false; }

  /// Takes what an archive keeps of it beside its config and variables. Throws Error (bad_input).
  virtual void take_assets(const Assets& /*assets*/) {}
  /// Puts that into the config, which then stands alone.
  virtual void state_assets() {}
  /// Arrays that .weights.h5 keeps of it and that are no variables, by their names behind "vars/".
  [[nodiscard]] virtual std::vector<NamedTensor> kept_arrays() const { return {}; }

  // ---- calls
  /// Does it take strings, which are no tensors of a graph?
  [[nodiscard]] virtual bool takes_texts() const { return false; }
  /// Names of call()'s arguments, in order. Only these may be given; "mask" and "x_mask" are filled from tensors.
  [[nodiscard]] virtual std::span<const std::string_view> arguments() const;
  /// Is the first argument a list of tensors (merge layers, Attention)?
  [[nodiscard]] virtual bool takes_list() const { return false; }
  /// Declares the variables; runs once, before the first call. Shapes come from the call.
  virtual void build(Weights&, Call&) {}
  /// Adds operations for one call and gives its results: a TensorPtr, an ArgList or an ArgDict.
  virtual Arg call(Call& call) = 0;
  /// The longest sequence that it takes; nothing: any.
  [[nodiscard]] virtual std::optional<std::int64_t> most_positions() const { return std::nullopt; }
  /// Shapes that Keras's summary shows where its symbolic shapes differ from what is computed; nothing: they agree.
  [[nodiscard]] virtual std::optional<std::vector<Shape>> symbolic_shapes(Call&) { return std::nullopt; }

  // ---- masks (keras/src/layers/layer.py, steps 6 and after 7)
  /// Does it pass masks on? Where it does not, the mask of the input is lost, and Keras warns.
  [[nodiscard]] virtual bool supports_masking() const { return false; }
  /// The masks of the outputs, from those of the first argument's tensors. An output that already has one keeps it.
  [[nodiscard]] virtual Masks compute_mask(Call&, const Masks& previous) { return previous; }
  /// The dtype that float inputs are cast to before the call; nothing: they stay.
  [[nodiscard]] virtual std::optional<DType> input_dtype() const { return policy.compute; }
  /// Operations (keras.ops) are no layers: no weights, no dtype, no mask, no "built".
  [[nodiscard]] virtual bool is_operation() const { return false; }
  /// The layers that `model.layers` lists, for models; else empty.
  [[nodiscard]] virtual std::vector<Layer*> layers() const { return {}; }
  /// The layers whose variables follow this layer's own.
  struct Sublayer {
    Layer* layer = nullptr;
    std::string path;       ///< what their variable paths add to this layer's, with its "/"
    std::string store;      ///< what their keys in .weights.h5 add to this layer's: "layers/dense/", "forward_layer/"
    bool detached = false;  ///< its paths do not continue this layer's: it was built before
  };
  [[nodiscard]] virtual std::vector<Sublayer> sublayers() { return {}; }
  /// The variable of the first sublayer that this layer holds as its own too, before those it declares: its index
  /// there.
  [[nodiscard]] virtual std::optional<int> borrowed_weight() const { return std::nullopt; }

  /// Of a model, the layer that stands for this one, where two of its own are one object in Keras.
  [[nodiscard]] virtual const Layer* one(const Layer& layer) const { return &layer; }
  /// Members of the model around that its config shares by an id with layers inside other layers: takes those that this
  /// layer holds too.
  virtual void share(const std::map<std::int64_t, Layer*>& /*members*/) {}

  // ---- what explanations and warnings ask
  /// What the sizes of its variables are called, as in ClassInfo::symbols.
  [[nodiscard]] virtual std::string symbols() const { return std::string(info->symbols); }
  /// The heads of an attention layer with projections.
  struct Heads {
    std::int64_t count = 0, size = 0;
    bool scaled_late = false;  ///< are query and key multiplied before they are scaled?
  };
  [[nodiscard]] virtual std::optional<Heads> heads() const { return std::nullopt; }
  /// Numbers of its config that it computes with, by their keys.
  [[nodiscard]] virtual std::vector<std::pair<std::string_view, double>> constants() const { return {}; }

  // ---- models, which are layers too
  /// Is it a model, with layers and a graph of its own, whose calls are rows in it?
  [[nodiscard]] virtual bool is_model() const { return false; }
  /// Is it a functional model, and no Sequential? Keras counts the calls of one from 1 in places, and builds it before
  /// what holds it, so that its variables do not carry that one's name.
  [[nodiscard]] virtual bool is_functional() const { return false; }
  /// Ends the reading of its serialized object: a model connects its members. There were `before` problems when it
  /// began. Throws Error (bad_input).
  virtual void finish_reading(const Document& /*document*/, std::size_t /*before*/) {}

  // ---- what lowering found out
  bool built = false;
  std::vector<graph::WeightSpec> weights;  ///< names relative to the layer
  /// The quantized layers whose variables it declares as its own, by their paths in its policy.
  std::vector<std::pair<std::string, Quantization>> quantized_parts;
  std::vector<std::vector<Shape>> node_shapes;  ///< output shapes of each symbolic call, flat

  [[nodiscard]] std::string_view class_name() const;
  /// Does it come from a Keras 2 model, whose rules for masks are its own?
  [[nodiscard]] bool follows_keras2() const { return document != nullptr && document->is_keras2(); }
  /// Throws Error (bad_input) with this layer's place.
  [[noreturn]] void fail(const std::string& message, const char* field = "") const;
};

}  // namespace attn::keras
