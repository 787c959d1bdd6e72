// Functional models whose layers are created by a constructor instead of a list in the config.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "classes/class_info.h"
#include "model/functional.h"

namespace attn::keras {

/// A subclass defines its fields, and assembles the layers and calls of its Python constructor in order.
class AssembledModel : public Functional {
 public:
  void check(const Ref& config) override;
  void build_symbolic() override;
  /// Returns the layers in the order in which the constructor creates them, which is that of model.weights.
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

 protected:
  /// Creates the members and their calls.
  virtual void assemble() = 0;
  /// Checks constraints between fields, before assemble(). `config` is named in messages.
  virtual void check_fields(const Ref& /*config*/) {}

  using Functional::call;

  /// Adds an input layer.
  TensorRef input(std::string_view name, const Shape& shape, DType dtype);
  /// Adds a member without a call, with this model's dtype policy.
  Layer& layer(std::string_view class_name, std::string_view name, Json arguments);
  /// A layer of a chain: its class, and its constructor arguments with its name.
  struct ChainPart {
    std::string_view class_name;
    Json arguments;
  };
  /// Adds a keras.Sequential of layers with this model's dtype policy.
  Layer& chain(std::string_view name, const std::vector<ChainPart>& parts);
  /// Adds a model whose fields are set, as a member without a call. Assembles it with this model's dtype policy.
  Layer& inner(std::unique_ptr<AssembledModel> model, std::string_view class_name, std::string_view name);
  /// Adds a functional model of the layers of `whole` with other results, named "functional". `whole` must outlive this
  /// model.
  Layer& extracted(Functional& whole, const ArgDict& results);
  /// Adds a call of a member and returns its result.
  static TensorRef call(Layer& layer, ArgList args, ArgDict kwargs = {});
  /// Adds a member with a single call.
  TensorRef call(std::string_view class_name, std::string_view name, Json arguments, ArgList args, ArgDict kwargs = {});
  /// Adds an operation with a single call; the operation has Keras's automatic name.
  TensorRef operation(std::string_view class_name, Json parameters, ArgList args);
  /// Returns x[:, 0, :].
  TensorRef first_token(const TensorRef& x);
  /// Returns cap·tanh(x/cap).
  TensorRef soft_capped(const TensorRef& x, double cap);

 private:
  /// Returns whether an operation of this model or of a model in it has the name.
  [[nodiscard]] bool has_operation(std::string_view called) const;
  void freeze(Layer& layer);
};

/// Returns the class record of a backbone or a task.
template <typename T, auto... kArguments>
constexpr ClassInfo model_record(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_with<T, kArguments...>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::model,
          .package = "keras_hub"};
}

/// Returns the serialized object of an initializer, with {"stddev": 0.02} or similar.
[[nodiscard]] Json normal_initializer(std::string_view class_name, double stddev);
/// Returns keras_hub's tanh-approximated gelu, as an activation in a config.
[[nodiscard]] Json gelu_approximate();

}  // namespace attn::keras
