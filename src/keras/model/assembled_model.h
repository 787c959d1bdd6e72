// Functional models whose config does not list their layers: a constructor makes them.
#pragma once

#include <string_view>

#include "model/functional.h"

namespace attn::keras {

/// A class gives its fields, and assembles the layers and calls of its Python constructor, in its order.
class AssembledModel : public Functional {
 public:
  void check(const Ref& config) override;
  void build_symbolic() override;
  /// In the order in which the constructor makes them, which is that of model.weights.
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

 protected:
  /// Makes the members and their calls.
  virtual void assemble() = 0;
  /// Checks what fields cannot check alone, before assemble(); `config` is for messages.
  virtual void check_fields(const Ref& /*config*/) {}

  using Functional::call;

  /// An input layer.
  TensorRef input(std::string_view name, const Shape& shape, DType dtype);
  /// A member that is not called yet, with this model's dtype policy.
  Layer& layer(std::string_view class_name, std::string_view name, Json arguments);
  /// One more call of a member, and its result.
  static TensorRef call(Layer& layer, ArgList args, ArgDict kwargs = {});
  /// A member that is called once.
  TensorRef call(std::string_view class_name, std::string_view name, Json arguments, ArgList args, ArgDict kwargs = {});
  /// An operation that is called once, under the name that Keras gives it.
  TensorRef operation(std::string_view class_name, Json parameters, ArgList args);
  /// x[:, 0, :]
  TensorRef first_token(const TensorRef& x);

 private:
  void freeze(Layer& layer);
};

/// {"stddev": 0.02} and the like in the envelope of an initializer.
[[nodiscard]] Json normal_initializer(std::string_view class_name, double stddev);
/// keras_hub's gelu by tanh, as an activation of a config.
[[nodiscard]] Json gelu_approximate();

}  // namespace attn::keras
